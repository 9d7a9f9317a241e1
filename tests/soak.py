"""`make soak`: runs the slices of `tests/slices.py`, and records their results.

    python tests/soak.py --list                all slices, and when each ran last
    python tests/soak.py --slice reference     one slice
    python tests/soak.py --minutes 60          for an hour: failed slices first
    python tests/soak.py --turn 41 --minutes 8 slice 41 modulo their number, as CI does
    python tests/soak.py                       every slice once

`.soak/state.json` holds, for each slice, how it ended, at which commit, and which of its tests have
passed.  A slice that was stopped continues with the tests that are left, if the commit is the same.
Exit code 0: no slice failed; 1: a slice failed; 2: bad arguments.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attrs import asdict, define, field

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.slices import SLICES, Slice  # noqa: E402

STATE = ROOT / ".soak"
SLICE_MINUTES = 8.0
WORKERS = 2
NO_TESTS, INTERRUPTED, UNFINISHED = 5, 2, "unfinished"


@define
class Last:
    """The last result of a slice.  `passed`: its tests that need not run again at this commit."""

    result: str = "never"
    commit: str = ""
    seed: int = 0
    when: str = ""
    minutes: float = 0.0
    passed: list[str] = field(factory=list)


def main(words: list[str]) -> int:
    """Run the requested slices; return the exit code."""
    asked = arguments(words)
    STATE.mkdir(exist_ok=True)
    state = {name: Last() for name in SLICES} | _read()
    if asked.list:
        for at, (name, last) in enumerate(state.items()):
            when = f"{last.result} {last.when} in {last.minutes:.1f} min" if last.when else "never"
            print(f"{at:3}  {name:18} {when:42} {SLICES[name].about}")
        return 0
    end = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    failed = []
    for name in chosen(asked, state):
        left = SLICE_MINUTES if end is None else (end - time.monotonic()) / 60
        if left <= 0:
            break
        seed = random.SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
        at = list(SLICES).index(name)
        _say(f"slice {at} of {len(SLICES)}: {name} ({SLICES[name].about}), seed {seed}")
        began = time.monotonic()
        result = _run(name, seed, left if end else None, state[name])
        last = state[name]
        last.result, last.seed = result, seed
        last.when = time.strftime("%Y-%m-%d %H:%M")
        last.minutes = round((time.monotonic() - began) / 60, 1)
        _write(state)
        _say(f"slice {name}: {result}, {last.minutes:.1f} minutes")
        if result == "failed":
            failed.append(name)
    if failed:
        _say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def arguments(words: list[str]) -> argparse.Namespace:
    """Return the arguments; end the process with 2 if they are wrong."""
    parser = argparse.ArgumentParser(prog="tests/soak.py")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--slice", choices=list(SLICES), metavar="NAME")
    parser.add_argument(
        "--turn", type=int, help="run the slice with this number, modulo the number of slices"
    )
    parser.add_argument("--minutes", type=float, help="run for at most this time")
    parser.add_argument("--seed", type=int, help="the seed of programs and of the order of tests")
    return parser.parse_args(words)


def chosen(asked: argparse.Namespace, state: dict[str, Last]) -> list[str]:
    """Return the slices to run, in order."""
    if asked.slice is not None:
        return [asked.slice]
    if asked.turn is not None:
        return [list(SLICES)[asked.turn % len(SLICES)]]
    first = {"failed": 0, UNFINISHED: 1, "never": 2}
    return sorted(SLICES, key=lambda name: (first.get(state[name].result, 3), state[name].when))


def _run(name: str, seed: int, minutes: float | None, last: Last) -> str:
    """Return how the slice ended.  `minutes`: its time; None means as long as it needs."""
    one = SLICES[name]
    commit = _commit()
    if last.commit != commit or last.result != UNFINISHED:
        last.commit, last.passed = commit, []
    if one.program:
        return "passed" if _program(one, seed, minutes or SLICE_MINUTES) == 0 else "failed"
    return _tests(name, one, seed, minutes, last)


def _program(one: Slice, seed: int, minutes: float) -> int:
    words = one.program.format(
        python=shlex.quote(sys.executable),
        seed=seed,
        minutes=f"{0.9 * minutes:.2f}",
        seconds=int(54 * minutes),
    )
    _say(words)
    return subprocess.call(shlex.split(words), cwd=ROOT)


def _tests(name: str, one: Slice, seed: int, minutes: float | None, last: Last) -> str:
    results, passed = STATE / "results", STATE / "passed"
    results.write_text("")
    passed.write_text("\n".join(last.passed))
    words = [sys.executable, "-m", "pytest", "-p", "tests.soaking", "-m", "soak", "-q"]
    words += ["--hypothesis-profile", "drawn", "--hypothesis-seed", str(seed)]
    words += ["--slice", name, "--order", str(seed), "--durations", "10", "--durations-min", "5"]
    words += ["--passed", str(passed), "--results", str(results)]
    if minutes is not None:
        words += ["--end", str(time.time() + 60 * minutes)]
    if one.spread != "alone":
        words += ["-n", str(WORKERS), "--dist", one.spread]
    # Ctrl-C reaches pytest, too, which reports its tests and ends; then this process ends.
    signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.call(words, cwd=ROOT)
    ended = [line.partition(" ") for line in results.read_text().splitlines()]
    last.passed += [test for how, _, test in ended if how == "passed"]
    if "failed" in {how for how, _, _ in ended}:
        return "failed"
    if code == INTERRUPTED or "left" in {how for how, _, _ in ended}:
        return UNFINISHED
    return "passed" if code == 0 or (code == NO_TESTS and last.passed) else "failed"


def _commit() -> str:
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout[:40]


def _read() -> dict[str, Last]:
    try:
        found: dict[str, Any] = json.loads((STATE / "state.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return {name: Last(**one) for name, one in found.items() if name in SLICES}


def _write(state: dict[str, Last]) -> None:
    file = STATE / "state.json"
    made = file.with_suffix(".new")
    made.write_text(json.dumps({name: asdict(one) for name, one in state.items()}, indent=1))
    made.replace(file)


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
