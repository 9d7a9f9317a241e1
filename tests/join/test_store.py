"""Stores: clean and dirty are derived from the record, never written."""

from typing import Any

import pytest
from attrs import fields

from joinproto.codec.malformed import Malformed
from joinproto.join.lineage import Lineage
from joinproto.join.position import PositionOrder, compare_positions
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Position
from joinproto.machine.vocabulary import Store
from tests.join.pictures import lineage, position, views


def store(chain: str, at: str = "-", **others: Any) -> StoreRecord:
    """Return the record of a store that knows `chain` and has the frames up to `at`."""
    known = lineage(chain)
    return StoreRecord(store_id="s", lineage=known, position=position(at, chain), **others)


@pytest.mark.parametrize(
    ("chain", "at", "others", "state"),
    [
        ("", "-", {}, Store.EMPTY),
        ("F", "-", {}, Store.DIRTY),
        ("F C@F.5", "C.9", {}, Store.DIRTY),
        ("F X@F.5", "F.5", {}, Store.CLEAN),
        # An orderly shutdown may reach a member that is still being updated: it is not clean.
        ("F X@F.5", "F.4", {}, Store.DIRTY),
        ("F X@F.5", "F.6", {}, Store.DIRTY),
        ("F X@F.5", "F.5", {"update_unfinished": True}, Store.DIRTY),
        # Before the first client is served the store is dirty: its tip is the RESTART.
        ("F X@F.5 R@F.5", "F.5", {}, Store.DIRTY),
        # The store has learned of the CLOSE, but does not have its data.
        ("F C1@F.5 X@C1.6", "F.5", {}, Store.DIRTY),
        # The frame has the same number, but is in a tail that the cluster has dropped.
        ("F C1@F.5 X@C1.6", "F.6", {}, Store.DIRTY),
        # The cluster never had a frame.
        ("F X", "-", {}, Store.CLEAN),
        ("F X@F.5", "F.5", {"transient": True}, Store.NONE),
        ("", "-", {"transient": True}, Store.NONE),
    ],
)
def test_a_store_is_clean_if_the_cluster_was_closed_and_it_has_all_data(
    chain: str, at: str, others: dict[str, Any], state: Store
) -> None:
    """Clean: the tip is a CLOSE, the store's position is the tip's, and no update is unfinished."""
    assert state is store(chain, at, **others).state


def test_no_field_of_a_record_says_that_it_is_clean() -> None:
    """Clean is derived, never stored, so no crash can leave a store that falsely says it."""
    names = {field.name for field in fields(StoreRecord)}

    assert not names & {"state", "clean", "is_clean", "dirty"}


def test_learning_a_successor_voids_promise_acceptance_and_mark() -> None:
    """`promised` and `accepted` are about the tip's successor; a mark names the tip."""
    chain = views("F C@F.5")
    ballot = Ballot(3, "s")
    known = store(
        "F",
        "F.7",
        held=chain["F"].id,
        promised=ballot,
        accepted=Accepted(ballot, chain["C"]),
        mark=chain["F"].id,
    )

    learned = known.learn(known.lineage.append(chain["C"]))

    assert known.is_marked
    assert store("F C@F.5", "F.7", held=chain["F"].id) == learned
    assert not learned.is_marked


def test_learning_a_known_chain_changes_nothing() -> None:
    """A late message must not undo a promise."""
    known = store("F C", promised=Ballot(3, "s"))

    assert known is known.learn(lineage("F"))
    assert known is known.learn(lineage("F C"))


def test_a_store_does_not_learn_another_chain() -> None:
    """J3: wrong store, which is not overwritten."""
    with pytest.raises(Malformed, match="found foreign"):
        store("F1").learn(lineage("F2 C"))


def test_a_mark_counts_only_while_it_names_the_tip() -> None:
    """The operator's mark is void once its tip has a successor."""
    chain = views("F C")

    assert store("F C", mark=chain["C"].id).is_marked
    assert not store("F C", mark=chain["F"].id).is_marked
    assert not store("F C").is_marked


def test_later_ballots_are_larger_and_no_two_proposers_have_the_same() -> None:
    """Ballots are never reused, and carry the `store_id`."""
    assert Ballot(1, "b") < Ballot(2, "a") < Ballot(2, "b")
    assert Ballot(1, "a") != Ballot(1, "b")


@pytest.mark.parametrize(("number", "store"), [(0, "s"), (True, "s"), (1, ""), (1, None)])
def test_a_ballot_has_a_round_from_one_and_a_store(number: Any, store: Any) -> None:
    """3.3: without the store's id two members could use one ballot."""
    with pytest.raises(Malformed):
        Ballot(number, store)


CHAIN = views("F1 C@F1.5 X")
OTHER = views("F2 C")
ONE, TWO = Ballot(1, "s"), Ballot(2, "s")


@pytest.mark.parametrize(
    ("chain", "wrong", "message"),
    [
        ("F1", {"store_id": ""}, "store_id: found '', expected a text"),
        ("F1", {"lineage": None}, "lineage: found None, expected Lineage"),
        ("F1", {"held": OTHER["F2"].id}, "held: found .*, expected a view on this store's chain"),
        ("F1", {"mark": OTHER["F2"].id}, "mark: found .*, expected a view on this store's chain"),
        ("", {"held": CHAIN["F1"].id}, "held: found"),
        ("F1", {"position": Position(OTHER["F2"].id, 1)}, "position of a store: found a frame of"),
        ("", {"position": Position(CHAIN["F1"].id, 1)}, "position of a store: found a frame of"),
        ("F1 C@F1.5", {"position": Position(CHAIN["C"].id, 5)}, "seq: found 5, expected more than"),
        ("", {"update_unfinished": True}, "update_unfinished of an empty store"),
        ("F1", {"accepted": Accepted(ONE, CHAIN["C"])}, "promised: found None, expected"),
        ("F1", {"promised": ONE, "accepted": Accepted(TWO, CHAIN["C"])}, "promised: found Ballot"),
        ("F1", {"promised": ONE, "accepted": Accepted(ONE, OTHER["C"])}, "parent: found"),
        ("F1", {"promised": ONE, "accepted": Accepted(ONE, CHAIN["X"])}, "parent: found"),
        ("", {"promised": ONE, "accepted": Accepted(ONE, CHAIN["C"])}, "accepted: found CHANGE"),
        ("F1", {"promised": "x"}, "promised: found 'x', expected Ballot or None"),
        ("F1", {"accepted": "x"}, "accepted: found 'x', expected Accepted or None"),
        ("F1", {"transient": 1}, "transient: found 1, expected bool"),
        ("F1", {"update_unfinished": None}, "update_unfinished: found None, expected bool"),
        ("F1", {"position": "x"}, "position: found 'x', expected Position or None"),
    ],
)
def test_a_record_that_no_member_writes_cannot_be_made(
    chain: str, wrong: dict[str, Any], message: str
) -> None:
    """No member continues after a broken invariant."""
    values: dict[str, Any] = {"store_id": "s", "lineage": lineage(chain)} | wrong

    with pytest.raises(Malformed, match=message):
        StoreRecord(**values)


def test_a_founding_may_be_accepted_by_an_empty_store() -> None:
    """A FOUND has no parent, so it may follow an empty lineage."""
    record = StoreRecord(store_id="s", promised=TWO, accepted=Accepted(ONE, CHAIN["F1"]))

    assert Store.EMPTY is record.state


def test_a_forgotten_view_does_not_make_a_record_wrong() -> None:
    """A store that was last ready 1,000 views ago is still valid."""
    chain = views("F C1 C2 C3")

    record = StoreRecord(
        store_id="s",
        lineage=lineage("F C1 C2 C3", keep=1),
        held=chain["C1"].id,
        position=Position(chain["C1"].id, 2),
    )

    assert Store.DIRTY is record.state


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        (("F", "F.3"), ("F C@F.5", "C.6"), PositionOrder.BEHIND),
        (("F C@F.5", "F.5"), ("F", "F.5"), PositionOrder.EQUAL),
        (("F", "F.6"), ("F C@F.5", "C.6"), PositionOrder.INCOMPARABLE),
        (("F C1@F.5", "C1.6"), ("F C2@F.5", "C2.6"), PositionOrder.INCOMPARABLE),
        (("F C1@F.5", "C1.6"), ("F C2@F.5", "F.5"), PositionOrder.AHEAD),
        (("", "-"), ("F", "F.1"), PositionOrder.BEHIND),
        (("", "-"), ("", "-"), PositionOrder.EQUAL),
    ],
)
def test_stores_compare_by_their_data(
    one: tuple[str, str], other: tuple[str, str], order: PositionOrder
) -> None:
    """Two finished stores of one cluster at the same position hold the same frames."""
    here, there = store(*one), store(*other)

    assert order is compare_positions(here.position, there.position, (here.lineage, there.lineage))


def test_a_new_store_is_empty() -> None:
    assert Lineage() == StoreRecord(store_id="s").lineage
