"""Repeated questions: they check that a member's code gives one answer to one question.

A member's step must depend only on its attributes and the event.  If it depends on chance, a clock
or a shared object, the table of answers holds one of several answers, and a search may report that
a false claim holds.  So questions are put again, on fresh objects:

* at once: each of a member's first `FIRST_MAX`, then one in `EVERY`, because calls of members' code
  cost the most time.  A step that gave the same answer with dicts and sets in reverse order counts
  as put again (`member_steps.py`);
* when the search is over: the first `KEPT_MAX` of each kind, because a shared object or a clock has
  changed by then.  If shared objects have changed, these questions are put a second time, with the
  objects' first content (`shared.py`).

Which questions are put again depends only on their order.  Chance that rarely matters, or a shared
object that `shared.py` does not see, can still go unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, frozen

from joinproto.check.freeze import thaw, thaw_all
from joinproto.check.problems import ModelProblem
from joinproto.check.shared import Shared

if TYPE_CHECKING:
    from joinproto.check.local import Outcome
    from joinproto.check.member_objects import MemberObjects

FIRST_MAX = 1000
"""This many questions to a member, from the first on, are all put again."""

EVERY = 17
"""Later, one question in this many is put again.  A prime, because questions come in a repeating
order, and each place in this order must be tested.
"""

KEPT_MAX = 50
"""This many questions of each kind are kept for the end of the search."""

ROUNDS_MAX = 8
"""If few questions are kept, each is put again up to this many times: chance may need tries."""

NEXT = (
    "use only the attributes and the event: no clock, no chance, no object that members"
    " or steps share (of a module, of a class, a default argument); offer what may happen"
    " either way as several events of choices()"
)


@frozen
class Question:
    """A question that was put to a member, and its first answer, `first`.

    `ask` puts it again; `tell` says how another answer differs; `about` names its subject, for a
    person.
    """

    method: str
    about: Callable[[], str]
    first: Any
    ask: Callable[[], Any]
    tell: Callable[[Any, Any], str]


@define
class AnswerChecker:
    """Puts questions to a member again; raises `ModelProblem` if an answer differs.

    `reach`: the objects that members' code can reach besides the members; set by `Codes`.
    """

    objects: MemberObjects
    reach: Shared = Factory(lambda: Shared([]))
    _asked: int = 0
    _kept: dict[str, list[Question]] = Factory(dict)

    def is_due(self) -> bool:
        """Count a question that was answered, and return whether `again` must put it once more."""
        self._asked += 1
        return self._asked <= FIRST_MAX or self._asked % EVERY == 0

    def again(self, question: Question, *, is_settled: bool = False) -> None:
        """Put a question again, and keep it for the end.

        `is_settled`: the question was already put again in another way, with the same answer.
        """
        kept = self._kept.setdefault(question.method, [])
        if len(kept) < KEPT_MAX:
            kept.append(question)
        if not is_settled:
            self.compare(question)

    def ask_again(self, *, as_at_first: bool = False) -> None:
        """Put the kept questions once more; raises `ModelProblem` if an answer differs.

        `as_at_first`: shared objects get their first content back before each question.
        """
        changed = self.reach.changed()
        kept = [question for questions in self._kept.values() for question in questions]
        rounds = max(1, min(ROUNDS_MAX, KEPT_MAX // max(1, len(kept))))
        for question in kept * rounds:
            if as_at_first:
                self.reach.put_back()
            self.compare(question, changed)

    def compare(self, question: Question, changed: Sequence[str] = ()) -> None:
        """Put a question; raises `ModelProblem` if the answer differs from the first."""
        calls = self.objects.calls
        try:
            second = question.ask()
            found = second != question.first
            differs = question.tell(question.first, second) if found else ""
        except ModelProblem as problem:
            differs = f"once it answers, the other time {problem.message}"
        finally:
            self.objects.calls = calls
        if differs:
            shared = ", ".join(changed or self.reach.changed())
            because = f"; members share {shared}, and steps change it" if shared else ""
            # A world's own show(member) is no method of the class.
            own = "" if "(member)" in question.method else f"{self.objects.kind.__qualname__}."
            raise self.objects.problem(
                f"{own}{question.method} gives two answers{question.about()}"
                f" in one and the same state: {differs}{because}",
                next=NEXT,
                method=question.method,
            )


# -- differences, in words ----------------------------------------------------------------


def between_outcomes(
    names: Sequence[str],
    persistent: Sequence[str],
    first: Sequence[Outcome] | None,
    second: Sequence[Outcome] | None,
) -> str:
    """Return a text that says how two answers to one event differ."""
    if not first or not second:
        return "once there is such a step, the other time it is NOT_ENABLED"
    one, other = first[0], second[0]
    found = between_values(names, one.after.values, other.after.values)
    if found:
        return found
    if one.sent != other.sent:
        return f"it sends {_messages(one.sent)} once, {_messages(other.sent)} the other time"
    if one.recorded != other.recorded:
        return f"it records {_said(one.recorded)} once, {_said(other.recorded)} the other time"
    if one.rules != other.rules:
        return f"it takes the rules {_said(one.rules)} once, {_said(other.rules)} the other time"
    found = between_values(persistent, one.after.disk, other.after.disk)
    if found:
        return f"on disk, {found}"
    return "a Persist() is at another place among the effects"


def between_values(
    names: Sequence[str],
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    when: tuple[str, str] = ("once", "the other time"),
) -> str:
    """Return the first attribute that differs, in words; "" if none differs."""
    said = zip(map(_text, thaw_all(first)), map(_text, thaw_all(second)), strict=False)
    for name, one, other, (text, other_text) in zip(names, first, second, said, strict=False):
        if one != other:
            return f"attribute {name!r} is {text} {when[0]}, {other_text} {when[1]}"
    return ""


def between_shown(first: Hashable, second: Hashable) -> str:
    """Return a text that says how two answers to the same question differ."""
    return f"{_said(first)} once, {_said(second)} the other time"


def _messages(sent: Sequence[tuple[str | None, Hashable]]) -> str:
    if not sent:
        return "no message"
    return ", ".join(f"{_said(content)} to {to or 'all'}" for to, content in sent)


def _said(value: Hashable) -> str:
    return _text(thaw(value))


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
