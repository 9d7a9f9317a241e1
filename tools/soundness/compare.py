"""One random model, searched twice: what the checker says, and what the plain search says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, Literal

from attrs import frozen

from joinproto.check.check import check
from joinproto.check.faults import Faults
from joinproto.check.network import FifoLinks, MessageBag, MessageSet, Network
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, always, always_possible, sometimes
from joinproto.check.world import World
from tools.soundness.plain_search import Plain, Setting, Space, TooLarge, search
from tools.soundness.random_model import Model

NETWORKS: dict[str, Network] = {
    "set": MessageSet(),
    "set of each": MessageSet(broadcasts="each"),
    "set of nobody": MessageSet(with_sender=False),
    "bag": MessageBag(),
    "fifo": FifoLinks(),
}
MAKE = {"always": always, "sometimes": sometimes, "always possible": always_possible}

Verdict = Literal["same", "different", "refused", "too large"]


@frozen
class Compared:
    """`said`: what differs, or why it was refused."""

    verdict: Verdict
    said: str = ""
    states: int = 0


def compare(model: Model, *, states_max: int = 150) -> Compared:
    """Search `model` twice, and tell whether anything differs."""
    # Two modules, because what one search leaves in a default argument is not the other's.
    with _module(model) as module:
        setting = Setting(
            _makers(model, module),
            model.network,
            model.crashes,
            model.restarts,
            model.losses,
            model.duplicates,
        )
        try:
            space = search(setting, states_max=states_max)
        except TooLarge:
            return Compared("too large")
        plain = Plain(setting)
        seen = [plain.seen(state) for state in space.states]
        wanted = {
            f"{number} {kind}": _wanted(space, kind, [bool(holds(view)) for view in seen])
            for number, (kind, holds) in enumerate(module.CLAIMS)
        }
    with _module(model) as module:
        return _compare(model, module, space, wanted)


@contextmanager
def _module(model: Model) -> Iterator[ModuleType]:
    module = ModuleType(f"random_model_{model.seed}")
    # By name, because copies are made by pickling.
    sys.modules[module.__name__] = module
    try:
        exec(compile(model.source, f"<model {model.seed}>", "exec"), vars(module))  # noqa: S102
        yield module
    finally:
        del sys.modules[module.__name__]


def _makers(model: Model, module: ModuleType) -> dict[str, Callable[[], Any]]:
    names = "abc"[: model.members]
    return {
        name: partial(module.Member, name, tuple(other for other in names if other != name))
        for name in names
    }


def _compare(
    model: Model, module: ModuleType, space: Space, wanted: dict[str, tuple[str, int | None]]
) -> Compared:
    makers = _makers(model, module)
    claims: list[Property] = []
    for number, (kind, holds) in enumerate(module.CLAIMS):
        claims.append(MAKE[kind](f"{number} {kind}", partial(_asked, holds, "".join(makers))))
    world = World(
        name="random",
        members=makers,
        network=NETWORKS[model.network],
        faults=Faults(
            crashes=model.crashes,
            restarts=model.restarts,
            losses=model.losses,
            duplicates=model.duplicates,
        ),
        properties=[always("nothing", lambda view: True)],
    )
    try:
        said = _different(world, claims, wanted, space)
    except ModelProblem as problem:
        if model.may_refuse:
            return Compared("refused", problem.message, len(space.states))
        return Compared("different", f"refused: {problem.message}", len(space.states))
    return Compared("different" if said else "same", said, len(space.states))


def _asked(holds: Any, names: str, view: Any) -> bool:
    return bool(holds({name: view[name] for name in names}))


def _wanted(space: Space, kind: str, answers: list[bool]) -> tuple[str, int | None]:
    """Return the result, and the length of the shortest run that shows it, if one does."""
    if kind == "sometimes":
        least = space.least(answers)
        return ("not-reached" if least is None else "reached"), least
    bad = [not answer for answer in answers] if kind == "always" else space.hopeless(answers)
    least = space.least(bad)
    return ("holds" if least is None else "violated"), least


def _different(
    world: World, claims: list[Property], wanted: dict[str, tuple[str, int | None]], space: Space
) -> str:
    from attrs import evolve

    # A broken `always` ends a search: each of those is asked alone.
    ends = [c for c in claims if c.kind == "always" and wanted[c.name][0] == "violated"]
    rest = [claim for claim in claims if claim not in ends]
    report = check(evolve(world, properties=[*world.properties, *rest]))
    if (report.distinct, report.levels) != (len(space.states), space.levels()):
        return (
            f"{report.distinct} states in levels {report.levels},"
            f" plainly {len(space.states)} in {space.levels()}"
        )
    found = {item.name: (item.result, item.trace_length) for item in report.properties}
    for claim in ends:
        (item,) = check(evolve(world, properties=[claim])).properties
        found[item.name] = (item.result, item.trace_length)
    for claim in claims:
        result, least = wanted[claim.name]
        if found[claim.name] != (result, least):
            return f"{claim.name}: {found[claim.name]}, plainly {(result, least)}"
    return ""
