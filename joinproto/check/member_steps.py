"""One step of a member: an event for its code, the effects, and every crash between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from attrs import evolve

from joinproto.check.determinism import AnswerChecker, Question, between_outcomes
from joinproto.check.dropped import (
    ITEMS_MAX,
    is_taken,
    refuse_text,
    require_effects,
    too_many,
    with_return,
    wrong_effect,
)
from joinproto.check.events import (
    NOT_ENABLED,
    Broadcast,
    Message,
    Persist,
    Record,
    Rule,
    Send,
    plain,
)
from joinproto.check.freeze import freeze
from joinproto.check.frozen import has_order
from joinproto.check.local import (
    CRASH,
    START,
    WIPE,
    DiskBecomes,
    Lifecycle,
    LocalState,
    Offline,
    Outcome,
    bare_event,
    thaw_event,
)
from joinproto.check.member_objects import MemberObjects
from joinproto.check.network import FifoLinks, MessageSet
from joinproto.check.problems import ModelProblem
from joinproto.check.watchdog import WATCH
from joinproto.check.world import World

ORDER = (
    "iterate over it in a fixed order, such as sorted(...) returns, or hold a list or an"
    " OrderedDict, whose order is part of the state"
)


class MemberSteps:
    """The steps of one member of `world`.  `crash_points`: whether it may crash, also in a step."""

    def __init__(self, world: World, objects: MemberObjects, checker: AnswerChecker) -> None:
        self.objects = objects
        self._checker = checker
        self._others = tuple(other for other in world.members if other != objects.name)
        # The addressee of a broadcast: None stands for all others.
        self.broadcasts_to: tuple[str | None, ...] = (None,)
        if isinstance(world.network, MessageSet) and world.network.broadcasts == "each":
            self.broadcasts_to = self._others
        self._restarts = world.faults.restarts
        self._in_set = isinstance(world.network, MessageSet)
        self._has_senders = getattr(world.network, "with_sender", True)
        self._in_order = isinstance(world.network, FifoLinks)
        self._has_joint_steps = world.together is not None
        self._has_monitor = world.monitor is not None
        self.crash_points = objects.name not in world.faults.spared and world.faults.crashes > 0

    def of(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        """Return the outcomes of `event` in `local`, or None; some questions are put twice."""
        calls = self.objects.calls
        what = f"member {self.objects.name}: {_method(event)}"
        outcomes: tuple[Outcome, ...] | None = WATCH.run(what, lambda: self._run(local, event))
        if self.objects.calls != calls:
            if local.up and outcomes:
                self.objects.refuse_shared(local.values, outcomes[0].after.values)
            self._ask_again(local, event, outcomes)
        return outcomes

    def first_start(self, make: Callable[[], Any], local: LocalState) -> Outcome | None:
        """Return the outcome of start() on a new object of `make` with the disk of `local`."""

        def ask() -> tuple[Outcome, ...] | None:
            member = make()
            return self._perform(member, local, START, self._start_of(member))

        outcomes = WATCH.run(f"member {self.objects.name}: start()", ask)
        if self._checker.is_due():
            self._checker.again(Question("start()", str, outcomes, ask, self._between))
        return outcomes[0] if outcomes else None

    def _start_of(self, member: Any) -> Callable[[], Any]:
        return member.start if self.objects.has("start") else tuple

    def _run(
        self, local: LocalState, event: Hashable, *, backwards: bool = False
    ) -> tuple[Outcome, ...] | None:
        if isinstance(event, Lifecycle):
            if event is CRASH:
                return (Outcome(self._stopped(local.disk), cost="crash"),)
            if event is WIPE:
                wiped = LocalState(False, (), self.objects.empty, local.ended)
                return (Outcome(wiped, cost="wipe"),)
            member = self.objects.stopped(local.disk, backwards=backwards)
            return self._perform(member, local, event, self._start_of(member))
        given = thaw_event(event, backwards=backwards)
        if isinstance(event, Offline):
            return self._offline(local, given.event, backwards=backwards)
        if not local.up:
            return None
        member = self.objects.running(local.values, backwards=backwards)
        return self._perform(member, local, event, lambda: member.receive(given))

    def _stopped(self, disk: tuple[Hashable, ...]) -> LocalState:
        return LocalState(False, (), disk, ended=not self._restarts)

    def _offline(
        self, local: LocalState, event: Any, *, backwards: bool
    ) -> tuple[Outcome, ...] | None:
        if local.up or isinstance(event, DiskBecomes):
            return None if local.up else self.objects.faulty_disk(local, event)
        if not self.objects.has("offline"):
            raise self.objects.problem(
                f"{self.objects.kind.__qualname__} has no method offline(event)"
            )
        member = self.objects.stopped(local.disk, backwards=backwards)
        self.objects.calls += 1
        rules: list[str] = []

        def call() -> bool:
            answer = member.offline(event)
            last: list[Any] = []
            if answer is not NOT_ENABLED:
                refuse_text(self.objects, answer, "offline()")
                # What it changed is durable at once, so only the rules among its effects matter.
                for item in with_return(answer or (), last):
                    if type(item) not in (Rule, Persist):
                        raise self.objects.problem(
                            f"offline() has the effect {item!r}, and a stopped member has none",
                            next="change durable attributes, and yield only Rule",
                            method="offline",
                        )
                    if type(item) is Rule:
                        rules.append(item.label)
                    if len(rules) > ITEMS_MAX:
                        raise too_many(self.objects, "offline()", "rules")
            return answer is not NOT_ENABLED and is_taken(self.objects, last, rules, "offline()")

        if not self.objects.guarded("offline()", call):
            if self.objects.disk(member) != local.disk:
                self._refuse_dropped(member, self._made(local), "offline()")
            return None
        self.objects.values(member)  # refuses values that cannot be part of a state
        after = LocalState(False, (), self.objects.disk(member), local.ended)
        return (Outcome(after, rules=tuple(rules)),)

    def _perform(
        self, member: Any, local: LocalState, event: Hashable, call: Callable[[], Any]
    ) -> tuple[Outcome, ...] | None:
        self.objects.calls += 1
        what = _method(event)
        sent: list[tuple[str | None, Hashable]] = []
        recorded: list[Hashable] = []
        rules: list[str] = []
        disk = local.disk
        # (effects performed, sent, recorded, disk) after each prefix: the crash points.
        points: list[tuple[int, int, int, tuple[Hashable, ...]]] = []
        done = 0
        answer: Any = None
        last: list[Any] = []
        try:
            answer = call()
            if answer is not None and answer is not NOT_ENABLED:
                require_effects(self.objects, answer, what)
                for effect in with_return(answer, last):
                    if done + len(rules) >= ITEMS_MAX:
                        raise too_many(self.objects, what, "effects")
                    if type(effect) is Send:
                        sent.append(
                            (self._addressee(effect.to, what, answer), freeze(effect.content))
                        )
                    elif type(effect) is Broadcast:
                        content = freeze(effect.content)
                        sent += [(to, content) for to in self.broadcasts_to]
                    elif type(effect) is Persist and self.objects.persistent:
                        disk = self.objects.disk(member)
                    elif type(effect) is Record and self._has_monitor:
                        recorded.append(freeze(effect.event))
                    elif type(effect) is Rule:
                        rules.append(effect.label)
                        continue
                    else:
                        found, wanted = wrong_effect(effect)
                        raise self.objects.problem(
                            found, next=wanted, method=what, place=_place_of(answer)
                        )
                    done += 1
                    if self.crash_points:
                        points.append((done, len(sent), len(recorded), disk))
            if answer is NOT_ENABLED or not is_taken(
                self.objects, last, [*points, *sent, *rules], what
            ):
                before = local.values if local.up else self._made(local)
                self._refuse_dropped(member, before, what)
                return None
        except ModelProblem as problem:
            if problem.place:
                raise
            raise self.objects.problem(
                f"in an effect: {problem.message}",
                next=problem.next,
                method=what,
                place=_place_of(answer),
            ) from problem
        except Exception as error:  # noqa: BLE001  reported to the modeller, with its place
            self.objects.raised(error, what, event_words(event))
        values = self.objects.values(member)
        labels = tuple(rules)
        step = Outcome(LocalState(True, values, disk), tuple(sent), tuple(recorded), rules=labels)
        # After the last effect the whole step is done.
        del points[-1:]
        if not points:
            return (step,)
        outcomes = [step]
        # Of several crashes that lead to one state, only the first is kept.  A crash before any
        # effect is the crash that is possible without the step.  A crash is kept even if the rest
        # of the step changes nothing outside: a crash after the whole step is a second step, and
        # claims see the running member in between.
        seen = set() if self._crash_counts_at_once(event) else {(local.disk, 0, 0)}
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

    def _made(self, local: LocalState) -> tuple[Hashable, ...]:
        return self.objects.values(self.objects.stopped(local.disk))

    def _refuse_dropped(self, member: Any, before: tuple[Hashable, ...], what: str) -> None:
        """Raise `ModelProblem` for a step that changed the member and then returned NOT_ENABLED."""
        self.objects.refuse_change(
            member,
            before,
            f"{what} returns NOT_ENABLED, and changes",
            "decide before the first change, or return None for a step that takes place",
            what,
        )

    def _crash_counts_at_once(self, event: Hashable) -> bool:
        """Return whether a crash before the first effect may differ from a crash before the step.

        It differs if the message has left its bag or queue, if other members have taken part in a
        joint step, or if the member was down, and so could not crash earlier.
        """
        if event is START or self._has_joint_steps:
            return True
        return type(event) is Message and not self._in_set

    def _addressee(self, name: str | None, what: str, answer: Any) -> str:
        if name != self.objects.name and name not in self._others:
            wanted = "members are " + ", ".join((self.objects.name, *self._others))
            if name is None:
                # The usual cause: the member answers a message that has no sender.
                wanted += "; Broadcast(...) is to all others"
                if not self._has_senders:
                    wanted += "; messages have no sender here, so name the addressee in the content"
            raise self.objects.problem(
                f"a message is sent to {name!r}, which is not a member",
                next=wanted,
                method=what,
                place=_place_of(answer),
            )
        return name

    # -- asked again -------------------------------------------------------------------

    def _between(self, first: Sequence[Outcome] | None, second: Sequence[Outcome] | None) -> str:
        return between_outcomes(self.objects.names, self.objects.persistent, first, second)

    def _ask_again(
        self, local: LocalState, event: Hashable, outcomes: tuple[Outcome, ...] | None
    ) -> None:
        """Put a step again; raise `ModelProblem` if the answer differs.

        A step with dicts or sets is asked with their items in reverse, because states do not hold
        the order.  That also counts as the repeated question.
        """
        is_due = self._checker.is_due()
        if not self._has_order(local, event):
            if is_due:
                self._checker.again(self._question(local, event, outcomes))
            return
        calls = self.objects.calls
        try:
            others = self._run(local, event, backwards=True)
        finally:
            self.objects.calls = calls
        is_same = outcomes == others
        if is_same and not is_due:
            return
        question = self._question(local, event, outcomes)
        if is_due:
            self._checker.again(question, is_settled=is_same)
        if is_same or (outcomes or ())[:1] == (others or ())[:1]:
            return
        one, other = (
            _without_order(found, in_order=self._in_order) for found in (outcomes, others)
        )
        if one != other:
            # Compared twice: if the answers alternate, one of two repetitions differs.
            self._checker.compare(question)
            self._checker.compare(question)
            method = f"{self.objects.kind.__qualname__}.{_method(event)}"
            raise self.objects.problem(
                f"the answer of {method}{_asked(event)} depends on the order in which a dict or a"
                f" set is iterated: {self._between(one, other)}",
                next=ORDER,
                method=_method(event),
            )

    def _question(
        self, local: LocalState, event: Hashable, outcomes: tuple[Outcome, ...] | None
    ) -> Question:
        return Question(
            _method(event),
            partial(_asked, event),
            outcomes,
            partial(self._run, local, event),
            self._between,
        )

    def _has_order(self, local: LocalState, event: Hashable) -> bool:
        """Return whether the member or the event holds a dict or a set of more than one item."""
        if isinstance(event, Lifecycle) and event is not START:
            return False
        content = event.content if type(event) is Message else event
        held = local.values if local.up else local.disk
        return has_order(held) or has_order(getattr(content, "event", content))


def _without_order(outcomes: tuple[Outcome, ...] | None, *, in_order: bool) -> tuple[Outcome, ...]:
    """Return the step without its crashes, and with messages sorted as far as order cannot matter.

    The order matters only in queues (`in_order`), among messages to one addressee.
    """
    found = []
    for outcome in outcomes[:1] if outcomes else ():
        is_seen = in_order and any(to is None for to, _ in outcome.sent)
        key = (lambda sent: sent[0]) if in_order else repr
        sent = outcome.sent if is_seen else tuple(sorted(outcome.sent, key=key))
        found.append(evolve(outcome, sent=sent))
    return tuple(found)


def _method(event: Hashable) -> str:
    if event is START:
        return "start()"
    return "offline()" if isinstance(event, Offline) else "receive()"


def _asked(event: Hashable) -> str:
    if event is START:
        return ""
    return f" to {plain(bare_event(event))!r}"


def event_words(event: Hashable) -> str:
    """Return the event as a problem names it; "" for a start, a crash or a wipe."""
    if isinstance(event, Lifecycle):
        return ""
    given = bare_event(event)
    return str(given) if type(given) is Message else repr(plain(given))


def _place_of(answer: Any) -> str:
    """Return file:line of the `yield` at which a generator waits, or ""."""
    place = ""
    # With `yield from`, the innermost generator has yielded.
    while (frame := getattr(answer, "gi_frame", None)) is not None:
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        answer = answer.gi_yieldfrom
    return place
