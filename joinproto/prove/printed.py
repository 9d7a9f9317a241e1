"""The classes that `joinproto prove --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from attrs import frozen

from joinproto.codec.json_form import Absent, AtLeast, Count, Digits, Seconds

Answer = Literal["proved", "fails", "unknown"]
Fact = Annotated[str, "a fact, in words"]
Values = Mapping[str, Annotated[str, "a value"]]


@frozen(kw_only=True)
class Against:
    """A state that speaks against it."""

    step: Annotated[str | None, "the step taken; null: the state alone"]
    params: Annotated[Values, "the step's parameters"]
    before: Annotated[tuple[Fact, ...], "what matters of the state before"]
    changed: Annotated[tuple[Fact, ...], "what the step changes"]
    broken_by: Annotated[Values, "the elements for which it breaks"]
    confirmed: Annotated[bool, "whether the second, independent reader agrees"]


@frozen(kw_only=True)
class Obligation:
    """One obligation."""

    layer: Annotated[str, "the relation it is about"]
    obligation: Annotated[str, "in words"]
    kind: Annotated[str, "what is to be shown"]
    step: Annotated[str | None, "the step it is about; null: a state"] = None
    subject: Annotated[str | None, "the conjunct or the claim; null: none"] = None
    result: Annotated[Answer, "what the solver says"]
    seconds: Annotated[float, AtLeast(0), Digits(4), "of the processor, for the query"]
    against: Annotated[Against | None, "a state against it: of the first that fails"] = None
    example: Annotated[
        str | None, Absent(), "of a table: what shows it, and why it is so, or empty"
    ] = None
    second: Annotated[
        Answer | None, Absent(), "with --second: what that solver says; absent: no solver is asked"
    ] = None


@frozen
class Rejected:
    """The step."""

    level: Annotated[Count, "how many steps lead there, itself included"]
    action: Annotated[str, "in the world's words"]
    member: Annotated[str | None, "the member that takes it"]
    message: Annotated[str, "what is received, or empty"]
    changes: Annotated[tuple[Fact, ...], "what it changes"]
    run: Annotated[
        tuple[Annotated[str, "a step, in the world's words"], ...], "all steps that lead there"
    ]


@frozen(kw_only=True)
class Linked:
    """One world in one layer's words."""

    world: Annotated[str, "its name"]
    layer: Annotated[str, "the relation it is held against"]
    result: Annotated[Literal["accepted", "rejected"], "of its steps"]
    steps: Annotated[Count, "distinct steps of the shipped code"]
    pictures: Annotated[Count, "different steps in the layer's words"]
    used: Annotated[Mapping[str, Annotated[Count, "times"]], "step of the relation to times"]
    unused: Annotated[tuple[str, ...], "steps of the relation never taken"]
    seconds: Annotated[Seconds, "of the processor"]
    rejected: Annotated[Rejected | None, "the first step that the relation does not make"]


@frozen
class Lemma:
    """Facts that hold together in no state looked at."""

    never: Annotated[tuple[Fact, ...], "the facts"]
    settles: Annotated[bool, "with it, the obligation is proved"]


@frozen
class Looked:
    """The state before the step."""

    world: Annotated[str | None, "where it is reachable; null: nowhere"]
    level: Annotated[Count | None, "after how many steps"]
    states: Annotated[Count, "looked at"]
    lemmas: Annotated[tuple[Lemma, ...], "what would exclude it"]


@frozen
class PrintedStep:
    """One step."""

    step: Annotated[str, "its name"]
    params: Annotated[Values, "parameter to value"]


@frozen(kw_only=True)
class Searched:
    """One bounded search."""

    world: Annotated[str, "its name"]
    about: Annotated[str, "what is left out"]
    claim: Annotated[str, "what is to break"]
    is_as_expected: Annotated[bool, "it broke after so many steps, or not at all"]
    steps: Annotated[Count | None, "of the shortest run; null: none was found"]
    seconds: Annotated[Seconds, "of the processor"]
    run: Annotated[tuple[PrintedStep, ...], "its steps"]


@frozen(kw_only=True)
class Second:
    """The second solver, of all obligations that a solver is asked."""

    solver: Annotated[str, "its name and version"]
    cpu_seconds: Annotated[Seconds, "of the processor"]
    proved: Annotated[Count, "obligations"]
    failed: Annotated[Count, "obligations: it found a state against them"]
    unknown: Annotated[Count, "obligations on which it gave up"]


@frozen(kw_only=True)
class Proved:
    """`joinproto prove --json`"""

    result: Annotated[
        Literal["proved", "fails", "incomplete"], "of all obligations together; incomplete: Ctrl-C"
    ]
    claim: Annotated[str | None, "the one asked for; null: all"]
    without: Annotated[str | None, "the conjunct left out; null: none"]
    solver: Annotated[str, "its name and version"]
    cpu_seconds: Annotated[Seconds, "of the processor"]
    proved: Annotated[Count, "obligations"]
    failed: Annotated[Count, "obligations that fail, or of which nothing is known"]
    obligations: Annotated[tuple[Obligation, ...], "in the order in which they are proved"]
    assumptions: Annotated[tuple[str, ...], "what is taken for granted, and not proved"]
    second: Annotated[Second | None, Absent(), "with --second: what that solver says"] = None
    link: Annotated[
        tuple[Linked, ...] | None,
        Absent(),
        "with --link: each world in the words of each layer",
    ] = None
    lookup: Annotated[
        tuple[Looked, ...] | None,
        Absent(),
        "with --link, where an obligation fails: whether its state occurs",
    ] = None
    search: Annotated[
        tuple[Searched, ...] | None,
        Absent(),
        "with --search: runs from the beginning, a rule left out",
    ] = None
