"""Quick questions to the member of a world that is searched state by state.

`joinproto/check/member.py` puts the questions whose answers are not plain: see
`joinproto/check/direct.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from attrs import Factory, define, field

from joinproto.check.attributes import has_no_c_content
from joinproto.check.determinism import EVERY, NEXT
from joinproto.check.dropped import ITEMS_MAX
from joinproto.check.events import NOT_ENABLED
from joinproto.check.freeze import freeze, freeze_all, thaw, thaw_all
from joinproto.check.frozen import SAME, has_order
from joinproto.check.local import LocalState
from joinproto.check.member import MemberCode, frozen_observation
from joinproto.check.plain import NeedsOtherSearch
from joinproto.check.problems import ModelProblem
from joinproto.check.view import Seen
from joinproto.check.world import World

CHECKED_STATES = 500
"""In this many states, from the first on, `member.py` puts the questions."""

KEPT_MAX = 20_000
"""At most this many answers of `member.py` are kept, because it takes long to get them."""

Values = tuple[Hashable, ...]
Answers = list[tuple[Hashable, Values | None]]
"""Each event that the member offers, with the attributes after it; None if it is not enabled."""


_T = TypeVar("_T")


class _NotPlain(Exception):
    """An answer that only `member.py` understands."""


@define
class DirectMember:
    """The only member of a world.  `rules`: how often each case of a table was taken."""

    code: MemberCode
    show: Callable[[Any], Any] | None
    rules: dict[str, int] = Factory(dict)
    _asked: int = 0
    _states: int = 0
    _raised: list[ModelProblem] = Factory(list)
    _ask_plainly: Callable[[Values], Answers] = field(init=False)
    _after_of: Callable[[Any], Values] = field(init=False)
    _makes: Callable[[Values], Callable[[], Any]] = field(init=False)

    @classmethod
    def of(cls, world: World, code: MemberCode) -> DirectMember | None:
        """Return the member, or None if it has a disk, no attributes, or shared containers."""
        objects = code.objects
        if objects.persistent or objects.shares_class or not objects.names:
            return None
        return cls(code, world.show)

    def __attrs_post_init__(self) -> None:
        self._makes, self._after_of = _maker(self.code)
        self._ask_plainly = self._plain_asker()

    def raised(self, problem: ModelProblem) -> bool:
        """Return whether this object raised the problem, for two answers to one question."""
        return problem in self._raised

    def answers(self, values: Values) -> Answers:
        """Return all steps out of the state with these attributes, frozen."""
        self._states += 1
        return self._asked_of(values, self._ask_plainly, self._slowly)

    def _asked_of(
        self, values: Values, plainly: Callable[[Values], _T], slowly: Callable[[Values], _T]
    ) -> _T:
        """Return the answer of `plainly`, or of `slowly` if the answer is not plain.

        If the question raises an exception, it is put again by `slowly`, which reports the place.
        If it does not raise there, the member has given two answers.
        """
        if self._states <= CHECKED_STATES:
            return slowly(values)
        try:
            return plainly(values)
        except _NotPlain:
            return slowly(values)
        except Exception as error:  # any error that a member's code raises
            if isinstance(error, ModelProblem) and self.raised(error):
                raise
            found, wrong = slowly(values), error
        fault = f"raises {type(wrong).__name__}: {wrong} once, and answers the other time"
        what = "choices() or receive()" if plainly is self._ask_plainly else self.asks_to_show
        self._refuse_two(what, values, fault)
        return found

    def _slowly(self, values: Values) -> Answers:
        """Return all steps out of the state; `member.py` asks, which allows every answer."""
        local, found, code = LocalState(True, values, ()), Answers(), self.code
        # The first answers are kept for the time when the run to a state is looked for.
        is_kept = code.known is not None and code.known.new < KEPT_MAX
        ask = code.once if is_kept else code.answer
        for choice in ask("choices", local):
            outcomes = ask("step", (local, choice.event)) or ()
            if not outcomes:
                found.append((choice.event, None))
            for outcome in outcomes:
                if outcome.sent or outcome.recorded or outcome.cost or not outcome.after.up:
                    raise NeedsOtherSearch
                found.append((choice.event, outcome.after.values))
                for rule in outcome.rules:
                    self.rules[rule] = self.rules.get(rule, 0) + 1
        return found

    def _plain_asker(self) -> Callable[[Values], Answers]:
        """Return a function that returns all steps out of a state, if all answers are plain."""
        makes, after_of, objects = self._makes, self._after_of, self.code.objects
        has_choices, same = self.code._has_choices, SAME.issuperset

        def answers(values: Values) -> Answers:
            if not has_choices:
                return []
            if not same(map(type, values)) and any(map(has_order, values)):
                raise _NotPlain
            fresh = makes(values)
            member = fresh()
            offered = member.choices()
            if type(offered) is not list and type(offered) is not tuple:
                raise _NotPlain
            count = len(offered)
            if not same(map(type, offered)) or count > ITEMS_MAX or after_of(member) != values:
                raise _NotPlain
            objects.calls += 1 + count
            found: Answers = []
            for event in offered:
                member = fresh()
                answer = member.receive(event)
                after = after_of(member)
                if answer is None:
                    found.append((event, after))
                elif answer is NOT_ENABLED and after == values:
                    found.append((event, None))
                else:
                    raise _NotPlain
            # Which of these questions is put again next: 0 is choices(), 1 is the first event.
            due = EVERY - self._asked % EVERY - 1
            self._asked += 1 + count
            while due <= count:
                if due == 0:
                    if fresh().choices() != offered:
                        self._refuse_two("choices()", values)
                else:
                    event, first = found[due - 1]
                    member = fresh()
                    answer = member.receive(event)
                    again = after_of(member) if answer is None else None
                    if again != first or not (answer is None or answer is NOT_ENABLED):
                        self._refuse_two(f"receive() of {event!r}", values)
                due += EVERY
            return found

        return answers

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
        """Whether claims see the member's attributes, so that no two states show the same."""
        return self.show is None and not self.code._has_shows

    def shown(self, values: Values) -> Hashable:
        """Return the frozen observation of the member."""
        if self.shows_itself:
            return frozen_observation(self.code.objects.names, values)
        return self._asked_of(values, self._shown_plainly, self._shown_slowly)

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
        if SAME.issuperset(map(type, values)):
            return Seen(tuple(zip(names, values, strict=True)))
        return thaw(frozen_observation(names, values))


def _maker(
    code: MemberCode,
) -> tuple[Callable[[Values], Callable[[], Any]], Callable[[Any], Values]]:
    """Return two functions: one makes fresh objects from frozen attributes, the other returns the
    frozen attributes of an object, and raises if an attribute came or went.
    """
    objects, same = code.objects, SAME.issuperset
    kind, names, count, new = objects.kind, objects.names, len(objects.names), object.__new__
    values_of = objects.values_of
    has_slots = any(vars(base).get("__slots__") for base in kind.__mro__)
    # A class may change how attributes are set, even the whole __dict__.
    plain: Any = object
    is_watched = kind.__setattr__ is not plain.__setattr__
    if has_slots or is_watched or not kind.__dictoffset__ or not has_no_c_content(kind):
        return lambda values: partial(objects.running, values), objects.values

    def makes(values: Values) -> Callable[[], Any]:
        if not same(map(type, values)):
            return partial(objects.running, values)
        copied = dict(zip(names, values, strict=True)).copy

        def fresh() -> Any:
            member = new(kind)
            member.__dict__ = copied()
            return member

        return fresh

    def after_of(member: Any) -> Values:
        after: Values = values_of(member)
        if len(member.__dict__) != count:
            raise _NotPlain
        return after if same(map(type, after)) else freeze_all(after)

    return makes, after_of
