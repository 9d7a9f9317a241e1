"""SPIN on the same models, built with the options that are fastest here.

Every option of the build has its reason next to it.  Seconds are medians of five runs in
turn, two-phase commit, N=8, depth first, on one core at 2.6 GHz; breadth first gives the same
order.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from attrs import frozen

from joinproto.errors import EnvironmentProblem
from tools.bench import oracle
from tools.bench.measure import Command

PEERS = Path(__file__).parent / "peers"
LAUNCHER = PEERS / "launch.c"
MEMBERS_MAX = 10
"""The most resource managers of the model of two-phase commit."""

Search = Literal["bfs", "dfs"]


@frozen
class Model:
    """A world written for SPIN.  `sizes`: the fewest and most members for which it has variables.

    `path_max`: the length of the longest path, by the number of members.  `mistake`: the macro that
    puts a mistake into the model.
    """

    world: str
    sizes: tuple[int, int]
    path_max: Callable[[int], int]
    mistake: str

    @property
    def file(self) -> Path:
        return PEERS / f"{self.world.replace('-', '_')}.pml"


# The longest path of two-phase commit has 3N + 1 steps.  In founding by Paxos each member opens,
# proposes, promises N times, hears N, accepts N, hears N, and joins, each once: 4N^2 + 3N steps.
MODELS = {
    model.world: model
    for model in (
        Model("two-phase-commit", (2, MEMBERS_MAX), lambda n: 3 * n + 1, mistake="ONE_VOTE_SHORT"),
        Model("paxos-founding", (2, 3), lambda n: 4 * n * n + 3 * n, mistake="PROMISE_NOT_KEPT"),
    )
}

COMPILER_OPTIONS = (
    "-O3",
    "-w",  # no warnings about generated C
    "-DSAFETY",  # no search for cycles: the property is an invariant
    "-DNOFAIR",  # no fairness, which only cycles need
    "-DNOREDUCE",  # one process: there is nothing to reduce, so do not look
    "-DNOVSZ",  # the vector's size never changes, so do not store it: 12 bytes, not 20
    "-DNOCOMP",  # 12 bytes have no gaps to remove: 1.9 s; with their removal 2.2 s
    "-DSPACE",  # leave a word out of each entry: no slower, 24 bytes instead of 32
)
# Tried and not used: -DCOLLAPSE (2.4 times the CPU, and more memory: states of 12 bytes have
# nothing to share), -DMA (8 times the CPU), -DMURMUR, -DSFH, -march=native, -static and another
# -DVECTORSZ (no difference beyond the noise).

# The build that SPIN's manual advises for an exact check of an invariant.
PLAIN_OPTIONS = ("-O3", "-w", "-DSAFETY", "-DNOREDUCE")

# A second compilation knows from a first run of the same search which branches are taken:
# 1.5 s instead of 1.8 s.  This is unusual, but makes SPIN fastest.
PROFILE_WRITE = "-fprofile-generate"
PROFILE_READ = "-fprofile-use"

# NumPy asks for large pages for its arrays.  With this, SPIN's heap does, too: N=9 takes 7 %
# less time.
ENVIRONMENT: Mapping[str, str] = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# The table has at least this many slots.  One size larger costs 128 MiB more at N=9 for about 5 %
# less CPU; with one size smaller, the CPU grows.
SLOTS_PER_STATE = 1.5

_NUMBER = r"([\d.]+(?:e[+-]?\d+)?)"


@frozen
class SpinResult:
    """The output of SPIN, which rounds counts to eight digits.

    `depth_steps`: the length of the longest path, in steps.  `is_complete`: whether all states were
    searched.  `errors`: failed assertions; SPIN stops at the first.
    """

    distinct: int
    generated: int
    depth_steps: int
    errors: int
    is_complete: bool


def table_bits(distinct: int) -> int:
    """Return the value of SPIN's option -w: the binary logarithm of its hash table's slots."""
    slots = 1
    while 2**slots < SLOTS_PER_STATE * distinct:
        slots += 1
    return slots


def rounded(count: int) -> str:
    """Return `count` with eight digits, as SPIN prints it."""
    return format(count, ".8g")


def missing() -> EnvironmentProblem | None:
    """Return the error if SPIN or gcc is not installed, else None."""
    absent = [name for name in ("spin", "gcc") if shutil.which(name) is None]
    if not absent:
        return None
    return EnvironmentProblem(
        f"SPIN is left out: {' and '.join(absent)} not found on PATH",
        next=f"apt-get install {' '.join(absent)}   (the Debian packages of that name)",
    )


def build(
    folder: Path,
    world: str,
    *,
    members: int,
    search: Search,
    memory_mib: int,
    profiled: bool = True,
    plain: bool = False,
    wrong: bool = False,
) -> Command:
    """Compile the model of `world` in `folder`, which is made; return the command of its search.

    `memory_mib`: the memory above which SPIN gives up.  `plain`: only with the options that its
    manual advises. `wrong`: the model with its mistake.
    """
    model = MODELS[world]
    least, most = model.sizes
    known = oracle.counts(world, members)
    if not least <= members <= most or known is None:
        raise EnvironmentProblem(
            f"the SPIN model of {world} has variables for {least} to {most}, not for {members}",
            next=f"--sizes from {least} to {most}",
        )
    folder.mkdir(parents=True)
    mistake = [f"-D{model.mistake}"] if wrong else []
    _run(["spin", f"-DN={members}", *mistake, "-a", str(model.file)], folder)
    options = [*(PLAIN_OPTIONS if plain else COMPILER_OPTIONS), f"-DMEMLIM={memory_mib}"]
    if search == "bfs":
        options.append("-DBFS")
    # -m: the length of the stack, with room for the step of a failed assertion.
    stack = model.path_max(members) + 9
    arguments = ["./pan", f"-w{table_bits(known.distinct)}", f"-m{stack}"]
    if profiled and not plain:
        _run(["gcc", *options, PROFILE_WRITE, "-o", "pan", "pan.c"], folder)
        _run(arguments, folder)
        options.append(PROFILE_READ)
    _run(["gcc", *options, "-o", "pan", "pan.c"], folder)
    return Command(arguments=arguments, folder=folder, environment={} if plain else ENVIRONMENT)


def build_launcher(folder: Path) -> Path:
    _run(["gcc", "-O2", "-Wall", "-o", "launch", str(LAUNCHER)], folder)
    return folder / "launch"


def read(printed: str) -> SpinResult:
    """Return the result of SPIN; raises ValueError if `printed` is not a report of SPIN."""

    def number(pattern: str) -> int:
        match = re.search(pattern, printed, re.MULTILINE)
        if match is None:
            raise ValueError(f"no line like {pattern!r} in the output of SPIN")
        return int(float(match[1]))

    return SpinResult(
        distinct=number(rf"^\s*{_NUMBER} states, stored"),
        generated=number(rf"^\s*{_NUMBER} transitions"),
        depth_steps=number(rf"depth reached {_NUMBER}"),
        errors=number(rf"errors: {_NUMBER}"),
        # These two lines mean that SPIN stopped early or cut paths off.
        is_complete="Search not completed" not in printed and "depth too small" not in printed,
    )


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(
            f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-600:]}",
            next="apt-get install spin gcc libc6-dev",
        )
