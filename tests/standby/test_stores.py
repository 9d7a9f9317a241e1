"""The best store, catch-up of a queue, and the rules of replication.

Source: hot standby, H5, H6, H7, H9, H10; LM1 and LM2 of the document.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.standby.best import best
from joinproto.standby.broker import Mark, Store, Variant
from joinproto.standby.catch_up import SEQUENCE, Exchange, Message, Order, catch_up
from joinproto.standby.messages import View
from joinproto.standby.replicates import Default, Level, replicates


def store(name: str, generation: int, **more: object) -> Store:
    return Store(name=name, mark=Mark.DIRTY, generation=generation, **more)  # type: ignore[arg-type]


def messages(*told: str, begins: int = 1) -> list[Message]:
    return [Message(id=name, sequence=(begins + at) % SEQUENCE) for at, name in enumerate(told)]


# -- H10 ------------------------------------------------------------------------------------


def test_the_store_of_the_last_primary_is_the_best() -> None:
    """The youngest generation decides, not the number of messages."""
    found = best([store("a", 3, primary=True, position=900), store("b", 4, primary=True)])

    assert found.store is not None
    assert ("b", True) == (found.store.name, found.proven)


def test_the_best_store_is_proven_only_if_all_stores_were_seen() -> None:
    found = best([store("b", 4, primary=True)], missing=["c"])

    assert (False, ("c",)) == (found.proven, found.needs)


def test_without_the_last_primary_a_backup_with_all_messages_is_named_but_not_proven() -> None:
    """A confirmed message is in every backup that is up to date (H4), unless it was dropped."""
    stores = [store("b", 4, position=7), store("c", 4, position=9), store("d", 4, caught_up=False)]

    found = best(stores)

    assert found.store is not None
    assert ("c", False, "a backup with all messages") == (
        found.store.name,
        found.proven,
        found.case,
    )


@pytest.mark.parametrize(
    ("stores", "case"),
    [
        ([], "no store has data"),
        ([Store(name="a", mark=Mark.EMPTY)], "no store has data"),
        ([store("a", 4, primary=True), store("b", 4, primary=True)], "two primaries"),
        ([store("a", 4, caught_up=False), store("b", 3)], "only a broker that was catching up"),
    ],
)
def test_some_sets_of_stores_have_no_proven_best_store(stores: list[Store], case: str) -> None:
    found = best(stores)

    assert (False, case) == (found.proven, found.case)


def in_chain(generation: int, *members: str, number: int = 1) -> View:
    return View(generation=generation, number=number, primary=members[0], members=members)


def test_a_broker_promoted_in_the_chain_is_the_best_although_no_store_knows_of_it() -> None:
    """All died before a store had the promotion; the former primary is not in its view."""
    stores = [store("a", 3, primary=True, position=9), store("b", 3), store("c", 3)]

    assert "a" == chosen(stores, View())
    assert "b" == chosen(stores, in_chain(4, "b", "c"))
    assert best(stores, chain=in_chain(4, "b", "c")).proven
    assert not best(stores, ["d"], in_chain(4, "b", "c")).proven


def test_another_member_is_named_but_not_proven_if_the_primarys_store_was_not_seen() -> None:
    found = best([store("a", 3, primary=True), store("c", 3)], chain=in_chain(4, "b", "c"))

    assert found.store is not None
    assert ("c", False, ("b",)) == (found.store.name, found.proven, found.needs)
    assert best([store("a", 3, primary=True)], chain=in_chain(4, "b", "c")).store is None


def test_a_broker_that_the_chain_dropped_is_not_named_before_another_broker() -> None:
    """H4: the dropped broker's disk does not have the view that dropped it."""
    stores = [store("b", 3, position=9), store("c", 3, position=1)]

    assert "b" == chosen(stores, View())
    assert "c" == chosen(stores, in_chain(3, "a", "c", number=2))
    found = best(stores, chain=in_chain(3, "a", number=3))
    assert "only a broker that was catching up" == found.case


def chosen(stores: list[Store], chain: View) -> str:
    found = best(stores, chain=chain)
    assert found.store is not None
    return found.store.name


# -- H5, H6, H9 -----------------------------------------------------------------------------


def test_surplus_messages_are_removed_by_identity_and_missing_messages_sent_from_the_back() -> None:
    """H9 and H5: the same numbers may belong to other messages."""
    found = catch_up(Variant.OURS, messages("b", "x", "y"), messages("b", "c", "d"))

    assert (("c", "d"), ("y", "x"), ("b",)) == (found.drops, found.sends, found.keeps)
    assert ("x", "y") == catch_up(
        Variant.REAL, messages("b", "x", "y"), messages("b"), order=Order.FIFO
    ).sends


def test_by_number_a_backup_that_is_ahead_keeps_its_surplus_and_misses_messages() -> None:
    """LM1: the new primary is behind, so its new messages get numbers that the backup has."""
    found = catch_up(Variant.SEED, messages("a", "x"), messages("a", "b", "c"))

    assert ((), (), ("x",)) == (found.drops, found.sends, found.loses)
    assert "LM1" == found.rule


def test_a_number_that_wrapped_is_later() -> None:
    """LM2: numbers are compared within half of their range."""
    primary = messages("a", "b", begins=SEQUENCE - 1)

    found = catch_up(Variant.SEED, primary, primary[:1])

    assert ("b",) == found.sends


def test_another_queue_of_the_same_name_is_replaced() -> None:
    found = catch_up(Variant.REAL, messages("a"), messages("z"), same_queue=False)

    assert Exchange(True, ("z",), ("a",), (), (), "H6", found.why) == found


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(NAMES, NAMES, st.sampled_from([Variant.REAL, Variant.OURS]), st.sampled_from(Order))
def test_after_the_exchange_the_backup_has_all_messages_of_the_primary(
    primary: list[str], backup: list[str], variant: Variant, order: Order
) -> None:
    """H5: a queue is caught up when no earlier message is missing."""
    found = catch_up(variant, messages(*primary), messages(*backup), order=order)

    assert set(primary) == (set(backup) - set(found.drops)) | set(found.sends)
    assert () == found.loses


# -- H7 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "default", "more", "expected"),
    [
        (Variant.SEED, Default.ALL, {}, (Level.ALL, True)),
        (Variant.SEED, Default.ALL, {"message": False}, (Level.ALL, False)),
        (Variant.REAL, Default.ALL, {"message": False}, (Level.ALL, True)),
        (Variant.REAL, Default.CONFIGURATION, {}, (Level.CONFIGURATION, False)),
        (Variant.OURS, Default.NONE, {"queue": Level.ALL}, (Level.ALL, True)),
        (Variant.OURS, Default.ALL, {"queue": Level.NONE}, (Level.NONE, False)),
        (Variant.SEED, Default.DURABLE, {}, (Level.NONE, False)),
        (Variant.SEED, Default.DURABLE, {"durable_queue": True}, (Level.ALL, False)),
        (
            Variant.SEED,
            Default.DURABLE,
            {"durable_queue": True, "durable_message": True},
            (Level.ALL, True),
        ),
    ],
)
def test_the_most_specific_source_decides(
    variant: Variant, default: Default, more: dict[str, object], expected: tuple[Level, bool]
) -> None:
    """H7: the message, the queue, the default; in the real variant a message has no own setting."""
    found = replicates(variant, default, **more)  # type: ignore[arg-type]

    assert expected == (found.level, found.message)
