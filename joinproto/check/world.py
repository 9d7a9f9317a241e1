"""A world: members, a network, faults and properties.  It has no input from outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from attrs import Factory, field, frozen

from joinproto.check.beginnings import Beginning
from joinproto.check.dropped import ITEMS_MAX
from joinproto.check.events import WorldMember
from joinproto.check.fairness import EACH_STEP, Fair
from joinproto.check.faults import Faults
from joinproto.check.network import MessageSet, Network
from joinproto.check.problems import ModelProblem, refuse_strangers
from joinproto.check.properties import ON_RUNS, Property
from joinproto.check.soundness import unsound
from joinproto.check.view import View


@frozen
class Together:
    """One step that several members take at the same moment, such as an operator's action.

    `events`: member to the event that it receives; `Offline(event)` calls the method
    `offline(event)` of a stopped member.  The step is possible only if all these members take it.
    `action` and `detail` name the step; no other step of the same state may have the same two.
    `fair`: whether fairness may force it.  `fault`: whether the step is a fault.
    """

    action: str
    events: Mapping[str, Any]
    detail: str = ""
    fair: bool = True
    fault: bool = False

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.events, Mapping) or not self.events:
            raise ModelProblem(
                f"joint step {self.action!r} has the events {self.events!r}, so no member takes it",
                next="expected a dict with an event for each member that takes it",
            )

    def refuse_strangers(self, names: Collection[str]) -> None:
        """Raise `ModelProblem` if a member of this step is not among `names`."""
        refuse_strangers(f"joint step {self.action!r} has an event for", self.events, names)


@frozen(kw_only=True)
class World:
    """A closed world.

    `members`: name to a function that makes the member as it is before its first start. `start`:
    with "up", all members run in the initial state; with "down", each starts at any later moment.
    `beginnings`: attributes of members in each initial state, if there are several (`any_of`).
    They are set before a member starts; if members begin down, only durable ones may be set.
    `monitor`: makes an object whose `receive` gets every `Record` effect; it takes no step alone.
    `show`: the observation of a running member (default: its method `shows`, else all attributes);
    `show_disk`: the same for the durable attributes of running and stopped members.
    `show_links`: views hold the messages in queues and bags, so claims and joint steps see them.
    `fairness`: steps that runs may not postpone for ever; by default each step by itself, weakly.
    `within`: a bound for endless worlds.  A state in which it is false is judged and counted, but
    the search takes no step from it.  `same`: a function of a view.  States with equal results
    count as one state (`same.py`); the search continues only from the first of them.  A run that is
    found is real; a run that is not found may still exist.
    `picture`: a further display of each state in runs, for people: a text, or SVG (`<svg ...>`).
    `together`: the joint steps possible in a view; or a list of joint steps to try in every state,
    which is much faster.  `interchangeable`: names of members that all code treats alike;
    `--symmetry` explores only one state of each group that differs only in these names.  `expiry`:
    when a message of a set may be dropped for good.  It is called with sender (or None), addressee
    (None: all others) and content, and returns pairs of a member and a number.  The message is
    dropped when the method `horizon` of each of these members, running or stopped, returns more
    than its number; without pairs it is never dropped.
    Drop only messages that can change no state any more. `labels`: every case of every table in
    use; cases never taken are reported. `beside`: the `members` that reports do not count, such
    as a register.
    """

    name: str
    members: Mapping[str, Callable[[], WorldMember]]
    properties: Sequence[Property]
    network: Network = MessageSet()
    faults: Faults = Faults()
    start: Literal["up", "down"] = "up"
    beginnings: Sequence[Beginning] | None = field(default=None, repr=False)
    fairness: Sequence[Fair] = (EACH_STEP,)
    monitor: Callable[[], WorldMember] | None = None
    show: Callable[[Any], Any] | None = None
    show_disk: Callable[[Any], Any] | None = None
    show_links: bool = False
    within: Callable[[View], Any] | None = None
    same: Callable[[View], Any] | None = None
    picture: Callable[[View], str] | None = field(default=None, repr=False)
    together: Callable[[View], Iterable[Together]] | Sequence[Together] | None = None
    expiry: Callable[[Any, str | None, Any], Iterable[tuple[str, int]]] | None = None
    interchangeable: Sequence[str] = ()
    labels: Sequence[str] = ()
    beside: Sequence[str] = ()
    about: str = ""
    expected: Literal["holds", "violated"] = "holds"
    source: Mapping[str, Any] = field(default=Factory(dict), repr=False)

    def __attrs_post_init__(self) -> None:
        for found, wanted in unsound(self):
            raise ModelProblem(f"world {self.name}: {found}", next=f"expected {wanted}")
        if not self.members:
            raise ModelProblem(f"world {self.name} has no members", next="give it at least one")
        if not self.properties:
            raise ModelProblem(
                f"world {self.name} has no properties",
                next="add a property: always(...), sometimes(...)",
            )
        for field_name in ("interchangeable", "beside"):
            refuse_strangers(f"{field_name} names", getattr(self, field_name), self.members)
        names = [item.name for item in self.properties]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ModelProblem(
                f"world {self.name} has two properties named {twice[0]!r}",
                next="give each its own name",
            )
        for item in self.properties:
            if self.within is not None and item.kind in ON_RUNS and item.scope != "step":
                raise ModelProblem(
                    f"property {item.name!r} is about whole runs, and `within` cuts them",
                    next="bound the members themselves, or leave out `within`",
                )
            if item.scope in ("beside", "monitor") and self.monitor is None:
                raise ModelProblem(
                    f"property {item.name!r} needs a monitor, and world {self.name} has no monitor",
                    next="give the world a monitor, or use always_each(...)",
                )
            refuse_strangers(f"property {item.name!r} is among", item.among or (), self.members)

    def joint_steps(self, view: View) -> Iterable[Together]:
        """Return the joint steps to try in a state with this view."""
        if self.together is None:
            return ()
        if not callable(self.together):
            return self.together
        steps = list(islice(self.together(view), ITEMS_MAX + 1))
        if len(steps) > ITEMS_MAX:
            raise ModelProblem(
                f"together(view) yields more than {ITEMS_MAX:,} joint steps",
                next="make together(view) yield fewer steps; perhaps its loop never ends",
            )
        return steps

    @property
    def size(self) -> int:
        """Return the value of `--members`, or else the number of members not in `beside`."""
        asked = self.source.get("members")
        return asked if type(asked) is int else len(self.members) - len(set(self.beside))
