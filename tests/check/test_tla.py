"""Worlds as TLA+ modules: a checker that shares no code with joinproto finds the same."""

from __future__ import annotations

import json
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.check.catalogue import load_world
from joinproto.check.tla.export import Exported, exported
from joinproto.errors import UsageProblem
from tests.census import QUICK, searched
from tests.cli.running import run_here
from tests.cli.schemas import faults, unexplained
from tests.needs import Unable, need
from tools.json_schema import SCHEMAS

SCRIPT = Path(__file__).with_name("tla_checker.mjs")
STATES_MAX = 3_000
SOME = [("two-phase-commit", None), ("token-ring", None), ("durable-vote", "no-persist")]
"""Worlds with a set of messages, with queues, and with crashes between effects."""


@pytest.mark.parametrize(("name", "mutant"), SOME)
def test_an_exported_module_agrees_with_the_report_of_a_search(
    name: str, mutant: str | None
) -> None:
    report = searched(name, mutant)

    found = exported(load_world(name, mutant=mutant))

    assert (report.result == "violated") == (found.broken_at is not None)
    if found.broken_at is None:
        assert report.distinct == found.states
    else:
        assert report.trace is not None
        assert len(report.trace.steps) == found.broken_at
    (constants,) = re.findall(r"^CONSTANTS (.*)$", found.module, re.MULTILINE)
    config, for_tlc, as_names = [*found.texts().values()][1:]
    assert constants.split(", ") == re.findall(r"^CONSTANT (\w+) = ", config, re.MULTILINE)
    # For TLC, each constant is replaced by a name that the module defines.
    assert constants.split(", ") == re.findall(r"^CONSTANT (\w+) <- \1_$", as_names, re.MULTILINE)
    assert constants.split(", ") == re.findall(r"^(\w+)_ == ", for_tlc, re.MULTILINE)
    invariants = re.findall(r"^INVARIANT (\w+)$", found.config, re.MULTILINE)
    assert invariants == [it.invariant for it in found.claims if it.invariant.startswith("Claim")]
    for claim in found.claims:
        assert rf"{claim.invariant} == " in found.module


def test_a_world_that_cannot_be_exported_is_refused() -> None:
    world = load_world("two-phase-commit")

    with pytest.raises(UsageProblem, match="within="):
        exported(evolve(world, within=lambda view: True))
    with pytest.raises(UsageProblem, match="more than 100 states"):
        exported(world, states_max=100)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("two-phase", "two_phase"),
        ("2pc", "World_2pc"),
        ("MODULE", "World_MODULE"),
        ("WF_x", "World_WF_x"),
        ("Naturals", "World_Naturals"),
        ("../Größe", "___Gr__e"),
        ("日本", "World___"),
    ],
)
def test_a_module_has_a_name_that_tla_allows(name: str, file: str) -> None:
    world = exported(evolve(load_world("two-phase-commit", members=2), name=name))

    assert file == world.name
    assert f"---- MODULE {file} ----" in world.module


def test_the_command_writes_its_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = partial(run_here, capsys, "export", "two-phase-commit", "--members", "2")

    printed = run("--out", str(tmp_path / "tla"))
    done = run("--out", str(tmp_path / "tla"), "--json")

    assert 0 == printed.code == done.code
    assert "wrote" in printed.out
    found = done.object
    assert [] == [*faults(found, SCHEMAS["exported"]), *unexplained(found, SCHEMAS["exported"])]
    assert all(Path(file).read_text() for file in found["files"])
    (tmp_path / "file").write_text("")
    refused = run("--out", str(tmp_path / "file" / "below"))
    assert 4 == refused.code
    assert "name another folder" in refused.err


# -- the other checker ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of tla-checker, which npm installs."""
    need("node")
    need("npm")
    top = tmp_path_factory.mktemp("tla")
    command = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(top)]
    try:
        done = subprocess.run(
            [*command, "tla-checker@0.9.0"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unable("tla-checker, which npm did not install within two minutes") from None
    if done.returncode:
        raise Unable(f"tla-checker, which npm did not install: {done.stderr.strip()[-200:]}")
    return str(top / "node_modules")


def other_checker(modules: str, world: Exported, folder: Path) -> dict[str, Any]:
    """Return the findings of tla-checker: the kind of error, states, steps of the run."""
    files = map(str, world.write(folder)[:2])
    done = subprocess.run(
        ["node", str(SCRIPT), modules, *files], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    trace = "\n".join(found["trace"] or ())
    return {
        "error": found["error_type"] and f"{found['error_type']}: {found['error_message']}",
        "states": found["states_explored"],
        "steps": len(re.findall(r"^State \d+$", trace, re.MULTILINE)) - 1,
    }


def small(name: str, mutant: str | None) -> Exported | None:
    """Return the exported world, or None if it is too large; other errors are raised."""
    try:
        return exported(load_world(name, mutant=mutant), states_max=STATES_MAX)
    except UsageProblem as problem:
        if "more than" not in problem.message:
            raise
    return None


@pytest.mark.soak("tla")
@pytest.mark.parametrize(("name", "mutant"), QUICK)
def test_another_checker_reports_the_same_result(
    modules: str, tmp_path: Path, name: str, mutant: str | None
) -> None:
    """The verdict is equal, and the number of states or the length of the shortest violation."""
    ours = small(name, mutant)
    if ours is None:
        return

    theirs = other_checker(modules, ours, tmp_path)

    if ours.broken_at is None:
        assert (None, ours.states) == (theirs["error"], theirs["states"])
    else:
        assert str(theirs["error"]).startswith("InvariantViolation")
        assert ours.broken_at == theirs["steps"]


@pytest.mark.soak("tla")
def test_the_other_checker_notices_a_changed_module(modules: str, tmp_path: Path) -> None:
    """Without steps the number of states differs; without an entry of `Says` there is an error."""
    world = exported(load_world("two-phase-commit"))
    quiet = evolve(world, module=world.module.replace("Chosen ==", "Chosen == FALSE /\\"))
    says = dict([*world.constants["Says"].items()][1:])

    assert world.states != other_checker(modules, quiet, tmp_path)["states"]
    less = other_checker(
        modules, evolve(world, constants={**world.constants, "Says": says}), tmp_path
    )
    assert "not in function domain" in str(less["error"])


@pytest.mark.soak("tla")
@pytest.mark.parametrize(("name", "mutant"), SOME)
def test_the_other_checker_reaches_a_sometimes_in_as_many_steps(
    modules: str, tmp_path: Path, name: str, mutant: str | None
) -> None:
    ours = exported(load_world(name, mutant=mutant))
    for claim in ours.claims:
        if claim.invariant.startswith("Never") and claim.steps is not None:
            alone = re.sub(r"\nINVARIANT .*", "", ours.config)
            asked = evolve(ours, config=f"{alone}\nINVARIANT {claim.invariant}")

            theirs = other_checker(modules, asked, tmp_path)

            assert claim.steps == theirs["steps"]
