"""The questions of a search to a policy, and the verdict on all answers together.

A policy knows only its question.  So if two states lead to the same question, it gives both the
same answer, and a founder is safe for a question only if it is safe in all states that lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated

from attrs import define, field, frozen

from joinproto.codec.json_form import Count
from joinproto.errors import JoinprotoError
from joinproto.recovery.found import Found
from joinproto.recovery.policy.question import ASKS, REFUSE, WAIT, Question

TRUTHS_MAX = 50
"""The most states that are kept for each question, to compare the policy's answers in them."""


@frozen(kw_only=True)
class StateQuestion:
    """A question in one state of the world.

    `found`: the stores in the question as the reader gives them, for policies in this process.
    `safe`: answers that lose nothing in this state.  `truth`: makes the same question with the
    stores of all nodes.  `blank`: makes the same question with an empty store for each unknown
    node.  `blank` is used only if the policy chose a node, and `truth` only if this choice is not
    safe, because either of two equally good stores may be chosen.
    """

    question: Question
    found: tuple[Found, ...]
    safe: frozenset[str] = frozenset()
    truth: Callable[[], StateQuestion] | None = None
    blank: Callable[[], StateQuestion] | None = None


@define
class AskedQuestion:
    """One question with its answer, for all states up to now that lead to it.

    `safe`: answers that are safe in all these states.  `truths`: for states in which the answer
    does harm, the question with all stores.
    """

    question: Question
    answer: str | None
    safe: frozenset[str]
    truths: dict[str, StateQuestion] = field(factory=dict)
    blank: Callable[[], StateQuestion] | None = None

    @property
    def chose_a_node(self) -> bool:
        return self.answer in self.question.nodes


Policy = Callable[[StateQuestion], str | None]


class Questioner:
    """Asks a policy each distinct question once, and caches the answers.

    `asks`: the kinds of question that the policy knows.  `failure`: the policy's error, which a
    search replaces by a text of its own.
    """

    def __init__(self, policy: Policy, asks: Collection[str] = ASKS) -> None:
        self.policy = policy
        self.asks = asks
        self.records: dict[str, AskedQuestion] = {}
        self.failure: JoinprotoError | None = None

    def answer(self, asked: StateQuestion) -> str | None:
        """Return the policy's answer; None if it does not know this kind of question."""
        if asked.question.ask not in self.asks:
            return None
        line = asked.question.line
        record = self.records.get(line)
        if record is None:
            try:
                answer = self.policy(asked)
            except JoinprotoError as error:
                self.failure = error
                raise
            record = AskedQuestion(asked.question, answer, asked.safe, blank=asked.blank)
            self.records[line] = record
        record.safe &= asked.safe
        does_harm = record.chose_a_node and record.answer not in asked.safe
        if asked.truth is not None and does_harm and len(record.truths) < TRUTHS_MAX:
            truth = asked.truth()
            record.truths[truth.question.line] = truth
        return record.answer


@frozen(kw_only=True)
class Answers:
    """The totals of a policy's answers."""

    questions: Annotated[Count, "distinct questions"]
    answers: Annotated[Mapping[str, int], "the number of questions, by kind and answer"]
    unknown_as_absent: Annotated[
        Count,
        "questions in which it chose a harmful founder, as if a silent node had an empty store, and"
        " would have chosen another node, or none, if that node had answered",
    ]
    example: Annotated[str | None, "the first such question; null: none"]
    too_careful: Annotated[
        Count | None,
        """questions in which it chose no founder, though one node is a safe founder in any case;
        null: not all states were searched""",
    ]
    careful_example: Annotated[str | None, "the first such question; null: none"]


def totals_of(asker: Questioner, *, is_whole: bool) -> Answers:
    """Return the totals of the questions.  `is_whole`: all states were searched."""
    counts: dict[str, int] = {}
    for record in asker.records.values():
        said = record.answer
        words = "no answer" if said is None else "a node" if record.chose_a_node else said
        key = f"{record.question.ask}: {words}"
        counts[key] = counts.get(key, 0) + 1
    blind = list(_unknown_as_absent(asker))
    careful = [line for line, record in asker.records.items() if _is_too_careful(record)]
    return Answers(
        questions=len(asker.records),
        answers=counts,
        unknown_as_absent=len(blind),
        example=blind[0] if blind else None,
        too_careful=len(careful) if is_whole else None,
        careful_example=careful[0] if careful and is_whole else None,
    )


def _unknown_as_absent(asker: Questioner) -> Iterator[str]:
    for line, record in asker.records.items():
        chosen = record.answer
        if record.blank is None or not record.chose_a_node:
            continue
        if asker.policy(record.blank()) == chosen and any(
            asker.policy(truth) != chosen for truth in record.truths.values()
        ):
            yield line


def _is_too_careful(record: AskedQuestion) -> bool:
    return (
        record.question.ask == "choose-founder"
        and record.answer in (None, WAIT, REFUSE)
        and bool(record.safe)
    )
