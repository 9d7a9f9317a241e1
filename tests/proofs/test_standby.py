"""Hot standby, proved for any number of brokers, queues and messages, and compared with the
code.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.check.catalogue import load_world
from joinproto.machine.world import copied
from joinproto.prove.link.explore import Walk
from joinproto.prove.link.run import Found, link
from joinproto_claims.claims import wanted
from joinproto_claims.linked import WORLDS
from joinproto_claims.mappings.standby import StandbyMapping
from joinproto_claims.standby import LAYER
from joinproto_worlds.standby.claims import shown
from joinproto_worlds.standby.played import Played
from joinproto_worlds.standby.ports import Act
from joinproto_worlds.standby.scenes import SCENES, at_beginning
from joinproto_worlds.standby.story import Manager

LINKED = {one.world: one for one in WORLDS if one.layers == {"standby"}}

CLAIMS = {
    "one_primary_for_each_generation",
    "confirmed_is_in_every_backup_that_is_up_to_date",
    "promoting_loses_nothing",
}


def test_hot_standby_has_all_its_claims() -> None:
    """The claims are H2 to H4, with the built-in manager; `test_obligations.py` proves them."""
    assert CLAIMS == {one.name for one in LAYER.claims}
    assert ((LAYER, LAYER.claims),) == wanted("standby")


def _played(scene: str, *acts: str) -> Played:
    """Return the state after these acts, with an outside manager that does not fence."""
    played = copied(at_beginning(evolve(SCENES[scene].story, manager=Manager.UNFENCED)))
    for text in acts:
        name, _, verb = text.partition(" ")
        act = Act("hears", name, verb[-1]) if verb.startswith("hears ") else Act(verb, name)
        assert played.receive(act) is None
    return played


@pytest.mark.parametrize(
    ("scene", "acts"),
    [
        ("cut-off", ("a is cut off", "a is told what a client does", "b is promoted")),
        ("cut-off", ("b is promoted", "a is cut off", "a is told what a client does")),
        (
            "two-promoted",
            (
                "b is promoted",
                "b is told what a client does",
                "b waits no longer",
                "b dies",
                "c is promoted",
            ),
        ),
    ],
    ids=["not in the last view", "dropped after it", "of an older generation"],
)
def test_a_message_is_lost_if_an_outside_manager_breaks_a_guard(
    scene: str, acts: tuple[str, ...]
) -> None:
    """The guards belong to `promote` and `strike`; `test_obligations.py` shows that each is
    needed.
    """
    played = _played(scene, *acts)

    assert {0} == played.confirmed
    assert shown(played).lost


def test_a_former_primary_may_confirm_a_message_that_the_promoted_broker_has() -> None:
    """The promoted broker reported the message before, so it is not lost."""
    played = _played("cut-off", "a is told what a client does", "b hears a", "b is promoted")
    assert not played.confirmed

    played.receive(Act("hears", "a", "b"))

    assert {0} == played.confirmed
    assert not shown(played).lost


# -- compared with the code ---------------------------------------------------------------------


def _link(world: str, near: int, mutant: str | None = None) -> Found:
    (found,) = link(evolve(LINKED[world], near=near), mutant=mutant)
    return found


def test_steps_of_the_machine_are_steps_of_the_relation() -> None:
    """All but the four unused steps of the relation are taken."""
    found = _link("standby-start-built-in", 300)

    assert found.rejected is None
    assert 256 == found.steps
    assert ("promote", "give up", "strike", "forget") == found.unused


@pytest.mark.parametrize("world", LINKED)
def test_each_world_begins_in_a_state_of_the_invariant(world: str) -> None:
    """Steps before this state are not compared with the relation."""
    mapping = StandbyMapping(Walk(load_world(world)))
    (first,) = mapping.structures(mapping.picture(mapping.reference.initial(), None))

    assert [] == [one.name for one in LAYER.conjuncts if not first.holds(one.formula)]


@pytest.mark.parametrize(
    ("world", "mutant", "run", "change"),
    [
        (
            "standby-dropped-built-in",
            "drops-unrecorded",
            ("a is cut off", "a is told what a client does"),
            "x was confirmed in 1",
        ),
        (
            "standby-dropped-built-in",
            "transfers-at-once",
            ("a is told what a client does",),
            "x was confirmed in 1",
        ),
        (
            "standby-old-serves",
            "no-generations",
            ("b dies", "c connects to a", "a hears c", "c hears a"),
            "no longer: c knows of a younger generation than 1",
        ),
    ],
)
def test_a_mutant_is_rejected_with_its_run(
    world: str, mutant: str, run: tuple[str, ...], change: str
) -> None:
    """H2, H4: without a rule, the code makes a step that the relation does not have."""
    rejected = _link(world, 1_500, mutant).rejected

    assert rejected is not None
    assert change in rejected.changes
    assert run == rejected.run


@pytest.mark.soak("proofs")
def test_a_backup_that_counts_as_up_to_date_too_early_is_rejected() -> None:
    """H5: the primary confirms a message that this backup does not have."""
    rejected = _link("standby-dropped-built-in", 1_500, "level-at-once").rejected

    assert rejected is not None
    assert ("x was confirmed in 1",) == rejected.changes


@pytest.mark.soak("proofs")
def test_every_step_of_the_worlds_is_a_step_of_the_relation() -> None:
    """Each step of the relation is taken in a world."""
    found = [_link(one.world, one.near) for one in LINKED.values()]

    assert [] == [one.rejected for one in found if one.rejected is not None]
    assert sum(one.steps for one in found) > 19_000
    assert {step.name for step in LAYER.steps} == {step for one in found for step in one.used}
