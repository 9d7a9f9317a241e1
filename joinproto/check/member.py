"""The questions that the checker puts to one member's code.

`member_steps.py` has the steps, and `member_objects.py` makes objects from values.  Only
`direct_member.py` calls members' code in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from attrs import evolve, field, frozen

from joinproto.check.determinism import AnswerChecker, Question, between_shown
from joinproto.check.dropped import ITEMS_MAX, misspelt_name, too_many, with_return
from joinproto.check.events import (
    EFFECTS,
    NOT_ENABLED,
    Maybe,
    ValueText,
    field_texts,
    fields_of,
    plain,
)
from joinproto.check.faults import Faults
from joinproto.check.freeze import freeze, freeze_all, thaw, thaw_all
from joinproto.check.fresh import QUESTIONS_MAX, sample_of
from joinproto.check.frozen import Frozen
from joinproto.check.local import (
    CRASH,
    START,
    WIPE,
    Choice,
    KnownAnswers,
    LocalState,
    Outcome,
    freeze_event,
    thaw_event,
)
from joinproto.check.makers import refuse_late_binding
from joinproto.check.member_objects import OPTIONAL, MemberObjects
from joinproto.check.member_steps import MemberSteps
from joinproto.check.problems import ModelProblem
from joinproto.check.shared import Shared
from joinproto.check.view import DOWN, ShownAttributes
from joinproto.check.world import World
from joinproto.check.written import idle_line


class MemberCode:
    """The code of one member, called with local states; `calls` counts calls of its methods.

    A question that is repeated to compare the answers counts once.
    """

    def __init__(
        self, world: World, name: str, make: Callable[[], Any], *, is_monitor: bool = False
    ) -> None:
        """`is_monitor`: whether it is the monitor, which receives records and has no effects."""
        self.name = name
        # The member's answers, of this run and perhaps an earlier one, if they are kept.
        self.known: KnownAnswers | None = None
        self._sample = sample_of(world.name, name)
        self.objects = objects = MemberObjects(name, make)
        self._is_monitor = is_monitor
        self._refuse_idle(world)
        self.checker = AnswerChecker(objects)
        self._steps = MemberSteps(world, objects, self.checker)
        self._show = world.show
        self._show_disk = world.show_disk
        self._begins_up = world.start == "up"
        self._wipes = name not in world.faults.spared and world.faults.wipes > 0
        self._has_choices = objects.has("choices")
        self._has_shows = objects.has("shows")

    @property
    def calls(self) -> int:
        return self.objects.calls

    def _refuse_idle(self, world: World) -> None:
        """Raise `ModelProblem` for definitions in the class that have no use or effect."""
        given = set() if world.show is None else {"shows"}
        near = misspelt_name(self.objects.kind, {*OPTIONAL, "persistent"} - given)
        if near:
            found, wanted = near
            raise self.objects.problem(
                f"{self.objects.kind.__qualname__}.{found} is never used",
                next=f"did you mean {wanted}? if not, rename it, so that the names differ more",
                method=found,
            )
        if idle := idle_line(self.objects.kind):
            place, found, wanted = idle
            raise self.objects.problem(found, next=wanted, place=place)
        if self._is_monitor and self.objects.has("choices"):
            raise self.objects.problem(
                "a monitor has choices(), but it takes no step of its own",
                next="remove choices(); a monitor receives the events that members Record",
                method="choices",
            )

    # -- questions -----------------------------------------------------------------------

    def choices(self, local: LocalState) -> tuple[Choice, ...]:
        """Return the steps the member may take by itself, the world's faults included."""
        found: tuple[Choice, ...] = self.once("choices", local)
        return found

    def run(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        """Return the outcomes of `event` in `local`, or None if it cannot happen.

        The first outcome is the step itself; the others are crashes in the middle of the step.
        """
        found: tuple[Outcome, ...] | None = self.once("step", (local, event))
        return found

    def shows(self, local: LocalState) -> Hashable:
        """Return the frozen observation of the running member, or `DOWN`."""
        found: Hashable = self.once("shown", local)
        return found

    def shows_disk(self, local: LocalState) -> Hashable:
        """Return the frozen observation of the disk, or None if the world does not show disks."""
        found: Hashable = None if self._show_disk is None else self.once("disk", local)
        return found

    def horizon(self, local: LocalState) -> int:
        """Return the result of the member's `horizon`; 0 if the member has no such method."""
        return int(self.once("horizon", local)) if self.objects.has("horizon") else 0

    def once(self, kind: str, question: Any) -> Any:
        """Return the answer, from `known` if it is there.  `kind`: see `_answer`."""
        if self.known is None:
            return self.answer(kind, question)
        return self.known.once(kind, question, lambda: self.answer(kind, question))

    def answer(self, kind: str, question: Any) -> Any:
        """Return the answer of the member's code, without use of known answers."""
        found = self._answer(kind, question)
        if self._sample is not None and len(self._sample) < QUESTIONS_MAX:
            self._sample.append((kind, question, found))
        return found

    def _answer(self, kind: str, question: Any) -> Any:
        match kind:
            case "step":
                outcomes = self._steps.of(*question)
                if self._is_monitor and outcomes and (outcomes[0].sent or outcomes[0].recorded):
                    raise self.objects.problem(
                        "a monitor sends or records, and no member receives that",
                        next="let the monitor change its attributes; claims see its observation",
                    )
                return outcomes
            case "choices":
                return self._chosen(question)
            case "shown":
                return self._shown(question)
            case "disk":
                return self._shown_disk(question)
            case "horizon":
                return self._horizon(question)
        raise AssertionError(kind)

    # -- possible steps ----------------------------------------------------------------

    def before_start(self) -> LocalState:
        """Return the member's state before its first start: stopped, with its initial disk."""
        return LocalState(False, (), self.objects.empty)

    def begun(self, values: Mapping[str, Any]) -> tuple[LocalState, Outcome | None]:
        """Return the state before the first start, with attributes `values`, and that start.

        The start is None if the world begins with its members down.  No disk is read before it, so
        a durable attribute and another attribute may refer to the same object.
        """
        if not values and not self._begins_up:
            return self.before_start(), None
        if not values and not self.objects.shares_disk:
            outcomes = self.run(self.before_start(), START)
            assert outcomes
            return self.before_start(), outcomes[0]
        frozen_values = self._begun_values(values)

        def make() -> Any:
            member = self.objects.guarded("making the member", self.objects.make)
            for name, value in zip(values, thaw_all(frozen_values), strict=True):
                object.__setattr__(member, name, value)
            return member

        local = LocalState(False, (), self.objects.disk(make()))
        return local, self._steps.first_start(make, local) if self._begins_up else None

    def _begun_values(self, values: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Return a beginning's values frozen; an object in several of them stays one object."""
        for name, value in values.items():
            if name not in self.objects.names:
                raise self.objects.problem(
                    f"a beginning sets {name!r}, which is not an attribute",
                    next="attributes are " + ", ".join(self.objects.names),
                )
            if not self._begins_up and name not in self.objects.persistent:
                raise self.objects.problem(
                    f"a beginning sets {name!r}, not durable, for a member that begins down",
                    next="name it in persistent, or let members begin up",
                )
            self.objects.value(value, f"the beginning's {name}")
        return freeze_all(values.values())

    def _chosen(self, local: LocalState) -> tuple[Choice, ...]:
        found: list[Choice] = []
        if not local.up:
            if not local.ended:
                found.append(Choice(START))
            if self._wipes and local.disk != self.objects.empty:
                found.append(Choice(WIPE, fair=False, fault=True))
            return tuple(found)
        if self._has_choices:
            offered = self._offered(local)
            if self.checker.is_due():
                ask = partial(self._offered, local, again=True)
                self.checker.again(Question("choices()", str, offered, ask, between_choices))
            found += offered
        if self._steps.crash_points:
            found.append(Choice(CRASH, fair=False, fault=True))
        return tuple(found)

    def _offered(self, local: LocalState, *, again: bool = False) -> list[Choice]:
        """Return the offered choices; `again`: do not check that the member stays unchanged."""
        self.objects.calls += 1
        member = self.objects.running(local.values)

        def call() -> tuple[Any, ...]:
            answer = member.choices()
            if isinstance(answer, (str, bytes)):
                raise self.objects.problem(
                    f"choices() returned the text {answer!r}",
                    next=f"return a list of events, [{answer!r}], or yield each",
                    method="choices",
                )
            last: list[Any] = []
            found = tuple(islice(with_return(answer or (), last), ITEMS_MAX + 1))
            if len(found) > ITEMS_MAX:
                raise too_many(self.objects, "choices()", "events")
            if last[0] is not None:
                raise self.objects.problem(
                    f"choices() yields, and then returns {last[0]!r}",
                    next="yield each event; `yield from` a list of them",
                    method="choices",
                )
            return found

        found = []
        for item in self.objects.guarded("choices()", call):
            whim = isinstance(item, Maybe)
            if isinstance(item.event if whim else item, (*EFFECTS, type(NOT_ENABLED))):
                raise self.objects.problem(
                    f"choices() offers {item!r}, which is no event",
                    next="offer an event of your own, such as a text; receive(event) answers it"
                    " with effects",
                    method="choices",
                )
            event = self.objects.value(item.event if whim else item, "choices()", freeze_event)
            found.append(Choice(event, fair=not whim))
        if not again:
            self._refuse_change(member, local, "choices()")
        return found

    def _refuse_change(self, member: Any, local: LocalState, what: str) -> None:
        wanted = "let only receive(event) change the member"
        self.objects.refuse_change(member, local.values, f"{what} changes", wanted, what)

    # -- observations -----------------------------------------------------------------

    def _shown(self, local: LocalState) -> Hashable:
        if not local.up:
            return freeze(DOWN)
        if self._show is None and not self._has_shows:
            return frozen_observation(self.objects.names, local.values)
        what = "shows()" if self._show is None else "show(member)"

        def ask(*, again: bool = False) -> Hashable:
            member, show = self.objects.running(local.values), self._show
            call = member.shows if show is None else lambda: show(member)
            shown = self.objects.value(self.objects.guarded(what, call), what)
            if not again:
                self._refuse_change(member, local, what)
            return shown

        shown = ask()
        if self.checker.is_due():
            ask_again = partial(ask, again=True)
            self.checker.again(Question(what, str, shown, ask_again, between_shown))
        return shown

    def _horizon(self, local: LocalState) -> int:
        member = (
            self.objects.running(local.values) if local.up else self.objects.stopped(local.disk)
        )
        return int(self.objects.guarded("horizon()", member.horizon))

    def _shown_disk(self, local: LocalState) -> Hashable:
        show, seen = self._show_disk, thaw(frozen_observation(self.objects.persistent, local.disk))
        assert show is not None
        what = "show_disk(disk)"
        return self.objects.value(self.objects.guarded(what, lambda: show(seen)), what)

    def describe(self, local: LocalState) -> dict[str, str]:
        """Return each attribute's text, for a person; names of durable attributes end in `*`."""
        text = {} if local.up else {"": "down"}
        for name, value in self.traced(local):
            if self.objects.has("story") and not name.endswith("*"):
                text[name] = ValueText.of(value)
            else:
                _add_text(text, name, value)
        return text

    def traced(self, local: LocalState) -> Iterator[tuple[str, Any]]:
        """Yield the parts of a local state in a trace: attributes; names of durable ones end in
        `*`.

        If the member has a method `story`, its result stands for the running state.
        """
        if local.up and self.objects.has("story"):
            yield from self.objects.guarded(
                "story()", self.objects.running(local.values).story
            ).items()
        elif local.up:
            hidden = {"name", "me", "peers", "members", "others"}
            yield from ((name, value) for name, value in self.held(local) if name not in hidden)
        yield from ((f"{name}*", kept) for name, kept in self.on_disk(local))

    def held(self, local: LocalState) -> Iterator[tuple[str, Any]]:
        """Yield the running member's attributes, as the member has them."""
        return zip(self.objects.names, thaw_all(local.values), strict=True)

    def on_disk(self, local: LocalState) -> Iterator[tuple[str, Any]]:
        """Yield the durable attributes, as the member had them."""
        return zip(self.objects.persistent, thaw_all(local.disk), strict=True)


def _add_text(text: dict[str, str], name: str, value: Any) -> None:
    """Add an attribute to `text`; an object without its own `__str__` field by field."""
    fields = fields_of(value)
    if fields is None:
        text[name] = ValueText.of(value)
        return
    said = dict(field_texts(fields))
    text.update({f"{name}.{field}": ValueText.of(fields[field]) for field in said})
    if not said:
        text[name] = type(value).__name__


def frozen_observation(names: tuple[str, ...], values: tuple[Hashable, ...]) -> Hashable:
    """Return a frozen observation of frozen attributes."""
    return Frozen(ShownAttributes, (tuple(zip(names, values, strict=True)),))


def between_choices(first: list[Choice], second: list[Choice]) -> str:
    """Return a text that says how the choices differ."""
    one, other = [
        [plain(thaw_event(choice.event)) for choice in found] for found in (first, second)
    ]
    if one == other:
        return "an event is Maybe(...) once, the other time it is not"
    return between_shown(tuple(one), tuple(other))


@frozen
class Codes:
    """The code of every member of a world, in the world's order, and of its monitor."""

    world: World
    names: tuple[str, ...]
    members: tuple[MemberCode, ...]
    monitor: MemberCode | None = field(default=None)
    reach: Shared = field(factory=lambda: Shared([]))

    @classmethod
    def of(cls, world: World) -> Codes:
        members = tuple(MemberCode(world, name, make) for name, make in world.members.items())
        monitor = None
        if world.monitor is not None:
            monitor = MemberCode(_without_faults(world), "monitor", world.monitor, is_monitor=True)
        found = cls(world, tuple(world.members), members, monitor)
        reach = Shared.reached_by([code.objects.kind for code in found.every])
        for code in found.every:
            code.checker.reach = reach
        refuse_late_binding(members)
        if world.faults.wipes and not any(code.objects.persistent for code in members):
            raise ModelProblem(
                f"wipes={world.faults.wipes}, and no member has a disk",
                next="name durable attributes: persistent = (...); or leave wipes out",
            )
        return evolve(found, reach=reach)

    @property
    def calls(self) -> int:
        return sum(code.calls for code in self.every)

    def beginnings(self) -> Iterator[tuple[tuple[LocalState, Outcome | None], ...]]:
        """Yield, for each beginning, each member's state before its first start and that start."""
        kept: dict[Any, tuple[LocalState, Outcome | None]] = {}

        def begun(code: MemberCode, values: Mapping[str, Any]) -> tuple[LocalState, Outcome | None]:
            key = code.name, freeze_all([*values, *values.values()])
            if key not in kept:
                kept[key] = code.begun(values)
            return kept[key]

        for one in self.world.beginnings or ({},):
            yield tuple(begun(code, one.get(code.name, {})) for code in self.members)

    def first_monitor(self) -> LocalState:
        """Return the monitor's initial state."""
        assert self.monitor is not None
        _, outcome = self.monitor.begun({})
        assert outcome
        return outcome.after

    def after_events(self, monitor: LocalState, events: Iterable[Hashable]) -> LocalState:
        """Return the monitor's state after it received `events`."""
        assert self.monitor is not None
        for event in events:
            outcomes = self.monitor.run(monitor, event)
            if outcomes is not None:
                monitor = outcomes[0].after
        return monitor

    def ask_again(self) -> None:
        """Repeat the first questions to every member, after a search.

        Raises `ModelProblem` if an answer differs from the first one.
        """
        for code in self.every:
            code.checker.ask_again()
        if self.reach.changed():
            for code in self.every:
                code.checker.ask_again(as_at_first=True)

    @property
    def every(self) -> tuple[MemberCode, ...]:
        return (*self.members, self.monitor) if self.monitor else self.members


def _without_faults(world: World) -> World:
    return evolve(world, faults=Faults(), show=None, show_disk=None, start="up")
