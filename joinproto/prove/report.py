"""The report about proofs, links and searches, as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.codec.json_form import filled
from joinproto.prove import printed, show
from joinproto.prove.bounded import STEPS_MAX, Searched
from joinproto.prove.link.lookup import Lookup
from joinproto.prove.link.run import Found
from joinproto.prove.obligations import Outcome
from joinproto.prove.opinions import Cvc5Questions


def outcome_told(
    outcome: Outcome, *, shown: bool, second: printed.Answer | None = None
) -> printed.Obligation:
    """Return one obligation for the JSON.  `shown`: with its counterexample.  `second`: the second
    solver's answer.
    """
    obligation, against = outcome.obligation, outcome.against if shown else None
    subject = obligation.subject
    return filled(
        printed.Obligation,
        outcome,
        layer=obligation.layer.name,
        obligation=obligation.words,
        kind=obligation.kind.value,
        step=None if obligation.step is None else obligation.step.name,
        subject=None if subject is None else subject.name,
        against=None if against is None else show.as_printed(obligation, against),
        second=second,
    )


def opinion_lines(cvc5: Cvc5Questions) -> Iterator[str]:
    """Yield lines with the second solver's answers, and the folder of the written questions."""
    told = cvc5.summary()
    if told is not None:
        asked = told.proved + told.failed + told.unknown
        says = f"proves all {asked:,}" if told.proved == asked else f"proves {told.proved:,}"
        says += f", finds a state against {told.failed:,}" if told.failed else ""
        says += f", gives up on {told.unknown:,}" if told.unknown else ""
        about = "of the obligations that a solver is asked"
        yield f"{told.solver} {says} {about}; {told.cpu_seconds:.1f} s of CPU"
    if cvc5.folder is not None:
        yield f"wrote {cvc5.written:,} obligations as SMT-LIB to {cvc5.folder}"


def link_lines(found: Found) -> Iterator[str]:
    """Yield the lines about one world in the words of one layer."""
    about = f"{found.world}, {found.layer.name}"
    counts = f"{found.steps:,} distinct steps of the code, {found.pictures:,} in these words"
    if found.rejected is None:
        yield f"accepted  {about}: {counts}; {found.seconds:.1f} s"
        if found.unused:
            yield f"          never taken there: {', '.join(found.unused)}"
        return
    rejected = found.rejected
    yield f"REJECTED  {about}: after {counts}"
    for at, action in enumerate(rejected.run, start=1):
        yield f"          step {at}: {action}"
    yield from (f"            {change}" for change in rejected.changes)
    yield "          no steps of the relation lead from the state before to this state"


def link_told(found: Found) -> printed.Linked:
    return filled(
        printed.Linked,
        found,
        layer=found.layer.name,
        result="accepted" if found.rejected is None else "rejected",
        used=dict(found.used),
    )


def lookup_lines(looked: Lookup) -> Iterator[str]:
    """Yield lines: whether the counterexample's state occurs, and lemmas that would exclude it."""
    if looked.reached is not None:
        world, level = looked.reached
        yield f"this state is reachable: in world {world}, in {level} steps; this is a bug"
        return
    yield f"this state is not among the {looked.states:,} explored states"
    for lemma in looked.lemmas:
        effect = ": if this is assumed, the obligation is proved" if lemma.settles else ""
        yield f"no explored state has all these facts{effect}"
        yield from (f"  {fact}" for fact in lemma.never)


def lookup_told(looked: Lookup) -> printed.Looked:
    world, level = (None, None) if looked.reached is None else looked.reached
    lemmas = (printed.Lemma(tuple(map(str, one.never)), one.settles) for one in looked.lemmas)
    return printed.Looked(world, level, looked.states, tuple(lemmas))


def search_lines(searched: Searched) -> Iterator[str]:
    """Yield lines about the result of a bounded search."""
    world, run = searched.world, searched.run
    word = "found   " if run is not None else "no run  "
    if not searched.is_as_expected:
        word = "FAILS   "
    steps = f"in up to {STEPS_MAX} steps" if run is None else f"in {len(run.steps)} steps"
    ends = f"{world.claim} {'holds' if run is None else 'breaks'} {steps}"
    yield f"{word} {searched.seconds:6.1f} s  {world.name}: {ends}"
    yield f"            {world.about}"
    for step, values in [] if run is None else run.steps:
        named = ", ".join(f"{var} = {value}" for var, value in values.items())
        yield f"            {step.name}: {named}"


def search_told(searched: Searched) -> printed.Searched:
    run = searched.run
    return filled(
        printed.Searched,
        searched,
        searched.world,
        world=searched.world.name,
        steps=None if run is None else len(run.steps),
        run=tuple(
            printed.PrintedStep(step.name, {str(var): str(one) for var, one in values.items()})
            for step, values in ([] if run is None else run.steps)
        ),
    )
