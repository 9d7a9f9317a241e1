"""One random model, searched by the checker and by the plain search, and both results compared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, Literal

from attrs import evolve, frozen

from joinproto.check.check import check
from joinproto.check.fairness import Fair
from joinproto.check.faults import Faults
from joinproto.check.network import FifoLinks, MessageBag, MessageSet, Network
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import ON_FAIR_RUNS, Property, always, always_step
from joinproto.check.world import World
from tools.soundness.plain_runs import Space, search
from tools.soundness.plain_search import PlainSteps, Setting, TooLarge
from tools.soundness.random_model import Model

NETWORKS: dict[str, Network] = {
    "set": MessageSet(),
    "set of each": MessageSet(broadcasts="each"),
    "set of nobody": MessageSet(with_sender=False),
    "bag": MessageBag(),
    "fifo": FifoLinks(),
}

Verdict = Literal["same", "different", "refused", "too large"]


@frozen
class Comparison:
    """The comparison for one model.  `said`: the difference, or the reason of a refusal."""

    verdict: Verdict
    said: str = ""
    states: int = 0


def compare(model: Model, *, states_max: int = 150) -> Comparison:
    # Two modules, because one search must not see the other's default arguments.
    with _module(model) as module:
        setting = Setting(
            _makers(model, module),
            model.network,
            model.budgets,
            model.restarts,
            model.begins_up,
            module.BEGINNINGS,
            module.Monitor if model.has_monitor else None,
            model.fairness,
        )
        try:
            space = search(setting, states_max=states_max)
        except TooLarge:
            return Comparison("too large")
        plain = PlainSteps(setting)
        seen = [plain.seen(state) for state in space.states]
        wanted = {
            f"{number} {kind}": _wanted(space, kind, asked, seen)
            for number, (kind, *asked) in enumerate(module.CLAIMS)
        }
    with _module(model) as module:
        return _compare(model, module, space, wanted)


@contextmanager
def _module(model: Model) -> Iterator[ModuleType]:
    module = ModuleType(f"random_model_{model.seed}")
    # Registered under its name, because objects are copied by pickling.
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
) -> Comparison:
    makers = _makers(model, module)
    claims: list[Property] = []
    for number, (kind, *asked) in enumerate(module.CLAIMS):
        parts = [part and partial(_holds, part, "".join(makers)) for part in asked]
        if kind == "always step":
            step = partial(_step_holds, asked[0], "".join(makers))
            claims.append(always_step(f"{number} {kind}", step))
        else:
            claims.append(
                Property(f"{number} {kind}", kind, parts[0], premise=parts[1], meanwhile=parts[2])
            )
    budgets: dict[str, Any] = dict(model.budgets)
    world = World(
        name="random",
        members=makers,
        network=NETWORKS[model.network],
        faults=Faults(restarts=model.restarts, **budgets),
        start="up" if model.begins_up else "down",
        beginnings=module.BEGINNINGS,
        monitor=module.Monitor if model.has_monitor else None,
        fairness=[
            Fair(strong, words, who or (), each=who is None)
            for strong, words, who in model.fairness
        ],
        properties=[always("nothing", lambda view: True)],
    )
    try:
        said = _different(world, claims, wanted, space)
    except ModelProblem as problem:
        if model.may_refuse:
            return Comparison("refused", problem.message, len(space.states))
        return Comparison("different", f"refused: {problem.message}", len(space.states))
    return Comparison("different" if said else "same", said, len(space.states))


def _holds(holds: Any, names: str, view: Any) -> bool:
    return bool(holds(_seen(names, view)))


def _seen(names: str, view: Any) -> dict[str, Any]:
    return {**{name: view[name] for name in names}, "monitor": view.monitor}


def _step_holds(holds: Any, names: str, before: Any, step: Any, after: Any) -> bool:
    return bool(holds(_seen(names, before), step.member or "", _seen(names, after)))


def _wanted(
    space: Space, kind: str, asked: list[Any], seen: list[dict[str, Any]]
) -> tuple[str, int | None]:
    """Return the result, and the length of the shortest run that shows it, or None.

    Fair runs have no length here, because their loops need not be shortest.
    """
    if kind == "always step":
        least = space.least_step(lambda at, step, to: asked[0](seen[at], step.member, seen[to]))
        return ("holds" if least is None else "violated"), least
    answers, *others = [
        part and {at for at, view in enumerate(seen) if part(view)} for part in asked
    ]
    if kind in ON_FAIR_RUNS:
        return ("violated" if space.broken(kind, answers, *others) else "holds"), None
    if kind == "no deadlock":
        least = space.least(space.stuck(answers))
        return ("holds" if least is None else "violated"), least
    if kind == "sometimes":
        least = space.least(answers)
        return ("not-reached" if least is None else "reached"), least
    bad = {*space.everything} - answers if kind == "always" else space.hopeless(answers)
    least = space.least(bad)
    return ("holds" if least is None else "violated"), least


def _different(
    world: World, claims: list[Property], wanted: dict[str, tuple[str, int | None]], space: Space
) -> str:
    # A broken `always` ends a search, so each of these is checked alone.
    ends = [c for c in claims if c.kind == "always" and wanted[c.name][0] == "violated"]
    rest = [claim for claim in claims if claim not in ends]
    report = check(evolve(world, properties=[*world.properties, *rest]))
    if (report.distinct, report.levels) != (len(space.states), space.levels()):
        return (
            f"{report.distinct} states in levels {report.levels};"
            f" plain search: {len(space.states)} in {space.levels()}"
        )
    found = {item.name: (item.result, item.trace_length) for item in report.properties}
    for claim in ends:
        (item,) = check(evolve(world, properties=[claim])).properties
        found[item.name] = (item.result, item.trace_length)
    for claim in claims:
        result, least = wanted[claim.name]
        said, length = found[claim.name]
        if said == "unknown" and len(space.states) == space.begins == 1:
            # The checker leaves a claim open that holds because nothing happens.
            said = "holds"
        if said != result or (claim.kind not in ON_FAIR_RUNS and length != least):
            return f"{claim.name}: {(said, length)}; plain search: {(result, least)}"
    return ""
