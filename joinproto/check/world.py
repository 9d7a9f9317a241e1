"""A world: members, a network, faults and properties.  It has no input from outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from attrs import Factory, field, frozen

from joinproto.check.beginnings import Beginning
from joinproto.check.dropped import MANY
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
    """One step that several members take at the same moment: an agreed view, an operator.

    `events`: the event for each of them; `Offline(event)` reaches a stopped member's disk, by its
    method `offline(event)`.  The step exists only if all of them take it.  `action` and `detail`
    are its words, together unlike those of any other step of the same state. `fair`: weak fairness
    forces it.
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
        """Refuse a step of one that is not among the members `names`."""
        refuse_strangers(f"joint step {self.action!r} has an event for", self.events, names)


@frozen(kw_only=True)
class World:
    """A closed world.

    `members`: name to a function that makes the member as it is before its first start. `start`:
    "up", all members run at the outset; "down", each is started at any moment. `beginnings`:
    initial attributes of members, where runs may begin in more than one state (`any_of`): set
    before a member starts; of one that begins down, durable ones alone. `monitor`: makes an object
    whose `receive` hears every `Record` effect; never steps alone. `show`: the observation of a
    running member (default: its method `shows`, else all its attributes); `show_disk`: the same of
    durable attributes, running or not. `fairness`: steps that runs may not postpone for ever; by
    default each step by itself, weakly. `show_links`: views hold the messages in queues and bags,
    so claims and joint steps see it. `within`: where it is not true of a state, that state is
    judged and counted, and no step is taken from it: a bound for worlds without one of their own.
    `same`: two states of whose views it says the same are one for the search (`same.py`): the one
    found first continues.  A run that is found is real; one that is not found may still exist.
    `picture`: a further display of each state in runs, for people: a text, or SVG (`<svg ...>`).
    `together`: joint steps possible in a view, or a list of those that are tried in every state,
    which is much faster.  `interchangeable`: names of members whose code treats them alike;
    `--symmetry` explores one state for each renaming of them. `expiry`: the remaining use of a
    message of a set, by (sender or None, addressee or None for all others, content): pairs of a
    member and a number.  The message is dropped for good as soon as the method `horizon` of each of
    these members, running or stopped, returns more than its number; no pairs: it is kept for ever.
    Drop only messages that can change no state any more. `labels`: every case of every table in
    use; those never taken are reported. `beside`: which of `members` are something else, such as a
    register: not counted in reports.
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
                f"world {self.name} claims nothing",
                next="add a property: always(...), sometimes(...)",
            )
        for field_name in ("interchangeable", "beside"):
            refuse_strangers(f"{field_name} names", getattr(self, field_name), self.members)
        names = [item.name for item in self.properties]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ModelProblem(
                f"property {twice[0]!r} is there twice", next="give each its own name"
            )
        for item in self.properties:
            if self.within is not None and item.kind in ON_RUNS and item.scope != "step":
                raise ModelProblem(
                    f"property {item.name!r} is about whole runs, and `within` cuts them",
                    next="bound the members themselves, or leave out `within`",
                )
            if item.scope in ("beside", "monitor") and self.monitor is None:
                raise ModelProblem(
                    f"property {item.name!r} asks the monitor, and there is none",
                    next="give the world a monitor, or use always_each(...)",
                )
            refuse_strangers(f"property {item.name!r} is among", item.among or (), self.members)

    def joint_steps(self, view: View) -> Iterable[Together]:
        """Return the joint steps to be tried in a state that shows `view`."""
        if self.together is None:
            return ()
        if not callable(self.together):
            return self.together
        steps = list(islice(self.together(view), MANY + 1))
        if len(steps) > MANY:
            raise ModelProblem(
                f"together(view) yields more than {MANY:,} joint steps", next="let it end"
            )
        return steps

    @property
    def size(self) -> int:
        """Return how many members there are, as `--members` counts; else without monitors."""
        asked = self.source.get("members")
        return asked if type(asked) is int else len(self.members) - len(set(self.beside))
