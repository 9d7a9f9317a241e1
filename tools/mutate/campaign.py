"""The campaign asks the catchers about each mutation until one notices it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from tools.mutate import catchers, unit
from tools.mutate.baseline import Baseline, Catcher, forked
from tools.mutate.isolated import isolated
from tools.mutate.patched import patch
from tools.mutate.patches import JOIN, Mutation, source_of

SECONDS_MOST = 28.0
"""The limit for all checks of a mutation except tests; the baseline measured their costs."""


@frozen
class Result:
    """The result of one mutation.

    `kind`: the kind of the catcher that noticed it, or ""; `who`: its test, world or seed; `what`:
    the claim, or the error; `by`: "claim", "pin" (only a count differs), "time-out", "error",
    "test".  `differs`: a random run in which no claim broke, but which took other steps; if
    no catcher noticed and no run differs, the change may have no effect.
    `seconds`: processor time.  `source`, `catchers`: hashes of the file with its patch, and of
    all catchers asked.
    """

    name: str
    kind: str = ""
    who: str = ""
    what: str = ""
    by: str = ""
    differs: str = ""
    seconds: float = 0.0
    source: str = ""
    catchers: str = ""

    @property
    def survived(self) -> bool:
        return not self.kind


Found = dict[str, str]


def try_one(
    mutation: Mutation, base: Baseline, catchers_hash: str, *, tests_alone: bool = False
) -> Result:
    """Return the result of a mutation.  Its import and tests are tried first, then `in_order`."""
    source = source_of(mutation.path)
    made = mutation.apply(source)
    first, last = mutation.lines
    asked = [one for one in base.asked if one.runs(mutation.path, first, last)]
    # Lines that run at import count for every test that runs any line of the file.
    tests = [one for one in asked if one.kind == "unit"]
    if not tests:
        tests = [one for one in base.of("unit") if mutation.path in one.lines]
    rest = affordable(in_order([one for one in asked if one.kind != "unit"]))
    used, found = 0.0, Found()
    stages: list[tuple[float, Callable[[], Any]]] = [
        (30 + 3 * sum(one.seconds for one in tests), partial(_try_tests, mutation, made, tests)),
        (60 + 4 * sum(one.seconds for one in rest), partial(_try_others, mutation, made, rest)),
    ]
    for limit, look in stages[:1] if tests_alone else stages:
        ended = isolated(look, limit)
        used += ended.seconds
        if ended.outcome == "ok":
            found |= ended.value
        else:
            by = ended.outcome if ended.outcome == "time-out" else "error"
            found |= {"kind": "import", "who": ended.outcome, "what": ended.error, "by": by}
        if found.get("kind"):
            break
    hashes = {"source": mutation.hash(source), "catchers": catchers_hash}
    return Result(mutation.name, **found, seconds=round(used, 2), **hashes)


def in_order(asked: Sequence[Catcher]) -> list[Catcher]:
    """Return the catchers: quick worlds, some random runs, the link, larger worlds, more runs.

    In each of these groups the cheapest catcher comes first.
    """
    pins = {one.name: one.pin for one in asked if one.kind == "world"}
    quick, large = catchers.quick_and_large(pins)
    few = {str(seed) for seed in catchers.RUNS}
    groups = (
        lambda one: one.kind == "world" and one.name in quick,
        lambda one: one.kind == "run" and one.name in few,
        lambda one: one.kind == "link",
        lambda one: one.kind == "world" and one.name in large,
        lambda one: one.kind == "run" and one.name not in few,
    )
    return [
        one for group in groups for one in sorted(filter(group, asked), key=lambda it: it.seconds)
    ]


def affordable(asked: Sequence[Catcher]) -> list[Catcher]:
    """Return the catchers, from the first on, whose costs fit into `SECONDS_MOST` in sum."""
    found, left = [], SECONDS_MOST
    for one in asked:
        if one.seconds <= left:
            left -= one.seconds
            found.append(one)
    return found


def _try_tests(mutation: Mutation, made: bytes, tests: Sequence[Catcher]) -> Found:
    patch(mutation.module, made)
    try:
        with unit.limited(5):
            import_module(mutation.module)
            if mutation.path in JOIN.files:
                catchers.check_tables()
    except (Exception, unit.TooLong) as error:  # noqa: BLE001 - any error counts as noticed
        return {"kind": "import", "who": "import", "what": _said(error), "by": "error"}
    if not tests:
        return {}
    chosen = sorted(tests, key=lambda one: one.seconds)
    failed = unit.catch([one.name for one in chosen], {one.name: one.seconds for one in chosen})
    for who, what in failed.items():
        return {"kind": "unit", "who": who, "what": what, "by": "test"}
    return {}


def _try_others(mutation: Mutation, made: bytes, asked: Sequence[Catcher]) -> Found:
    patch(mutation.module, made)
    found = Found()
    for one in asked:
        where = {"kind": one.kind, "who": one.name}
        try:
            with unit.limited(3 + 4 * one.seconds):
                noticed = _finding_of(one)
        except unit.TooLong as error:
            return where | {"what": str(error), "by": "time-out"}
        except Exception as error:  # noqa: BLE001 - any error counts as noticed
            return where | {"what": _said(error), "by": "error"}
        if noticed.get("by"):
            return where | noticed
        if noticed and not found:
            found = {"differs": f"seed {one.name}"}
    return found


def _finding_of(one: Catcher) -> Found:
    """Return this catcher's finding; a finding without `by`: a run took other steps."""
    match one.kind:
        case "world":
            said = catchers.world(one.name, 2 * one.pin[0] + 1_000)
            if said["broken"]:
                return {"what": said["broken"], "by": "claim"}
            if said["pin"] != one.pin:
                return {"what": f"{said['pin']}, not {one.pin}", "by": "pin"}
        case "link":
            if rejected := catchers.linked(one.name):
                return {"what": rejected, "by": "claim"}
        case "run":
            said = catchers.runs(range(int(one.name), int(one.name) + 1))
            if said["broken"]:
                return {"what": said["broken"], "by": "claim"}
            if said["pin"] != one.pin:
                return {"differs": one.name}
    return {}


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:120]


def campaign(
    wanted: Sequence[Mutation],
    base: Baseline,
    catchers_hash: str,
    jobs: int,
    *,
    tests_alone: bool = False,
) -> Iterator[Result]:
    """Yield the results of these mutations in the order of their ends."""
    one_by_one = partial(try_one, base=base, catchers_hash=catchers_hash, tests_alone=tests_alone)
    return forked([partial(one_by_one, one) for one in wanted], jobs)


# -- results in a file -----------------------------------------------------------------------


def read(file: Path) -> dict[str, Result]:
    """Return the newest result of each name; a last line that was cut short is ignored."""
    if not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    return {one["name"]: Result(**one) for one in map(json.loads, lines)}


def write(file: Path, result: Result) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(result)) + "\n")


def still_holds(
    result: Result | None, source: str, hashes: Collection[str], tests: Collection[str]
) -> bool:
    """Return whether the result is of the same file, and would be found again.

    A survivor's result holds only if its catchers have one of these `hashes`.  A mutation that one
    catcher noticed stays noticed if other catchers are added.  `tests`: the present unit tests.
    """
    if result is None or result.source != source:
        return False
    if result.kind == "unit":
        return any(name.startswith(result.who) for name in tests)
    return not result.survived or result.catchers in hashes
