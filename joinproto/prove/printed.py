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
    """A counterexample: a state, and a step from it."""

    step: Annotated[str | None, "the step from the state; null: the state alone is wrong"]
    params: Annotated[Values, "the step's parameters"]
    before: Annotated[tuple[Fact, ...], "the relevant facts of the state before the step"]
    changed: Annotated[tuple[Fact, ...], "the facts that the step changes"]
    broken_by: Annotated[Values, "the elements for which the formula breaks"]
    confirmed: Annotated[bool, "whether the second, independent reader agrees"]


@frozen(kw_only=True)
class Obligation:
    """One obligation."""

    layer: Annotated[str, "the layer that it is about"]
    obligation: Annotated[str, "the obligation, in words"]
    kind: Annotated[str, "the kind of proof"]
    step: Annotated[str | None, "the step that it is about; null: a state"] = None
    subject: Annotated[str | None, "the conjunct or the claim; null: none"] = None
    result: Annotated[Answer, "the solver's answer"]
    seconds: Annotated[float, AtLeast(0), Digits(4), "CPU time of the query"]
    against: Annotated[
        Against | None, "a counterexample; only for the first obligation that fails"
    ] = None
    example: Annotated[
        str | None, Absent(), "only of tables: an example and a reason, or empty"
    ] = None
    second: Annotated[
        Answer | None, Absent(), "with --second: that solver's answer; absent: no solver is asked"
    ] = None


@frozen
class Rejected:
    """A step of the code that the relation does not have."""

    level: Annotated[Count, "the number of steps, with this one"]
    action: Annotated[str, "the step, in the world's words"]
    member: Annotated[str | None, "the member that takes it; null: no member"]
    message: Annotated[str, "the received message, or empty"]
    changes: Annotated[tuple[Fact, ...], "the facts that it changes"]
    run: Annotated[
        tuple[Annotated[str, "a step, in the world's words"], ...], "all steps up to this one"
    ]


@frozen(kw_only=True)
class Linked:
    """The comparison of one world with one layer."""

    world: Annotated[str, "its name"]
    layer: Annotated[str, "the layer that it is compared with"]
    result: Annotated[Literal["accepted", "rejected"], "whether the layer has all its steps"]
    steps: Annotated[Count, "distinct steps of the shipped code"]
    pictures: Annotated[Count, "different steps in the layer's words"]
    used: Annotated[
        Mapping[str, Annotated[Count, "times"]],
        "each step of the relation, and how often it was taken",
    ]
    unused: Annotated[tuple[str, ...], "steps of the relation that were never taken"]
    seconds: Annotated[Seconds, "CPU time"]
    rejected: Annotated[Rejected | None, "the first step that the relation does not make"]


@frozen
class Lemma:
    """Facts that hold together in no examined state."""

    never: Annotated[tuple[Fact, ...], "the facts"]
    settles: Annotated[bool, "whether the obligation is proved if this is assumed"]


@frozen
class Looked:
    """The search for a counterexample's state among the explored states."""

    world: Annotated[str | None, "the world in which the state occurs; null: none"]
    level: Annotated[Count | None, "the number of steps to it"]
    states: Annotated[Count, "the number of examined states"]
    lemmas: Annotated[tuple[Lemma, ...], "lemmas that would exclude the state"]


@frozen
class PrintedStep:
    """One step of a run."""

    step: Annotated[str, "its name"]
    params: Annotated[Values, "each parameter, and its value"]


@frozen(kw_only=True)
class Searched:
    """One bounded search."""

    world: Annotated[str, "its name"]
    about: Annotated[str, "the rule that is left out"]
    claim: Annotated[str, "the claim that a run must break"]
    is_as_expected: Annotated[
        bool, "whether the result is as expected: a run of some length, or none"
    ]
    steps: Annotated[Count | None, "the length of the shortest run; null: no run was found"]
    seconds: Annotated[Seconds, "CPU time"]
    run: Annotated[tuple[PrintedStep, ...], "its steps"]


@frozen(kw_only=True)
class Second:
    """The second solver, and the counts of its answers."""

    solver: Annotated[str, "its name and version"]
    cpu_seconds: Annotated[Seconds, "CPU time"]
    proved: Annotated[Count, "the number of proved obligations"]
    failed: Annotated[Count, "the number of obligations with a counterexample"]
    unknown: Annotated[Count, "the number of obligations on which it gave up"]


@frozen(kw_only=True)
class Proved:
    """`joinproto prove --json`"""

    result: Annotated[
        Literal["proved", "fails", "incomplete"],
        "of all obligations together; incomplete: ended by Ctrl-C",
    ]
    claim: Annotated[str | None, "the requested claim; null: all"]
    without: Annotated[str | None, "the conjunct that is left out; null: none"]
    solver: Annotated[str, "its name and version"]
    cpu_seconds: Annotated[Seconds, "CPU time"]
    proved: Annotated[Count, "the number of proved obligations"]
    failed: Annotated[Count, "the number of obligations that fail or are unknown"]
    obligations: Annotated[tuple[Obligation, ...], "in the order in which they are proved"]
    assumptions: Annotated[tuple[str, ...], "assumptions, which are not proved"]
    second: Annotated[Second | None, Absent(), "with --second: that solver's counts"] = None
    link: Annotated[
        tuple[Linked, ...] | None,
        Absent(),
        "with --link: the comparison of each world with each layer",
    ] = None
    lookup: Annotated[
        tuple[Looked, ...] | None,
        Absent(),
        "with --link, if an obligation fails: whether its state occurs",
    ] = None
    search: Annotated[
        tuple[Searched, ...] | None,
        Absent(),
        "with --search: the shortest runs that break a claim without a rule",
    ] = None
