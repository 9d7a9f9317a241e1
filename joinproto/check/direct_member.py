"""Quick questions to the large member of a world that is searched state by state.

`joinproto/check/member.py` puts the questions whose answers are not plain: see
`joinproto/check/direct.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import islice
from types import GeneratorType
from typing import Any, TypeAlias, TypeVar

from attrs import Factory, define, field

from joinproto.check.attributes import has_no_c_content
from joinproto.check.determinism import EVERY, NEXT
from joinproto.check.dropped import ITEMS_MAX, with_return
from joinproto.check.events import EFFECTS, NOT_ENABLED, Broadcast, Maybe, Message, Rule, Send
from joinproto.check.freeze import freeze, freeze_all, is_fixed, thaw, thaw_all
from joinproto.check.freezing import CONST, recipe_of
from joinproto.check.frozen import FALSE, SAME, TRUE, Flag, has_order
from joinproto.check.local import LocalState, Offline, thaw_event
from joinproto.check.member import MemberCode, frozen_observation
from joinproto.check.plain import NeedsOtherSearch
from joinproto.check.problems import ModelProblem
from joinproto.check.view import ShownAttributes
from joinproto.check.world import World

CHECKED_STATES = 500
"""`member.py` puts the questions in the first states, this many."""

KEPT_MAX = 20_000
"""At most this many answers of `member.py` are kept, because it takes long to get them."""

Values = tuple[Hashable, ...]
Effects: TypeAlias = tuple[tuple[tuple[str | None, Hashable], ...], tuple[str, ...]]
"""The messages that a step sends, as in `Outcome.sent`, and the cases of tables that it takes."""
Answers = list[tuple[Hashable, Values | None, Effects | None]]
"""Each event that the member offers, with the attributes after it, None if it is not enabled, and
its effects, None if it has none.
"""
Heard: TypeAlias = tuple[Values | None, Effects | None]
"""The answer to a message: the last two parts of an item of `Answers`."""


FLAGS = {False: FALSE, True: TRUE}

_NO_PLAIN_EVENTS = (Maybe, Message, Offline, type(NOT_ENABLED), *EFFECTS)

_T = TypeVar("_T")


class _NotPlain(Exception):
    """An answer that only `member.py` understands."""


@define
class DirectMember:
    """The only member of a world, or its large one."""

    code: MemberCode
    show: Callable[[Any], Any] | None
    names: tuple[str, ...] = Factory(lambda self: (self.code.name,), takes_self=True)
    _asked: int = 0
    _states: int = 0
    _raised: list[ModelProblem] = Factory(list)
    _given: dict[Message, Message] = Factory(dict)
    _all: tuple[str | None, ...] = field(init=False)
    _plain: Callable[[Values], Answers] = field(init=False)
    _after_of: Callable[[Any], Values] = field(init=False)
    _makes: Callable[[Values], Callable[[], Any]] = field(init=False)

    @classmethod
    def of(cls, world: World, code: MemberCode) -> DirectMember | None:
        """Return the member; None if it has no attributes, or its steps may depend on more."""
        objects = code.objects
        if objects.persistent or objects.shares_class or not objects.names:
            return None
        return cls(code, world.show, tuple(world.members))

    def __attrs_post_init__(self) -> None:
        self._makes, self._after_of = _maker(self.code)
        self._all = self.code._steps.broadcasts_to
        self._plain = self._plainly()

    def raised(self, problem: ModelProblem) -> bool:
        """Return whether this object raised the problem, for two answers to one question."""
        return problem in self._raised

    def answers(self, values: Values) -> Answers:
        """Return all steps out of the state with these attributes, frozen."""
        self._states += 1
        return self._asked_of("choices() or receive()", values, self._plain, self._slowly)

    def heard(self, values: Values, event: Message) -> Heard:
        """Return the answer to a message, whose content is frozen, in the state with `values`."""
        plainly = partial(self._heard_plainly, event=event)
        slowly = partial(self._heard_slowly, event=event)
        return self._asked_of("receive()", values, plainly, slowly)

    def _asked_of(
        self,
        what: str,
        values: Values,
        plainly: Callable[[Values], _T],
        slowly: Callable[[Values], _T],
    ) -> _T:
        """Return the answer of `plainly`, or of `slowly` if the answer is not plain.

        `what`: the methods that are called.  If the question raises an exception, it is put again
        by `slowly`, which reports the place.  If it does not raise there, the member has given two
        answers.
        """
        if self._states <= CHECKED_STATES:
            return slowly(values)
        try:
            return plainly(values)
        except _NotPlain:
            return slowly(values)
        except Exception as error:  # whatever a member's code raises
            if isinstance(error, ModelProblem) and self.raised(error):
                raise
            found, wrong = slowly(values), error
        fault = f"raises {type(wrong).__name__}: {wrong} once, and answers the other time"
        self._refuse_two(what, values, fault)
        return found

    def _slowly(self, values: Values) -> Answers:
        """Return all steps out of the state; `member.py` asks, which allows every answer."""
        found = Answers()
        for choice in self._ask("choices", LocalState(True, values, ())):
            found.append((choice.event, *self._heard_slowly(values, choice.event)))
        return found

    def _heard_slowly(self, values: Values, event: Hashable) -> Heard:
        """Return the answer to one event; `member.py` asks."""
        outcomes = self._ask("step", (LocalState(True, values, ()), event))
        if not outcomes:
            return None, None
        (outcome,) = outcomes
        if outcome.recorded or outcome.cost or not outcome.after.up:
            raise NeedsOtherSearch
        effects = outcome.sent, outcome.rules
        return outcome.after.values, effects if any(effects) else None

    def _ask(self, kind: str, question: Any) -> Any:
        # The first answers are kept for the time when the run to a state is looked for.
        code = self.code
        is_kept = code.known is not None and code.known.new < KEPT_MAX
        return code.once(kind, question) if is_kept else code.answer(kind, question)

    def _plainly(self) -> Callable[[Values], Answers]:
        """Return a function that asks for all steps out of a state, where all answers are plain."""
        makes, after_of, objects = self._makes, self._after_of, self.code.objects
        has_choices, same, heard = self.code._has_choices, SAME.issuperset, self._plain_answer

        def answers(values: Values) -> Answers:
            if not has_choices:
                return []
            if not same(map(type, values)) and any(map(has_order, values)):
                raise _NotPlain
            fresh = makes(values)
            member = fresh()
            offered = _listed(member.choices())
            if after_of(member) != values:
                raise _NotPlain
            count = len(offered)
            events = offered if same(map(type, offered)) else [*map(_frozen_event, offered)]
            objects.calls += 1 + count
            found: Answers = []
            for event, given in zip(events, offered, strict=True):
                member = fresh()
                answer = member.receive(given)
                if answer is None:
                    found.append((event, after_of(member), None))
                else:
                    found.append((event, *heard(member, answer, values)))
            # Which of these questions is put again next: 0 is choices(), 1 is the first event.
            due = EVERY - self._asked % EVERY - 1
            self._asked += 1 + count
            while due <= count:
                if due == 0:
                    self._offer_again(fresh(), offered, values)
                else:
                    _, after, effects = found[due - 1]
                    self._hear_again(fresh(), offered[due - 1], values, (after, effects))
                due += EVERY
            return found

        return answers

    def _heard_plainly(self, values: Values, event: Message) -> Heard:
        """Return the answer to a message, if it is plain, and so are the message and the state."""
        given = self._given.get(event)
        if given is None:
            if not is_fixed(event.content) or has_order(event.content):
                raise _NotPlain
            given = self._given[event] = thaw_event(event)
        if not SAME.issuperset(map(type, values)) and any(map(has_order, values)):
            raise _NotPlain
        fresh = self._makes(values)
        member = fresh()
        found = self._plain_answer(member, member.receive(given), values)
        self.code.objects.calls += 1
        self._asked += 1
        if self._asked % EVERY == 0:
            self._hear_again(fresh(), given, values, found)
        return found

    def _plain_answer(self, member: Any, answer: Any, values: Values) -> Heard:
        """Return what follows from a step, if it is plain: `member` is the object after it.

        `answer`: the result of its `receive`.  `values`: the attributes before.
        """
        if answer is None:
            return self._after_of(member), None
        sent: list[tuple[str | None, Hashable]] = []
        rules: list[str] = []
        last: list[Any] = [answer]
        if answer is not NOT_ENABLED:
            if type(answer) not in (GeneratorType, list, tuple):
                raise _NotPlain
            last.clear()
            for effect in with_return(answer, last):
                if type(effect) is Send and effect.to in self.names:
                    sent.append((effect.to, freeze(effect.content)))
                elif type(effect) is Broadcast:
                    content = freeze(effect.content)
                    sent += [(to, content) for to in self._all]
                elif type(effect) is Rule:
                    rules.append(effect.label)
                else:
                    raise _NotPlain
                if len(sent) + len(rules) > ITEMS_MAX:
                    raise _NotPlain
        after = self._after_of(member)
        if last[0] is None:
            return after, (tuple(sent), tuple(rules)) if sent or rules else None
        if last[0] is NOT_ENABLED and not sent and not rules and after == values:
            return None, None
        raise _NotPlain

    def _offer_again(self, member: Any, offered: Sequence[Any], values: Values) -> None:
        """Call choices() again, on a fresh object; raises `ModelProblem` for another answer."""
        try:
            is_same = [*_listed(member.choices())] == [*offered]
        except _NotPlain:
            is_same = False
        if not is_same:
            self._refuse_two("choices()", values)

    def _hear_again(self, member: Any, event: Any, values: Values, first: Heard) -> None:
        """Put an event again, on a fresh object; raises `ModelProblem` for another answer."""
        try:
            is_same = self._plain_answer(member, member.receive(event), values) == first
        except _NotPlain:
            is_same = False
        if not is_same:
            self._refuse_two(f"receive() of {event!r}", values)

    def _refuse_two(self, method: str, values: Values, fault: str = "gives two answers") -> None:
        held = dict(zip(self.code.objects.names, thaw_all(values), strict=True))
        problem = self.code.objects.problem(
            f"{self.code.objects.kind.__qualname__}.{method} {fault} in one and the same state:"
            f" {held}",
            next=NEXT,
            method=method.partition("(")[0],
        )
        self._raised.append(problem)
        raise problem

    # -- observations ---------------------------------------------------------------------

    @property
    def shows_itself(self) -> bool:
        """Whether claims see its attributes, so that no two states show the same."""
        return self.show is None and not self.code._has_shows

    def shown(self, values: Values) -> Hashable:
        """Return the frozen observation of the member."""
        if self.shows_itself:
            return frozen_observation(self.code.objects.names, values)
        return self._asked_of(self.asks_to_show, values, self._shown_plainly, self._shown_slowly)

    @property
    def asks_to_show(self) -> str:
        """The name of the call that shows the member."""
        return "shows()" if self.show is None else "show(member)"

    def _shown_slowly(self, values: Values) -> Hashable:
        found: Hashable = self.code.answer("shown", LocalState(True, values, ()))
        return found

    def _shown_plainly(self, values: Values) -> Hashable:
        fresh = self._makes(values)
        member = fresh()
        shown = self._frozen_shown(member)
        if self._after_of(member) != values:
            raise _NotPlain
        self._asked += 1
        if self._asked % EVERY == 0 and self._frozen_shown(fresh()) != shown:
            self._refuse_two(self.asks_to_show, values)
        return shown

    def _frozen_shown(self, member: Any) -> Hashable:
        shown = member.shows() if self.show is None else self.show(member)
        return shown if type(shown) in SAME else freeze(shown)

    def seen(self, values: Values) -> Any:
        """Return the observation of a member that shows its attributes, as claims get it."""
        names = self.code.objects.names
        fixed = values if SAME.issuperset(map(type, values)) else fixed_values(values)
        if fixed is not None:
            return ShownAttributes(tuple(zip(names, fixed, strict=True)))
        return thaw(frozen_observation(names, values))


def _maker(
    code: MemberCode,
) -> tuple[Callable[[Values], Callable[[], Any]], Callable[[Any], Values]]:
    """Return two functions: one makes fresh objects from frozen attributes, the other returns the
    frozen attributes of an object, and raises if an attribute came or went.
    """
    objects, same, flags_too = code.objects, SAME.issuperset, (SAME | {bool}).issuperset
    kind, names, count, new = objects.kind, objects.names, len(objects.names), object.__new__
    values_of = objects.values_of
    has_slots = any(vars(base).get("__slots__") for base in kind.__mro__)
    # A class may change how attributes are set, even the whole __dict__.
    plain: Any = object
    is_watched = kind.__setattr__ is not plain.__setattr__
    if has_slots or is_watched or not kind.__dictoffset__ or not has_no_c_content(kind):
        return lambda values: partial(objects.running, values), objects.values

    def makes(values: Values) -> Callable[[], Any]:
        fixed = values if same(map(type, values)) else fixed_values(values)
        if fixed is None:
            return partial(objects.running, values)
        copied = dict(zip(names, fixed, strict=True)).copy

        def fresh() -> Any:
            member = new(kind)
            member.__dict__ = copied()
            return member

        return fresh

    def after_of(member: Any) -> Values:
        after: Values = values_of(member)
        if len(member.__dict__) != count:
            raise _NotPlain
        if same(map(type, after)):
            return after
        if flags_too(map(type, after)):
            return tuple([FLAGS[one] if type(one) is bool else one for one in after])
        return freeze_all(after)

    return makes, after_of


def _listed(offered: Any) -> Sequence[Any]:
    """Return the events that choices() offers, if they are a list, a tuple or of a generator."""
    last: list[Any] = [None]
    if type(offered) is GeneratorType:
        last.clear()
        offered = [*islice(with_return(offered, last), ITEMS_MAX + 1)]
    if type(offered) not in (list, tuple) or len(offered) > ITEMS_MAX or last != [None]:
        raise _NotPlain
    found: Sequence[Any] = offered
    return found


def _frozen_event(event: Any) -> Hashable:
    """Return an event frozen, if it is one that nothing can change."""
    if isinstance(event, _NO_PLAIN_EVENTS):
        raise _NotPlain
    found = freeze(event)
    if not is_fixed(found) or has_order(found):
        raise _NotPlain
    return found


def fixed_values(values: Values) -> tuple[Any, ...] | None:
    """Return the values that were frozen, None if one of them can change in place."""
    found = []
    for value in values:
        if type(value) in SAME:
            found.append(value)
        elif type(value) is Flag:
            found.append(value.value)
        else:
            how, whole = recipe_of(value, False)
            if how != CONST:
                return None
            found.append(whole)
    return tuple(found)
