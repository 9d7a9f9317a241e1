"""One member, one step: the only place where the checker calls a member's code.

A local state is what one member is: running or not, its attributes, and what its disk
holds.  Everything here is a value; the engine numbers these values, and the reference
search uses them as they are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn

from attrs import evolve, field, frozen

from models.answers import Known
from models.endless import WATCH
from models.events import (
    NOT_ENABLED,
    Broadcast,
    Maybe,
    Message,
    Persist,
    Record,
    Rule,
    Send,
    Told,
    plain,
)
from models.freeze import (
    Frozen,
    attributes,
    freeze,
    freeze_all,
    has_order,
    rename,
    thaw,
    thaw_all,
)
from models.network import FifoLinks, MessageSet
from models.problems import ModelProblem, raised_at
from models.shared import Shared
from models.twice import (
    NEXT,
    Question,
    Repetition,
    between_outcomes,
    between_shown,
    between_values,
)
from models.view import DOWN, Seen
from models.world import World


@frozen(cache_hash=True)
class LocalState:
    """`values`: the attributes in order, empty when stopped; `disk`: the durable ones; both
    frozen.  `ended`: stopped for good, in a world without restarts.
    """

    up: bool
    values: tuple[Hashable, ...]
    disk: tuple[Hashable, ...]
    ended: bool = False


Cost = Literal["", "crash", "wipe"]


@frozen
class Outcome:
    """What one step of a member leads to.

    `sent`: (addressee or None for all others, content) in order.  `cost`: the fault's
    budget it spends.  `effects`: how many effects were performed before the crash, or None.
    """

    after: LocalState
    sent: tuple[tuple[str | None, Hashable], ...] = ()
    recorded: tuple[Hashable, ...] = ()
    cost: Cost = ""
    effects: int | None = None
    rules: tuple[str, ...] = ()


@frozen
class Choice:
    """A step a member may take by itself; `fair`: weak fairness forces it."""

    event: Hashable
    fair: bool = True
    fault: bool = False


class Lifecycle(enum.Enum):
    """An event of the world itself.  No names to exchange in it: renaming leaves it alone."""

    START = "start"
    CRASH = "crash"
    WIPE = "wipe the disk"

    def __str__(self) -> str:
        return self.value


START, CRASH, WIPE = Lifecycle


@frozen
class Offline:
    """An event that reaches a stopped member's disk: the operator's tools."""

    event: Any


# -- events, frozen: what is in a Message or Offline is, and they themselves are not ------


def freeze_event(event: Any) -> Hashable:
    """Return an event as a hashable value."""
    if type(event) is Message:
        return Message(event.sender, freeze(event.content))
    return Offline(freeze(event.event)) if type(event) is Offline else freeze(event)


def thaw_event(event: Hashable, *, backwards: bool = False) -> Any:
    """Return an event as a member gets it."""
    if type(event) is Message:
        content = thaw(event.content, backwards=backwards)
        return event if content is event.content else Message(event.sender, content)
    if type(event) is Offline:
        return Offline(thaw(event.event, backwards=backwards))
    return thaw(event, backwards=backwards)


def rename_event(event: Hashable, names: dict[str, str]) -> Hashable:
    """Return a frozen event with members' names exchanged."""
    if type(event) is Message:
        return Message(names.get(event.sender, event.sender), rename(event.content, names))
    return Offline(rename(event.event, names)) if type(event) is Offline else rename(event, names)


ORDER = (
    "go through it in an order of your own, as sorted(...) does, or hold a list or an"
    " OrderedDict, whose order is part of the state"
)


class MemberCode:
    """A member's class at work on local states; `calls` counts calls of its methods.

    A question that is put a second time, to see whether the answer is the same, is not
    counted again.
    """

    def __init__(self, world: World, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.others = tuple(other for other in world.members if other != name)
        self.calls = 0
        # What it answered in another run, where somebody keeps that.
        self.known: Known | None = None
        self._make = make
        self._show = world.show
        self._show_disk = world.show_disk
        self._restarts = world.faults.restarts
        self._in_set = isinstance(world.network, MessageSet)
        self._in_order = isinstance(world.network, FifoLinks)
        self._has_joint_steps = world.together is not None
        self._begins_up = world.start == "up"
        fails = name not in world.faults.spared
        self._crash_points = fails and world.faults.crashes > 0
        self._wipes = fails and world.faults.wipes > 0
        fresh = self._guarded("making the member", make)
        self.kind = type(fresh)
        if not callable(getattr(fresh, "receive", None)):
            raise self._problem(f"{self.kind.__qualname__} has no method receive(event)")
        self.names = attributes(fresh)
        persistent = getattr(fresh, "persistent", ())
        if isinstance(persistent, str):
            raise self._problem(
                f"persistent is the text {persistent!r}", next=f"write ({persistent!r},)"
            )
        self.persistent = tuple(persistent)
        for item in self.persistent:
            if item not in self.names:
                raise self._problem(f"persistent names {item!r}, which is not an attribute")
        self._plain = not hasattr(fresh, "__dict__")
        self._has_choices = callable(getattr(fresh, "choices", None))
        self._has_start = callable(getattr(fresh, "start", None))
        self._has_shows = callable(getattr(fresh, "shows", None))
        self._has_story = callable(getattr(fresh, "story", None))
        self._has_horizon = callable(getattr(fresh, "horizon", None))
        self._has_offline = callable(getattr(fresh, "offline", None))
        made = self._values(fresh)
        self._empty = self._disk(fresh)
        self._repetition = Repetition()
        # What this code can reach beside the member: told by `Codes`, which knows all.
        self.reach = Shared([])
        self._shared = self._make_again(fresh, made)

    def _make_again(self, fresh: Any, made: tuple[Hashable, ...]) -> tuple[int, ...]:
        """Make another one; return which attributes hold the same container in both."""
        again = self._guarded("making the member", self._make)
        if again is fresh:
            raise self._problem(
                "making it gives the same object each time",
                next=f"make a new one each time: lambda: {self.kind.__qualname__}(...)",
                method="__init__",
            )
        found = between_values(self.names, made, self._values(again))
        if found:
            raise self._problem(
                f"{self.kind.__qualname__} is made twice, and {found}",
                next=NEXT,
                method="__init__",
            )
        held = [(getattr(fresh, name), getattr(again, name)) for name in self.names]
        return tuple(
            at
            for at, (one, other) in enumerate(held)
            if one is other and isinstance(one, (list, dict, set))
        )

    # -- objects and values ------------------------------------------------------------

    def _values(self, member: Any) -> tuple[Hashable, ...]:
        if not self._plain and (extra := set(attributes(member)) ^ set(self.names)):
            raise self._comes_or_goes(min(extra))
        return self._frozen(member, self.names)

    def _disk(self, member: Any) -> tuple[Hashable, ...]:
        return self._frozen(member, self.persistent)

    def _frozen(self, member: Any, names: tuple[str, ...]) -> tuple[Hashable, ...]:
        try:
            return freeze_all([getattr(member, name) for name in names])
        except (AttributeError, ModelProblem, RecursionError):
            for name in names:
                self._refuse_attribute(member, name)
            raise

    def _refuse_attribute(self, member: Any, name: str) -> None:
        try:
            freeze(getattr(member, name))
        except AttributeError as error:
            raise self._comes_or_goes(name) from error
        except ModelProblem as problem:
            raise self._problem(
                f"attribute {name!r}: {problem.message}", next=problem.next
            ) from problem
        except RecursionError as error:
            raise self._problem(
                f"attribute {name!r} holds itself, or is nested too deeply",
                next="hold flat values",
            ) from error

    def _object(self, values: tuple[Hashable, ...], *, backwards: bool = False) -> Any:
        member = object.__new__(self.kind)
        put = object.__setattr__
        for name, value in zip(self.names, thaw_all(values, backwards=backwards), strict=True):
            put(member, name, value)
        return member

    def _from_disk(self, disk: tuple[Hashable, ...], *, backwards: bool = False) -> Any:
        member = self._guarded("making the member", self._make)
        values = thaw_all(disk, backwards=backwards)
        for name, value in zip(self.persistent, values, strict=True):
            object.__setattr__(member, name, value)
        return member

    # -- questions -----------------------------------------------------------------------

    def choices(self, local: LocalState) -> tuple[Choice, ...]:
        """Return the steps the member may take by itself, the world's faults included."""
        found: tuple[Choice, ...] = self._once("choices", local)
        return found

    def run(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        """Return the outcomes of `event` in `local`, or None where it cannot happen.

        The first is the step itself; the others are crashes in the middle of it.
        """
        found: tuple[Outcome, ...] | None = self._once("step", (local, event))
        return found

    def shows(self, local: LocalState) -> Hashable:
        """Return what properties see of the running member, or `DOWN`, frozen."""
        found: Hashable = self._once("shown", local)
        return found

    def shows_disk(self, local: LocalState) -> Hashable:
        """Return what properties see of the disk, frozen; None where the world shows none."""
        found: Hashable = None if self._show_disk is None else self._once("disk", local)
        return found

    def horizon(self, local: LocalState) -> int:
        """Return how far the member has come, for messages that expire; 0 without the method."""
        return int(self._once("horizon", local)) if self._has_horizon else 0

    def _once(self, kind: str, question: Any) -> Any:
        if self.known is None:
            return self.answer(kind, question)
        return self.known.once(kind, question, lambda: self.answer(kind, question))

    def answer(self, kind: str, question: Any) -> Any:
        """Return what the member's code answers, whatever is known of it."""
        match kind:
            case "step":
                return self._stepped(*question)
            case "choices":
                return self._chosen(question)
            case "shown":
                return self._shown(question)
            case "disk":
                return self._shown_disk(question)
            case "horizon":
                return self._come_so_far(question)
        raise AssertionError(kind)

    # -- what can happen ---------------------------------------------------------------

    def before_start(self) -> LocalState:
        """Return the member as it lies on disk before anything happened."""
        return LocalState(False, (), self._empty)

    def begun(self, values: Mapping[str, Any]) -> tuple[LocalState, Outcome | None]:
        """Return the member where `values` are some of its attributes, and its first start.

        No start for one of a world that begins with its members down.
        """
        member = self._guarded("making the member", self._make)
        for name, value in values.items():
            if name not in self.names:
                raise self._problem(
                    f"a beginning sets {name!r}, which is not an attribute",
                    next="attributes are " + ", ".join(self.names),
                )
            if not self._begins_up and name not in self.persistent:
                raise self._problem(
                    f"a beginning sets {name!r}, not durable, of a member that begins down",
                    next="name it in persistent, or let members begin up",
                )
            frozen_value = self._value(value, f"the beginning's {name}")
            object.__setattr__(member, name, thaw(frozen_value))
        local = LocalState(False, (), self._disk(member))
        if not self._begins_up:
            return local, None
        effects = member.start if self._has_start else tuple
        outcomes = WATCH.over(
            f"member {self.name}: start()", lambda: self._perform(member, local, START, effects)
        )
        return local, outcomes[0] if outcomes else None

    def _chosen(self, local: LocalState) -> tuple[Choice, ...]:
        found: list[Choice] = []
        if not local.up:
            if not local.ended:
                found.append(Choice(START))
            if self._wipes and local.disk != self._empty:
                found.append(Choice(WIPE, fair=False, fault=True))
            return tuple(found)
        if self._has_choices:
            offered = self._offered(local)
            self._again("choices()", "", offered, lambda: self._offered(local), between_choices)
            found += offered
        if self._crash_points:
            found.append(Choice(CRASH, fair=False, fault=True))
        return tuple(found)

    def _offered(self, local: LocalState) -> list[Choice]:
        self.calls += 1
        member = self._object(local.values)

        def call() -> tuple[Any, ...]:
            answer = member.choices()
            if isinstance(answer, (str, bytes)):
                raise self._problem(
                    f"choices() returned the text {answer!r}",
                    next=f"return a list of events, [{answer!r}], or yield each",
                    method="choices",
                )
            return tuple(answer or ())

        found = []
        for item in self._guarded("choices()", call):
            whim = isinstance(item, Maybe)
            event = self._value(item.event if whim else item, "choices()", freeze_event)
            found.append(Choice(event, fair=not whim))
        return found

    def _stepped(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        calls = self.calls
        what = f"member {self.name}: {_method(event)}"
        outcomes: tuple[Outcome, ...] | None
        outcomes = WATCH.over(what, lambda: self._run(local, event))
        if self.calls != calls:
            if self._shared and local.up and outcomes:
                self._refuse_shared(local.values, outcomes[0].after.values)
            self._again(
                _method(event),
                _asked(event),
                outcomes,
                lambda: self._run(local, event),
                self._between,
            )
            self._refuse_order(local, event, outcomes)
        return outcomes

    def _run(
        self, local: LocalState, event: Hashable, *, backwards: bool = False
    ) -> tuple[Outcome, ...] | None:
        if isinstance(event, Lifecycle):
            if event is CRASH:
                return (Outcome(self._stopped(local.disk), cost="crash"),)
            if event is WIPE:
                return (Outcome(LocalState(False, (), self._empty, local.ended), cost="wipe"),)
            member = self._from_disk(local.disk, backwards=backwards)
            effects = member.start if self._has_start else tuple
            return self._perform(member, local, event, effects)
        given = thaw_event(event, backwards=backwards)
        if isinstance(event, Offline):
            return self._offline(local, given.event, backwards=backwards)
        if not local.up:
            return None
        member = self._object(local.values, backwards=backwards)
        return self._perform(member, local, event, lambda: member.receive(given))

    def _stopped(self, disk: tuple[Hashable, ...]) -> LocalState:
        return LocalState(False, (), disk, ended=not self._restarts)

    def _offline(
        self, local: LocalState, event: Any, *, backwards: bool
    ) -> tuple[Outcome, ...] | None:
        if local.up:
            return None
        if not self._has_offline:
            raise self._problem(f"{self.kind.__qualname__} has no method offline(event)")
        member = self._from_disk(local.disk, backwards=backwards)
        self.calls += 1
        rules: list[str] = []

        def call() -> bool:
            answer = member.offline(event)
            if answer is NOT_ENABLED:
                return False
            self._refuse_text(answer, "offline()")
            # Whatever it changed is durable at once; what remains to hear are its rules.
            rules.extend(item.label for item in answer or () if type(item) is Rule)
            return True

        if not self._guarded("offline()", call):
            return None
        self._values(member)  # refuses what cannot be part of a state
        after = LocalState(False, (), self._disk(member), local.ended)
        return (Outcome(after, rules=tuple(rules)),)

    def _perform(
        self, member: Any, local: LocalState, event: Hashable, call: Callable[[], Any]
    ) -> tuple[Outcome, ...] | None:
        self.calls += 1
        what = _method(event)
        sent: list[tuple[str | None, Hashable]] = []
        recorded: list[Hashable] = []
        rules: list[str] = []
        disk = local.disk
        # (effects performed, sent, recorded, disk) after each prefix: the crash points.
        points: list[tuple[int, int, int, tuple[Hashable, ...]]] = []
        done = 0
        answer: Any = None
        try:
            answer = call()
            if answer is NOT_ENABLED:
                return None
            if answer is not None:
                self._refuse_text(answer, what)
                if not isinstance(answer, Iterable):
                    raise self._problem(
                        f"{what} returned {answer!r}",
                        next="return effects, None or NOT_ENABLED; one effect in a list",
                        method=what,
                    )
                for effect in answer:
                    if type(effect) is Send:
                        sent.append(
                            (self._addressee(effect.to, what, answer), freeze(effect.content))
                        )
                    elif type(effect) is Broadcast:
                        sent.append((None, freeze(effect.content)))
                    elif type(effect) is Persist:
                        disk = self._disk(member)
                    elif type(effect) is Record:
                        recorded.append(freeze(effect.event))
                    elif type(effect) is Rule:
                        rules.append(effect.label)
                        continue
                    else:
                        raise self._problem(
                            f"{effect!r} is not an effect",
                            next="yield Send, Broadcast, Persist, Record or Rule",
                            method=what,
                            place=_place_of(answer),
                        )
                    done += 1
                    if self._crash_points:
                        points.append((done, len(sent), len(recorded), disk))
        except ModelProblem as problem:
            if problem.place:
                raise
            raise self._problem(
                f"in an effect: {problem.message}",
                next=problem.next,
                method=what,
                place=_place_of(answer),
            ) from problem
        except Exception as error:  # noqa: BLE001  told to the modeller, with its place
            self._raise(error, what)
        values = self._values(member)
        labels = tuple(rules)
        step = Outcome(LocalState(True, values, disk), tuple(sent), tuple(recorded), rules=labels)
        if not points:
            return (step,)
        outcomes = [step]
        # A crash right after the step leads to the state of this one.
        seen = {(disk, len(sent), len(recorded))}
        if not self._leaves_a_mark(event):
            seen.add((local.disk, 0, 0))  # and so does one right before it
        for done, sends, records, durable in points:
            if (durable, sends, records) not in seen:
                seen.add((durable, sends, records))
                outcomes.append(
                    Outcome(
                        self._stopped(durable),
                        tuple(sent[:sends]),
                        tuple(recorded[:records]),
                        "crash",
                        done,
                        labels,
                    )
                )
        return tuple(outcomes)

    def _leaves_a_mark(self, event: Hashable) -> bool:
        """Return whether a step of which nothing was done is still no crash before the step.

        The message is gone from its bag or queue; others took their part of a joint step; a
        member that was down could not crash.
        """
        if event is START or self._has_joint_steps:
            return True
        return type(event) is Message and not self._in_set

    def _addressee(self, name: str, what: str, answer: Any) -> str:
        if name != self.name and name not in self.others:
            raise self._problem(
                f"a message is sent to {name!r}, which is not a member",
                next="members are " + ", ".join((self.name, *self.others)),
                method=what,
                place=_place_of(answer),
            )
        return name

    def _refuse_text(self, answer: Any, what: str) -> None:
        # A text is iterable: it would be read letter by letter.
        if isinstance(answer, (str, bytes)):
            raise self._problem(
                f"{what} returned the text {answer!r}",
                next="return effects, None or NOT_ENABLED: [Broadcast(...)] sends it",
                method=what,
            )

    # -- asked again -------------------------------------------------------------------

    def _between(self, first: Sequence[Outcome] | None, second: Sequence[Outcome] | None) -> str:
        return between_outcomes(self.names, self.persistent, first, second)

    def _refuse_order(
        self, local: LocalState, event: Hashable, outcomes: tuple[Outcome, ...] | None
    ) -> None:
        """Refuse a step that depends on the order of a dict or set: no state knows it."""
        content = event.content if type(event) is Message else event
        held = local.values if local.up else local.disk
        if isinstance(event, Lifecycle) and event is not START:
            return
        if not (has_order(held) or has_order(getattr(content, "event", content))):
            return
        calls = self.calls
        try:
            others = self._run(local, event, backwards=True)
        finally:
            self.calls = calls
        if (outcomes or ())[:1] == (others or ())[:1]:
            return
        one, other = self._whatever_order(outcomes), self._whatever_order(others)
        if one != other:
            raise self._problem(
                f"{self.kind.__qualname__}.{_method(event)} depends on the order in which a dict"
                f" or a set is gone through{_asked(event)}: {self._between(one, other)}",
                next=ORDER,
                method=_method(event),
            )

    def _whatever_order(self, outcomes: tuple[Outcome, ...] | None) -> tuple[Outcome, ...]:
        """Return the step without its crashes, and with its messages in one order.

        Which of several messages leaves first is seen only at one and the same addressee, and
        only in queues.
        """
        found = []
        for outcome in outcomes[:1] if outcomes else ():
            is_seen = self._in_order and any(to is None for to, _ in outcome.sent)
            key = (lambda sent: sent[0]) if self._in_order else repr
            sent = outcome.sent if is_seen else tuple(sorted(outcome.sent, key=key))
            found.append(evolve(outcome, sent=sent))
        return tuple(found)

    def _again(
        self,
        method: str,
        about: str,
        first: Any,
        ask: Callable[[], Any],
        tell: Callable[[Any, Any], str],
    ) -> None:
        """Put a question again, if its turn has come, and keep it for the end."""
        if self._repetition.is_due():
            question = Question(method, about, first, ask, tell)
            self._repetition.keep(question)
            self._compare(question)

    def ask_again(self, *, as_at_first: bool = False) -> None:
        """Put the first questions once more; raises `ModelProblem` for another answer.

        `as_at_first`: shared objects get their first content back before each.
        """
        changed = self.reach.changed()
        for question in self._repetition.at_the_end():
            if as_at_first:
                self.reach.put_back()
            self._compare(question, changed)

    def _compare(self, question: Question, changed: Sequence[str] = ()) -> None:
        calls = self.calls
        try:
            second = question.ask()
            found = second != question.first
            differs = question.tell(question.first, second) if found else ""
        except ModelProblem as problem:
            differs = f"once it answers, the other time {problem.message}"
        finally:
            self.calls = calls
        if differs:
            shared = ", ".join(changed or self.reach.changed())
            because = f"; members share {shared}, and steps change it" if shared else ""
            # A world's own show(member) is no method of the class.
            own = "" if "(member)" in question.method else f"{self.kind.__qualname__}."
            raise self._problem(
                f"{own}{question.method} gives two answers{question.about}"
                f" in one and the same state: {differs}{because}",
                next=NEXT,
                method=question.method,
            )

    def _refuse_shared(self, before: tuple[Hashable, ...], after: tuple[Hashable, ...]) -> None:
        for at in self._shared:
            if before[at] != after[at]:
                raise self._problem(
                    f"attribute {self.names[at]!r} is changed by a step, and is one and the same"
                    f" object in every {self.kind.__qualname__} that is made",
                    next="make it anew in __init__; a default argument is made only once",
                    method="__init__",
                )

    # -- what it shows -----------------------------------------------------------------

    def _shown(self, local: LocalState) -> Hashable:
        if not local.up:
            return freeze(DOWN)
        if self._show is None and not self._has_shows:
            return _seen(self.names, local.values)
        what = "shows()" if self._show is None else "show(member)"

        def ask() -> Hashable:
            member, show = self._object(local.values), self._show
            call = member.shows if show is None else lambda: show(member)
            return self._value(self._guarded(what, call), what)

        shown = ask()
        self._again(what, "", shown, ask, between_shown)
        return shown

    def _come_so_far(self, local: LocalState) -> int:
        member = self._object(local.values) if local.up else self._from_disk(local.disk)
        return int(self._guarded("horizon()", member.horizon))

    def _shown_disk(self, local: LocalState) -> Hashable:
        show, seen = self._show_disk, thaw(_seen(self.persistent, local.disk))
        assert show is not None
        what = "show_disk(disk)"
        return self._value(self._guarded(what, lambda: show(seen)), what)

    def describe(self, local: LocalState) -> dict[str, str]:
        """Return the local state for a person: attribute to text; durable ones end in `*`.

        A member that has a method `story` says itself what its running state is called.
        """
        if not local.up:
            text: dict[str, str] = {"": "down"}
            text.update({f"{name}*": Told.of(value) for name, value in self.on_disk(local)})
            return text
        if self._has_story:
            story = self._guarded("story()", self._object(local.values).story)
            text = {name: Told.of(value) for name, value in story.items()}
        else:
            hidden = {"name", "me", "peers", "members", "others"}
            told = self.held(local)
            text = {name: Told.of(value) for name, value in told if name not in hidden}
        for name, kept in self.on_disk(local):
            text[f"{name}*"] = Told.of(kept)
        return text

    def held(self, local: LocalState) -> Iterator[tuple[str, Any]]:
        """Yield the running member's attributes, as the member has them."""
        return zip(self.names, thaw_all(local.values), strict=True)

    def on_disk(self, local: LocalState) -> Iterator[tuple[str, Any]]:
        """Yield the durable attributes, as the member had them."""
        return zip(self.persistent, thaw_all(local.disk), strict=True)

    # -- problems ----------------------------------------------------------------------

    def _guarded(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return WATCH.over(f"member {self.name}: {what}", call)
        except ModelProblem:
            raise
        except Exception as error:  # noqa: BLE001  told to the modeller, with its place
            self._raise(error, what)

    def _raise(self, error: Exception, what: str) -> NoReturn:
        raise ModelProblem(
            f"member {self.name}: {what} raised {type(error).__name__}: {error}",
            next="a member answers every event it can get; NOT_ENABLED where it has no such step",
            place=raised_at(error),
        ) from error

    def _comes_or_goes(self, name: str) -> ModelProblem:
        return self._problem(
            f"attribute {name!r} comes or goes while the member runs",
            next="set every attribute in __init__",
        )

    def _value(
        self, value: Any, what: str, frozen_by: Callable[[Any], Hashable] = freeze
    ) -> Hashable:
        try:
            return frozen_by(value)
        except ModelProblem as problem:
            raise self._problem(
                f"{what}: {problem.message}", next=problem.next, method=what
            ) from problem

    def _problem(
        self, message: str, *, next: str = "", method: str = "receive", place: str = ""
    ) -> ModelProblem:
        """Return the problem with `place`, else where `method` begins, else `receive`."""
        kind = getattr(self, "kind", None)
        for name in (method.removesuffix("()"), "receive"):
            code = getattr(getattr(kind, name, None), "__code__", None)
            # A method that attrs wrote stands in no file.
            if code is not None and not place and not code.co_filename.startswith("<"):
                place = f"{code.co_filename}:{code.co_firstlineno}"
        return ModelProblem(f"member {self.name}: {message}", next=next, place=place)


def _seen(names: tuple[str, ...], values: tuple[Hashable, ...]) -> Hashable:
    """Return `Seen`, frozen, of attributes that are."""
    return Frozen(Seen, (tuple(zip(names, values, strict=True)),))


def _method(event: Hashable) -> str:
    if event is START:
        return "start()"
    return "offline()" if isinstance(event, Offline) else "receive()"


def _asked(event: Hashable) -> str:
    if event is START:
        return ""
    given = thaw_event(event)
    return f" to {plain(given.event if isinstance(given, Offline) else given)!r}"


def between_choices(first: list[Choice], second: list[Choice]) -> str:
    """Return in words how what is offered differs."""
    one, other = [
        [plain(thaw_event(choice.event)) for choice in found] for found in (first, second)
    ]
    if one == other:
        return "an event is Maybe(...) once, the other time it is not"
    return between_shown(tuple(one), tuple(other))


def _place_of(answer: Any) -> str:
    """Return file:line of the `yield` at which a generator waits, or nothing."""
    place = ""
    # One generator may have handed over to another: the innermost yielded.
    while (frame := getattr(answer, "gi_frame", None)) is not None:
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        answer = answer.gi_yieldfrom
    return place


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
            monitor = MemberCode(_without_faults(world), "monitor", world.monitor)
        every = (*members, monitor) if monitor else members
        reach = Shared.by([code.kind for code in every])
        for code in every:
            code.reach = reach
        return cls(world, tuple(world.members), members, monitor, reach)

    @property
    def calls(self) -> int:
        return sum(code.calls for code in self._every)

    def beginnings(self) -> Iterator[tuple[tuple[LocalState, Outcome | None], ...]]:
        """Yield for each beginning of the world: every member before its start, and that start."""
        kept: dict[Any, tuple[LocalState, Outcome | None]] = {}

        def begun(code: MemberCode, values: Mapping[str, Any]) -> tuple[LocalState, Outcome | None]:
            if not values:
                local = code.before_start()
                if self.world.start == "down":
                    return local, None
                outcomes = code.run(local, START)
                assert outcomes
                return local, outcomes[0]
            key = code.name, freeze_all([*values, *values.values()])
            if key not in kept:
                kept[key] = code.begun(values)
            return kept[key]

        for one in self.world.beginnings or ({},):
            yield tuple(begun(code, one.get(code.name, {})) for code in self.members)

    def ask_again(self) -> None:
        """Put the first questions to every member once more, after a search.

        Raises `ModelProblem` where an answer is not what it was: then the search was one of
        answers that may as well have been others.
        """
        for code in self._every:
            code.ask_again()
        if self.reach.changed():
            for code in self._every:
                code.ask_again(as_at_first=True)

    @property
    def _every(self) -> tuple[MemberCode, ...]:
        return (*self.members, self.monitor) if self.monitor else self.members


def _without_faults(world: World) -> World:
    from models.faults import Faults

    return evolve(world, faults=Faults(), show=None, show_disk=None)
