"""Every obligation is proved, for any number of members; each part of a layer is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.prove import show
from joinproto.prove.layer import Layer
from joinproto.prove.obligations import Kind, Obligation, discharge, obligations
from joinproto_claims.claims import LAYERS, claims, conjuncts, wanted
from tests.proofs import pins

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
"""The claims of the join protocol, section 4; the last one is of 3.6."""


def _about(layer: Layer, step: str | None = None) -> list[Obligation]:
    """Return the obligations of one step or of all steps, except *a step is possible*.

    Claims are first, because readers know them.
    """
    return [
        one
        for one in reversed([*obligations(layer)])
        if one.kind is not Kind.POSSIBLE
        and (step is None or (one.step is not None and one.step.name == step))
    ]


def test_the_protocol_has_all_its_claims() -> None:
    """These are the claims of section 4 that are proved for any number of members."""
    assert PROMISED <= set(claims())


@pytest.mark.parametrize("name", BY_NAME)
def test_every_obligation_is_proved(name: str) -> None:
    """The answer `unknown` is a failure, too."""
    found = [one.words for one in obligations(BY_NAME[name]) if not discharge(one).is_proved]

    assert [] == found


@pytest.mark.parametrize("name", conjuncts())
def test_every_conjunct_is_needed(name: str, rewrite: bool) -> None:
    """Without the conjunct an obligation fails, and the independent reader confirms that."""
    layer, _, conjunct = name.partition("/")

    pins.check(name, _about(BY_NAME[layer].without(conjunct)), rewrite=rewrite)


GUARDS = {
    f"{layer.name}/{step.name}/{guard.name}": (layer, step.name, guard.name)
    for layer in LAYERS
    for step in layer.steps
    for guard in step.guards
}


def test_the_docs_say_how_many_conjuncts_and_guards_are_needed() -> None:
    """The figures in docs/proofs.md are right."""
    page = Path(__file__).parents[2] / "docs" / "proofs.md"
    parts = sum(len(layer.conjuncts) for layer in LAYERS)
    guards = sum(len(step.guards) for layer in LAYERS for step in layer.steps)

    assert f"| {parts} conjuncts, {guards} guards, each needed |" in page.read_text()


@pytest.mark.parametrize("name", GUARDS)
def test_every_guard_is_needed(name: str, rewrite: bool) -> None:
    """Without the guard an obligation fails, and the independent reader confirms that."""
    layer, step, guard = GUARDS[name]

    pins.check(name, _about(layer.dropping(step, guard), step), rewrite=rewrite)


def test_each_conjunct_and_guard_has_one_pin(rewrite: bool) -> None:
    """There is one line for each conjunct and guard, sorted, and none for removed parts."""
    parts = {*conjuncts(), *GUARDS}
    table = pins.pins()
    if rewrite:
        table = {part: words for part, words in table.items() if part in parts}
        pins.FILE.write_text(pins.text_of(table), "utf-8")

    assert parts == set(table)
    assert pins.text_of(table) == pins.FILE.read_text("utf-8")


def test_a_pinned_obligation_that_no_longer_fails_is_reported_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the new line; with `--rewrite` it is written."""
    part = "register/vote/the view is proposed"
    layer, step, guard = GUARDS[part]
    candidates = _about(layer.dropping(step, guard), step)
    right = pins.pins()[part]
    wrong = next(one.words for one in candidates if discharge(one).is_proved)
    monkeypatch.setattr(pins, "FILE", tmp_path / "pins.toml")
    pins.FILE.write_text(pins.text_of({part: wrong}), "utf-8")

    with pytest.raises(pytest.fail.Exception, match=f'"{part}" = "{right}"'):
        pins.check(part, candidates, rewrite=False)
    pins.check(part, candidates, rewrite=True)

    assert {part: right} == pins.pins()


def test_a_part_that_no_obligation_needs_has_no_pin() -> None:
    """Here no part is left out, so no obligation fails."""
    with pytest.raises(AssertionError, match="is not needed"):
        pins.check("register/nothing", _about(REGISTER, "vote"), rewrite=True)


def test_a_claim_is_proved_with_its_whole_layer() -> None:
    """A claim is proved from the invariant, so the whole invariant is proved with it."""
    ((layer, selected),) = wanted("one_successor")

    found = list(obligations(layer, selected))

    assert ["one_successor"] == [one.name for one in selected]
    kept = {one.subject.name for one in found if one.subject is not None and one.step is not None}
    assert {one.name for one in layer.conjuncts} == kept


def test_a_counterexample_shows_only_relevant_facts() -> None:
    """It shows the conjunct that breaks, and no fact about lost disks."""
    cut = REGISTER.without("one_proposal")

    failed = next(found for one in _about(cut) if not (found := discharge(one)).is_proved)
    assert failed.against is not None
    text = "\n".join(show.lines(failed.obligation, failed.against))

    assert "is broken" in text
    assert "lost" not in text.replace("is lost", ""), text


def test_every_step_has_an_obligation_that_it_is_possible() -> None:
    """A step that can never be taken would make every claim about it empty."""
    for layer in LAYERS:
        asked = [one.step for one in obligations(layer) if one.kind is Kind.POSSIBLE]

        assert [None, *layer.steps] == asked


def test_an_impossible_step_is_noticed() -> None:
    """The test above can fail."""
    layer = REGISTER.without("one_proposal")
    step = layer.step("vote")
    impossible = Obligation(
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

    assert "fails" == discharge(impossible).result


def test_a_layer_is_selected_by_its_name() -> None:
    """Its name selects all claims of the layer, and no claim of another layer."""
    for layer in LAYERS:
        assert ((layer, layer.claims),) == wanted(layer.name)
