"""Wiring that is mirrored, and clients that look for the primary."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.standby.broker import Role, Variant
from joinproto.standby.clients import Entrance, admit
from joinproto.standby.events import Declare, Delete, Received
from joinproto.standby.messages import Deleted, Kind, Wired, WiringItem
from joinproto.standby.primary_state import Keeper
from joinproto.standby.replicates import Level
from tests.standby.pair import Cluster, pair

SEED, REAL, OURS = Variant.SEED, Variant.REAL, Variant.OURS


def thing(name: str, which: str, kind: Kind = Kind.QUEUE) -> WiringItem:
    return WiringItem(kind=kind, name=name, id=which)


def names(cluster: Cluster, broker: str) -> set[str]:
    return {name for _, name in cluster.brokers[broker].replica.things}


# -- H6 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "there"), [(SEED, False), (REAL, True), (OURS, True)])
def test_bindings_are_mirrored(variant: Variant, there: bool) -> None:
    """LC1: by the document, only queues and exchanges are mirrored."""
    cluster = pair(variant)
    for at, kind in enumerate((Kind.EXCHANGE, Kind.BINDING)):
        cluster.do("a", Declare(90 + at, thing(kind.value, "1", kind)))
    cluster.run()

    assert there is ("binding" in names(cluster, "b"))
    assert "exchange" in names(cluster, "b")


@pytest.mark.parametrize(("variant", "kept"), [(SEED, {"q", "r"}), (OURS, {"q"})])
def test_a_queue_that_was_deleted_while_a_backup_was_away_is_removed(
    variant: Variant, kept: set[str]
) -> None:
    """LC3: a queue that does not replicate stays, because it is the backup's own."""
    cluster = pair(variant)
    cluster.declare("a", "r", "2")
    cluster.run()
    cluster.cut("a", "b")
    cluster.do("a", Delete(99, thing("r", "2")))
    cluster.link("b", "a")
    cluster.run()

    assert kept == names(cluster, "b")


@pytest.mark.parametrize(("variant", "kept"), [(SEED, "1"), (OURS, "2")])
def test_another_queue_of_the_same_name_replaces_the_backups_queue(
    variant: Variant, kept: str
) -> None:
    """H6, LC4: the old queue's messages are removed with it."""
    cluster = pair(variant)
    cluster.publish("a", "m1")
    cluster.run()
    cluster.cut("a", "b")
    cluster.do("a", Delete(98, thing("q", "1")))
    cluster.declare("a", "q", "2")
    cluster.link("b", "a")
    cluster.run()

    assert kept == cluster.brokers["b"].replica.queues["q"].id


@pytest.mark.parametrize(("variant", "kept"), [(SEED, True), (OURS, False)])
def test_a_deletion_that_comes_before_the_wiring_is_not_lost(variant: Variant, kept: bool) -> None:
    """LC6: by the document the answer to the query and the events have no common order."""
    cluster = Cluster.of("a", "b", variant=variant, keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.link("b", "a")
    view = cluster.brokers["a"].view
    one = thing("q", "1")
    cluster.do("b", Received("a", Deleted(event=2, thing=one)))
    cluster.do("b", Received("a", Wired(view=view, things=(one,), events=1)))

    assert kept is ("q" in names(cluster, "b"))


def test_an_event_that_the_wiring_includes_is_not_done_again() -> None:
    """LC6: otherwise a queue that was declared again would lose its messages."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.link("b", "a")
    view = cluster.brokers["a"].view
    cluster.do("b", Received("a", Wired(view=view, things=(thing("q", "2"),), events=3)))
    cluster.do("b", Received("a", Deleted(event=2, thing=thing("q", "1"))))

    assert {"q"} == names(cluster, "b")


@pytest.mark.parametrize(("variant", "at_once"), [(SEED, True), (OURS, False)])
def test_a_declaration_is_confirmed_when_the_backups_have_it(
    variant: Variant, at_once: bool
) -> None:
    """LC2."""
    cluster = pair(variant)

    one = cluster.declare("a", "r", "2")

    assert at_once is (one in cluster.confirmed)
    cluster.run()
    assert one in cluster.confirmed


def test_messages_of_a_new_queue_are_confirmed_once_the_backups_have_them() -> None:
    """H4, H6: before the backup has asked for the queue, none of its messages is confirmed."""
    cluster = pair()
    cluster.declare("a", "r", "2")
    one = cluster.publish("a", "m1", queue="r")

    cluster.pass_on("a", "b")
    cluster.pass_on("b", "a")
    assert one not in cluster.confirmed
    cluster.run()

    assert one in cluster.confirmed
    assert ("m1",) == cluster.ids("b", "r")
    assert Role.BACKUP is cluster.role("b")


def test_a_deleted_queue_does_not_delay_other_confirmations() -> None:
    """H4: the messages of a deleted queue can no longer be lost."""
    cluster = pair()
    one = cluster.publish("a", "m1")
    cluster.do("a", Delete(99, thing("q", "1")))
    cluster.run()

    assert {one, 99} <= {*cluster.confirmed}
    assert set() == names(cluster, "b")


def test_a_queue_that_does_not_replicate_stays_where_it_is() -> None:
    """H6, H7."""
    cluster = pair()
    own = evolve(thing("own", "7"), says=Level.NONE)
    replica = cluster.brokers["b"].replica
    things = {**replica.things, own.key: evolve(own, level=Level.NONE)}
    cluster.change("b", replica=evolve(replica, things=things))
    cluster.cut("a", "b")
    cluster.link("b", "a")
    cluster.run()

    assert {"q", "own"} == names(cluster, "b")


# -- H11 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "primary", "found"),
    [
        (Role.PRIMARY, None, Entrance.ADMITTED),
        (Role.RECOVERING, None, Entrance.ADMITTED),
        (Role.STANDALONE, None, Entrance.ADMITTED),
        (Role.BACKUP, "a:1", Entrance.SENT_ON),
        (Role.CATCHUP, "a:1", Entrance.SENT_ON),
        (Role.CONNECTING, None, Entrance.REFUSED),
        (Role.STOPPED, None, Entrance.REFUSED),
    ],
)
def test_only_a_broker_that_serves_takes_clients(
    role: Role, primary: str | None, found: Entrance
) -> None:
    """H11: the other brokers name the primary, if they know it."""
    answer = admit(OURS, role, primary=primary)

    assert (found, primary) == (answer.entrance, answer.primary)


def test_administrators_and_brokers_may_enter_a_backup() -> None:
    """H11."""
    for who in ({"is_admin": True}, {"is_broker": True}):
        assert Entrance.ADMITTED is admit(OURS, Role.BACKUP, primary="a:1", **who).entrance


def test_the_documents_broker_does_not_name_the_primary() -> None:
    """Clients try the addresses in turn."""
    assert admit(SEED, Role.BACKUP, primary="a:1").primary is None
