"""The baseline: for each catcher, the lines that it runs in unchanged code, and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, define, field

from joinproto.errors import UsageProblem
from tools.mutate import catchers, unit
from tools.mutate.isolated import isolated
from tools.mutate.patched import forget
from tools.mutate.patches import JOIN, ROOT, Package, hash_of

T = TypeVar("T")
Lines = dict[str, list[int]]

REST = (
    *("models", "proofs", "joinproto/check", "joinproto/prove", "joinproto/swarm"),
    *("joinproto/log", "joinproto/durable/journal"),
)
"""The modules besides the protocol that decide whether a mutation is noticed."""

STATES_MOST = 120_000


def hash_of_catchers(folders: Sequence[str]) -> str:
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    files += [Path(catchers.__file__), Path(unit.__file__)]
    return hash_of(*(file.read_bytes() for file in files))


@define
class Catcher:
    """A catcher: its cost in seconds, the lines that it runs, and its counts (`pin`)."""

    kind: str
    name: str
    seconds: float
    lines: Lines
    pin: Any = None

    def runs(self, path: str, first: int, last: int) -> bool:
        return any(first <= line <= last for line in self.lines.get(path, ()))


@define
class Baseline:
    """The catchers, measured on unchanged code.

    `key`: hashes of the sources that were measured, one for tests and one for the other catchers.

    `left_out`: random runs that fail on unchanged code.
    """

    key: dict[str, str] = field(factory=dict)
    asked: list[Catcher] = field(factory=list)
    left_out: list[str] = field(factory=list)

    def of(self, kind: str) -> list[Catcher]:
        return [one for one in self.asked if one.kind == kind]

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Baseline:
        found = json.loads(file.read_text(encoding="utf-8"))
        asked = [Catcher(**one) for one in found["asked"]]
        return cls(found["key"], asked, found["left_out"])


def key_now(package: Package) -> dict[str, str]:
    mutated = hash_of(*((ROOT / path).read_bytes() for path in package.files)).encode()
    parts = {"tests": package.tests, "rest": REST}
    return {part: hash_of(hash_of_catchers(each).encode(), mutated) for part, each in parts.items()}


def baseline(
    file: Path,
    jobs: int,
    say: Callable[[str], None],
    parts: Collection[str] = ("tests", "rest"),
    package: Package = JOIN,
) -> Baseline:
    """Return these parts of the baseline of the current sources, from `file` if they are there.

    Raises `UsageProblem` if a catcher fails on the unchanged code.
    """
    key = key_now(package)
    known = Baseline.load(file) if file.exists() else Baseline()
    holds = {part for part in key if known.key.get(part) == key[part]}
    if holds >= set(parts):
        return known
    say("running every catcher on the unchanged code, once for these sources; this takes minutes")
    looks: dict[str, list[Callable[[], list[Catcher] | str]]] = {
        "tests": [partial(_tests, package)],
        "rest": [
            *(partial(_world, name) for name in _world_names()),
            *(partial(_link, name) for name in catchers.LINKED),
            *(partial(_run, seed) for seed in (*catchers.RUNS, *catchers.MORE_RUNS)),
        ],
    }
    made = Baseline({part: key[part] for part in key if part in {*holds, *parts}})
    made.asked = [one for one in known.asked if _part(one) in holds]
    made.left_out = known.left_out if "rest" in holds else []
    todo = [look for part in parts if part not in holds for look in looks[part]]
    for found in forked(todo, jobs):
        if isinstance(found, str):
            made.left_out.append(found)
        else:
            made.asked += found
    made.save(file)
    return made


def _part(one: Catcher) -> str:
    return "tests" if one.kind == "unit" else "rest"


def forked(looks: Sequence[Callable[[], T]], jobs: int) -> Iterator[T]:
    """Yield the results of these calls in the order of their ends.

    `jobs`: the number of forks; with 1 the calls are made in this process.
    """
    if jobs == 1:
        yield from (look() for look in looks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        tried = [pool.submit(look) for look in looks]
        try:
            for future in as_completed(tried):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def counted(look: Callable[[], Any]) -> tuple[Any, Lines]:
    """Return the result of `look`, and the lines of the protocol that it ran, also by imports."""
    counter = _counter(JOIN)
    forget()
    counter.start()
    found = look()
    counter.stop()
    return found, _lines_of(counter.get_data(), JOIN)


def _counter(package: Package) -> Any:
    from coverage import Coverage

    files = [str(ROOT / path) for path in package.files]
    return Coverage(data_file=None, config_file=False, include=files)


def _lines_of(data: Any, package: Package, context: str | None = None) -> Lines:
    data.set_query_contexts(None if context is None else [f"^{_escaped(context)}$"])
    files = ((path, data.lines(str(ROOT / path))) for path in package.files)
    return {path: sorted(lines) for path, lines in files if lines}


def _escaped(text: str) -> str:
    import re

    return re.escape(text)


def _ask(name: str, look: Callable[[], Any], seconds: float) -> tuple[Any, float]:
    ended = isolated(look, seconds)
    if ended.outcome != "ok":
        _refuse(name, f"{ended.outcome} {ended.error}")
    return ended.value, ended.seconds


def _refuse(name: str, what: str) -> None:
    raise UsageProblem(
        f"{name} fails on the unchanged code: {what}",
        next="mend it first: a catcher that always fails seems to notice every mutation",
    )


def _link(name: str) -> list[Catcher]:
    (found, lines), seconds = _ask(name, partial(counted, partial(catchers.linked, name)), 120)
    if found:
        _refuse(name, found)
    return [Catcher("link", name, seconds, lines)]


def _world_names() -> Collection[str]:
    from joinproto_worlds.entries import ENTRIES

    builds = ("joinproto_worlds.join.world:build", "joinproto_worlds.register.chain:build")
    return [item.name for item in ENTRIES if item.build in builds and item.tier != "deep"]


def _world(name: str) -> list[Catcher]:
    look = partial(catchers.world, name, STATES_MOST)
    (found, lines), seconds = _ask(name, partial(counted, look), 240)
    if isinstance(found["pin"], str):
        return []  # too large to be searched for each mutation
    if found["broken"]:
        _refuse(name, found["broken"])
    return [Catcher("world", name, seconds, lines, found["pin"])]


def _run(seed: int) -> list[Catcher] | str:
    look = partial(catchers.runs, range(seed, seed + 1))
    (found, lines), seconds = _ask(f"run {seed}", partial(counted, look), 240)
    if found["broken"]:
        return str(found["broken"])
    if found["pin"][str(seed)][0] > catchers.EVENTS_MOST:
        return []  # too long to be played for each mutation
    return [Catcher("run", str(seed), seconds, lines, found["pin"])]


def _tests(package: Package) -> list[Catcher]:
    value, _ = _ask(" ".join(package.tests), partial(_measure_tests, package), 900)
    if value["failed"]:
        _refuse(*next(iter(value["failed"].items())))
    return [Catcher("unit", **one) for one in value["tests"]]


def _measure_tests(package: Package) -> dict[str, Any]:
    counter = _counter(package)
    forget()
    plugin = unit.Limit(counter, at_most=unit.SECONDS_MOST)
    counter.start()
    unit.test_run(
        [f"{ROOT}/{folder}" for folder in package.tests], plugin, "-m", "not landing and not soak"
    )
    counter.stop()
    data = counter.get_data()
    tests = [
        {"name": name, "seconds": seconds, "lines": lines}
        for name, seconds in plugin.seconds.items()
        if name not in plugin.failed and (lines := _lines_of(data, package, name))
    ]
    failed = {name: what for name, what in plugin.failed.items() if "TooLong" not in what}
    return {"tests": tests, "failed": failed}
