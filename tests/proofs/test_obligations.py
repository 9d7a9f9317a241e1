"""Every obligation is proved, for any number of members; nothing in it is idle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs import show
from proofs.claims import LAYERS, claims, conjuncts, wanted
from proofs.layer import Layer
from proofs.obligations import Kind, Obligation, Outcome, discharge, obligations

BY_NAME = {layer.name: layer for layer in LAYERS}
REGISTER = BY_NAME["register"]

PROMISED = {
    "one_successor",
    "no_split_brain",
    "no_wrong_store",
    "no_stale_source",
    "nothing_lost",
    "waits_for_n",
    "options_agree",
    "dirty_before_serving",
    "signature_never_changes",
    "latest_is_latest",
    "stranger_never_votes",
}
"""What is to be proved, after the join protocol, section 4; the last one is 3.6."""


def failing(layer: Layer) -> Iterator[Outcome]:
    """Yield what fails, the claims first: they are what somebody would notice."""
    found = [one for one in obligations(layer) if one.kind is not Kind.POSSIBLE]
    for obligation in reversed(found):
        outcome = discharge(obligation, small=False)
        if not outcome.is_proved:
            yield outcome


def _refuted(layer: Layer, step: str) -> Outcome | None:
    """Return the first obligation about this step that fails."""
    for obligation in obligations(layer):
        is_about = obligation.step is not None and obligation.step.name == step
        if is_about and obligation.kind is not Kind.POSSIBLE:
            outcome = discharge(obligation, small=False)
            if not outcome.is_proved:
                return outcome
    return None


def test_the_claims_of_the_protocol_are_all_there() -> None:
    """Section 4: proved for any number of members."""
    assert PROMISED <= set(claims())


def test_every_obligation_of_the_register_is_proved() -> None:
    """3.3: no view has two chosen successors, whoever crashes or forgets."""
    assert [] == [one.words for one in obligations(REGISTER) if not discharge(one).is_proved]


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_every_obligation_is_proved(name: str) -> None:
    """Initiation, consecution, and that each claim follows; `unknown` would be a failure."""
    found = [one.words for one in obligations(BY_NAME[name]) if not discharge(one).is_proved]

    assert [] == found


@pytest.mark.slow
@pytest.mark.parametrize("name", conjuncts())
def test_every_conjunct_is_needed(name: str) -> None:
    """Left out, an obligation fails, and the independent reader sees it, too."""
    layer, _, conjunct = name.partition("/")

    outcome = next(failing(BY_NAME[layer].without(conjunct)), None)

    assert outcome is not None
    assert "fails" == outcome.result
    assert outcome.against is not None
    assert show.is_confirmed(outcome.obligation, outcome.against)


GUARDS = [
    pytest.param(layer, step.name, guard.name, id=f"{layer.name}-{step.name}-{guard.name}")
    for layer in LAYERS
    for step in layer.steps
    for guard in step.guards
]


def test_the_docs_say_how_many_are_needed() -> None:
    """docs/proofs.md, its figures."""
    page = Path(__file__).parents[2] / "docs" / "proofs.md"
    parts = sum(len(layer.conjuncts) for layer in LAYERS)
    guards = sum(len(step.guards) for layer in LAYERS for step in layer.steps)

    assert f"| {parts} conjuncts, {guards} guards, each needed |" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "step", "guard"), GUARDS)
def test_no_guard_can_be_dropped_in_silence(layer: Layer, step: str, guard: str) -> None:
    """A relation that allows more than the protocol is noticed: an obligation fails."""
    outcome = _refuted(layer.dropping(step, guard), step)

    assert outcome is not None
    assert "fails" == outcome.result


@pytest.mark.parametrize("guard", [guard.name for guard in REGISTER.step("vote").guards])
def test_a_vote_needs_each_of_its_guards(guard: str) -> None:
    """The quick one of the test above, for the step that matters most."""
    assert _refuted(REGISTER.dropping("vote", guard), "vote") is not None


def test_a_claim_brings_its_whole_layer() -> None:
    """A claim is proved from the invariant, so all of that is proved with it."""
    ((layer, those),) = wanted("one_successor")

    found = list(obligations(layer, those))

    assert ["one_successor"] == [one.name for one in those]
    kept = {one.subject.name for one in found if one.subject is not None and one.step is not None}
    assert {one.name for one in layer.conjuncts} == kept


def test_a_counterexample_says_only_what_matters() -> None:
    """Two states, the step between, and which conjunct breaks."""
    cut = REGISTER.without("one_proposal")

    outcome = next(failing(cut))
    assert outcome.against is not None
    small = discharge(outcome.obligation)
    assert small.against is not None
    told = "\n".join(show.lines(small.obligation, small.against))

    assert "is broken" in told
    assert "lost" not in told.replace("is lost", ""), told


def test_possible_is_asked_of_every_step() -> None:
    """A step that can never be taken would make every claim about it empty."""
    for layer in LAYERS:
        asked = [one.step for one in obligations(layer) if one.kind is Kind.POSSIBLE]

        assert [None, *layer.steps] == asked


def test_an_impossible_step_is_noticed() -> None:
    """The other side of the test above."""
    layer = REGISTER.without("one_proposal")
    step = layer.step("vote")
    lamed = Obligation(
        layer,
        Kind.POSSIBLE,
        type(step)(
            step.name,
            step.about,
            step.params,
            (*step.guards, type(step.guards[0])("never", ~step.guards[0].formula)),
            step.updates,
        ),
    )

    assert "fails" == discharge(lamed).result


def test_a_layer_may_be_asked_for_by_its_name() -> None:
    """All that it claims, and nothing of another layer."""
    for layer in LAYERS:
        assert ((layer, layer.claims),) == wanted(layer.name)
