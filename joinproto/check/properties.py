"""Properties of a world's states and runs.

A property is a plain Python function of the members' observations; the engine calls it once for
each distinct combination of observations.  `view` is a `joinproto.check.view.View`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import isfunction
from typing import Any, Literal

from attrs import frozen

from joinproto.check.problems import ModelProblem
from joinproto.check.view import View

Kind = Literal[
    "always",
    "sometimes",
    "eventually",
    "leads to",
    "until",
    "infinitely often",
    "eventually always",
    "always possible",
    "no deadlock",
    "always step",
    "implements",
]
Scope = Literal["world", "each", "pair", "beside", "monitor", "step"]

ON_FAIR_RUNS: tuple[Kind, ...] = (
    "eventually",
    "leads to",
    "until",
    "infinitely often",
    "eventually always",
)
"""Kinds of claims that a fair run without end can break."""

ON_RUNS: tuple[Kind, ...] = (
    *ON_FAIR_RUNS,
    "always possible",
    "no deadlock",
    "always step",
    "implements",
)
"""Kinds of claims that are judged on the finished graph."""


@frozen
class StepView:
    """A step, as claims about steps see it.

    `action`: the step's word, as a run shows it; `receive` for a message.  `member`: the member
    that takes it, or None for several members or the network.  `event`: the event that the member
    received, such as a `Message`; for a joint step, member to event; None for a step of the network
    or a fault.
    """

    action: str
    member: str | None
    event: Any


@frozen
class Parts:
    """A claim about parts of two observations: `func` gets `of[0]` of the first observation and
    `of[1]` of the second.
    """

    func: Callable[[Any, Any], Any]
    of: tuple[Callable[[Any], Any], Callable[[Any], Any]]

    def __call__(self, one: Any, other: Any) -> Any:
        return self.func(self.of[0](one), self.of[1](other))


@frozen
class Implied:
    """A claim about views in which `premise` is true; it holds in all other views."""

    premise: Callable[[View], Any]
    func: Callable[[View], Any]

    def __call__(self, view: View) -> Any:
        return self.func(view) if self.premise(view) else True


@frozen
class Property:
    """A named claim, as `always` and the other functions make it.

    `scope`: the arguments of `holds`: a view ("world"), the observation of one member ("each"), of
    two members ("pair"), of a member and the monitor ("beside"), of the monitor ("monitor"), or the
    view before a step, a `StepView` and the view after ("step").  `among`: the members that the
    claim is about; None means all.  `premise`: asked first; if it is false, the claim holds.

    `meanwhile`: must hold until `holds` does.  `abstract`: a `World` that is implemented; `holds`
    is then the mapping.  `about`: a sentence for people.
    """

    name: str
    kind: Kind
    holds: Callable[..., Any]
    scope: Scope = "world"
    among: tuple[str, ...] | None = None
    premise: Callable[..., Any] | None = None
    meanwhile: Callable[..., Any] | None = None
    abstract: Any = None
    about: str = ""

    @property
    def meaning(self) -> str:
        """Return the claim in a sentence: its own text, or its function's docstring."""
        (claim, *_) = _written(self.holds)
        text = self.about or (isfunction(claim) and claim.__doc__) or ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def asks(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions that the claim consists of."""
        parts = (*_written(self.holds), self.premise, self.meanwhile)
        return tuple(part for part in parts if part is not None)


def _written(holds: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Return the functions that a claim was written with."""
    if isinstance(holds, Parts):
        return holds.func, *holds.of
    return (holds.func if isinstance(holds, Implied) else holds,)


def _among(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(names, str):
        raise ModelProblem(f"among is the text {names!r}", next=f"give a list: [{names!r}]")
    return None if names is None else tuple(names)


def always(
    name: str, holds: Callable[[View], Any], *, premise: Callable[[View], Any] | None = None
) -> Property:
    """Claim that `holds(view)` is true in every reachable state.

    `premise`: claim it only for the states in which this is true.  A premise that is never true is
    reported.
    """
    claim = holds if premise is None else Implied(premise, holds)
    return Property(name, "always", claim, premise=premise)


def always_each(
    name: str, holds: Callable[[Any], Any], *, among: Sequence[str] | None = None
) -> Property:
    """Claim `holds(shown)` of every running member (named in `among`, if given), in every state."""
    return Property(name, "always", holds, "each", _among(among))


def always_pair(
    name: str,
    holds: Callable[[Any, Any], Any],
    *,
    among: Sequence[str] | None = None,
    of: Callable[[Any], Any] | None = None,
) -> Property:
    """Claim `holds(a, b)` of every two running members, in both orders, in every state.

    This is the cheapest claim that members agree: it costs two look-ups instead of a call for each
    combination of all members.  `of`: the part of the observation that the claim is about; `holds`
    then gets the parts alone, and is asked once for each pair of different parts.
    """
    about = holds if of is None else Parts(holds, (of, of))
    return Property(name, "always", about, "pair", _among(among))


def always_beside(
    name: str,
    holds: Callable[[Any, Any], Any],
    *,
    among: Sequence[str] | None = None,
    of: Callable[[Any], Any] | None = None,
    of_monitor: Callable[[Any], Any] | None = None,
) -> Property:
    """Claim `holds(shown, monitor)` of every running member and the monitor, in every state.

    `of`, `of_monitor`: the parts of the two observations that the claim is about, as for
    `always_pair`.
    """
    is_whole = of is None and of_monitor is None
    about = holds if is_whole else Parts(holds, (of or _whole, of_monitor or _whole))
    return Property(name, "always", about, "beside", _among(among))


def _whole(shown: Any) -> Any:
    return shown


def always_monitor(name: str, holds: Callable[[Any], Any]) -> Property:
    """Claim `holds(monitor)` of the monitor's observation, in every state."""
    return Property(name, "always", holds, "monitor")


def sometimes_monitor(name: str, holds: Callable[[Any], Any]) -> Property:
    """Claim `holds(monitor)` of the monitor's observation, in some reachable state."""
    return Property(name, "sometimes", holds, "monitor")


def sometimes(name: str, holds: Callable[[View], Any]) -> Property:
    """Claim that `holds(view)` is true in some reachable state.

    Without such a claim, other claims may hold only because no step is possible.
    """
    return Property(name, "sometimes", holds)


def sometimes_one(
    name: str, holds: Callable[[Any], Any], *, among: Sequence[str] | None = None
) -> Property:
    """Claim `holds(shown)` of some running member (of `among`), in some reachable state."""
    return Property(name, "sometimes", holds, "each", _among(among))


def eventually(name: str, holds: Callable[[View], Any]) -> Property:
    """Claim that every fair run has a state with `holds(view)`.

    Fair: as `World.fairness` says; by default, a delivery or a choice that stays possible for ever
    is taken some time.  Faults, `Maybe` choices and joint steps marked `fair=False` are never
    forced.
    """
    return Property(name, "eventually", holds)


def leads_to(name: str, premise: Callable[[View], Any], holds: Callable[[View], Any]) -> Property:
    """Claim that in every fair run `premise(view)` leads to `holds(view)`, at once or later."""
    return Property(name, "leads to", holds, premise=premise)


def until(
    name: str,
    meanwhile: Callable[[View], Any],
    holds: Callable[[View], Any],
    *,
    premise: Callable[[View], Any] | None = None,
) -> Property:
    """Claim that in every fair run `meanwhile(view)` is true until `holds(view)` comes true.

    The claim is about a run from its first state on; with `premise`, from each state in which the
    premise is true.
    """
    return Property(name, "until", holds, premise=premise, meanwhile=meanwhile)


def infinitely_often(name: str, holds: Callable[[View], Any]) -> Property:
    """Claim that in every fair run `holds(view)` is true again and again, without end."""
    return Property(name, "infinitely often", holds)


def eventually_always(name: str, holds: Callable[[View], Any]) -> Property:
    """Claim that in every fair run `holds(view)` is true in all states from some state on."""
    return Property(name, "eventually always", holds)


def always_possible(name: str, holds: Callable[[View], Any]) -> Property:
    """Claim that from every reachable state steps other than faults can lead to `holds(view)`."""
    return Property(name, "always possible", holds)


def no_deadlock(name: str, done: Callable[[View], Any] = lambda view: False) -> Property:
    """Claim that every reachable state has a step that is no fault, unless `done(view)`."""
    return Property(name, "no deadlock", done)


def always_step(name: str, holds: Callable[[View, StepView, View], Any]) -> Property:
    """Claim `holds(before, step, after)` of every step, faults among them."""
    return Property(name, "always step", holds, "step")


def implements(name: str, abstract: Any, mapping: Callable[[View], Mapping[str, Any]]) -> Property:
    """Claim that every run, seen through `mapping`, is a run of the world `abstract`, with pauses.

    `mapping(view)`: the observation of each member of `abstract`.  Each step must be a step of
    `abstract`, or change nothing there; fairness is not compared.
    """
    return Property(name, "implements", mapping, "step", abstract=abstract)
