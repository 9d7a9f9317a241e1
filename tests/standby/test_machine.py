"""The machine of hot standby: a primary and its backups, and the rules that each keeps."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.errors import PeerError
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.catch_up import Message, Order
from joinproto.standby.events import (
    Demote,
    Draft,
    KeepView,
    Leave,
    More,
    New,
    Promote,
    Received,
    Serve,
    Start,
    Superseded,
    Tick,
    Turn,
    ViewWritten,
)
from joinproto.standby.messages import Changed, Copy, Has, Refuse, View, Wired, from_tree, to_tree
from joinproto.standby.primary_state import Keeper, PrimaryState
from joinproto.standby.promote import Peer
from joinproto.standby.queue import BLOCK, MessageQueue
from joinproto.standby.replica_state import with_queue
from joinproto.standby.replicates import Default, Level
from joinproto.standby.roles import machine
from joinproto.standby.tables import Verdict
from tests.standby.pair import Cluster, pair

SEED, REAL, OURS = Variant.SEED, Variant.REAL, Variant.OURS


# -- H1, H2, H3: roles -------------------------------------------------------------------------


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("keeper", Keeper)
def test_a_backup_connects_catches_up_and_is_a_backup(variant: Variant, keeper: Keeper) -> None:
    """H1."""
    cluster = Cluster.of("a", "b", variant=variant, keeper=keeper)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1")

    assert (Role.PRIMARY, Role.CONNECTING) == (cluster.role("a"), cluster.role("b"))
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    assert Role.CATCHUP is cluster.role("b")
    cluster.run()
    assert Role.BACKUP is cluster.role("b")
    assert ("m1",) == cluster.ids("b")
    assert ("a", "b") == cluster.members("a") == cluster.members("b")


def test_the_generation_is_on_disk_before_a_new_primary_serves() -> None:
    """H2."""
    cluster = pair()
    cluster.cut("a", "b")

    effects = cluster.do("b", Promote())

    kinds = [type(one) for one in effects]
    assert kinds.index(KeepView) < kinds.index(Serve)
    assert 2 == cluster.brokers["b"].view.generation


def test_a_broker_that_catches_up_is_not_promoted_even_after_its_link_is_lost() -> None:
    """H3, H8: it still lacks confirmed messages after the loss of the link."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    cluster.cut("a", "b")

    assert Role.CONNECTING is cluster.role("b")
    assert Verdict.REFUSED is cluster.promote("b").verdict


def test_the_documents_broker_forgets_that_it_was_catching_up() -> None:
    """The document: without a link it is connecting again, so it may be promoted."""
    cluster = Cluster.of("a", "b", variant=SEED, keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")

    def standing() -> Role:
        return cluster.brokers["b"].standing

    assert Role.CATCHUP is standing()
    cluster.cut("a", "b")

    assert Role.CONNECTING is standing()
    assert Verdict.ACCEPTED is cluster.promote("b").verdict
    assert ["m1"] != list(cluster.ids("b"))


def test_a_primary_that_hears_of_a_younger_generation_stops_serving() -> None:
    """H2: the primary was cut off and not fenced; now it stops serving, and follows."""
    cluster = pair()
    old = cluster.brokers["a"]
    cluster.cut("a", "b")
    cluster.promote("b")

    cluster.brokers["a"] = old
    effects = cluster.do("a", Superseded(cluster.brokers["b"].view))

    assert [Turn] == [type(one) for one in effects]
    assert Role.CONNECTING is cluster.role("a")
    cluster.link("a", "b")
    cluster.run()
    assert Role.BACKUP is cluster.role("a")


def test_the_first_message_of_a_backup_ends_an_old_primarys_service() -> None:
    """H2: a backup does not follow a primary that answers with an older generation, either."""
    cluster = pair()
    cluster.change("b", view=View(generation=2, primary="c"))
    wired = Wired(view=cluster.brokers["a"].view, things=(), events=0)
    cluster.link("b", "a")

    effects = cluster.do("b", Received("a", wired))
    assert [Leave] == [type(one) for one in effects]
    cluster.link("b", "a")
    cluster.run()
    assert (Role.CONNECTING, Role.CONNECTING) == (cluster.role("a"), cluster.role("b"))


def test_two_primaries_of_one_generation_do_not_take_each_others_backups() -> None:
    """H2: a manager outside has promoted two brokers."""
    cluster = Cluster.of("a", "b", "c", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.promote("b")
    cluster.link("c", "a")
    cluster.run()
    cluster.cut("c", "a")
    cluster.link("c", "b")
    cluster.run()

    assert Role.CONNECTING is cluster.role("c")


def test_a_demoted_primary_may_be_promoted_again() -> None:
    """A demotion loses no messages; a broker that is not primary ignores it."""
    cluster = pair()

    cluster.do("a", Demote())
    cluster.do("b", Demote())

    assert [Role.CONNECTING, Role.BACKUP] == [cluster.role("a"), cluster.role("b")]
    other = Peer(name="b", role=Role.BACKUP, generation=1)
    younger = evolve(other, role=Role.PRIMARY, generation=2)
    assert Verdict.REFUSED is cluster.promote("a", peers=(younger,)).verdict
    assert Verdict.ACCEPTED is cluster.promote("a", peers=(other,)).verdict
    assert 2 == cluster.brokers["a"].view.generation


def test_a_backup_leaves_a_primary_that_sends_a_backups_message() -> None:
    cluster = pair()

    effects = cluster.do("b", Received("a", Has(1)))

    assert [Leave] == [type(effect) for effect in effects]
    assert Role.CONNECTING is cluster.role("b")


def test_a_promotion_is_refused_if_the_managers_view_is_not_younger() -> None:
    """H2: the built-in manager has written the view before the promotion."""
    cluster = pair(keeper=Keeper.BUILT_IN)
    cluster.cut("a", "b")
    old = View(generation=1, number=9, primary="b", members=("b",))

    assert Verdict.REFUSED is cluster.promote("b", view=old).verdict
    assert Verdict.ACCEPTED is cluster.promote("b", view=evolve(old, generation=2)).verdict


def test_a_broker_can_stop_in_every_role_and_start_only_when_stopped() -> None:
    """H1."""
    for role in Role:
        assert machine().can(role, "stop")
        assert machine().can(role, "start") is (role is Role.STOPPED)


# -- H4: completion ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "transfer", "taken"),
    [(SEED, False, True), (REAL, False, True), (OURS, False, False)],
)
def test_transfers_and_acknowledgements_are_confirmed_once_the_backup_has_them(
    variant: Variant, transfer: bool, taken: bool
) -> None:
    """H4; LM4: by the document an acknowledgement is confirmed before the backup knows."""
    cluster = pair(variant)
    cluster.publish("a", "m1")
    cluster.run()

    one = cluster.publish("a", "m2")
    assert transfer is (one in cluster.confirmed)
    other = cluster.take("a", "m1")
    assert taken is (other in cluster.confirmed)
    cluster.run()
    assert {one, other} <= {*cluster.confirmed}


def test_a_durable_message_waits_for_our_own_store() -> None:
    """H4."""
    cluster = Cluster.of("a", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")

    before = len(cluster.confirmed)
    cluster.publish("a", "m1", durable=True)

    assert before + 1 == len(cluster.confirmed)
    written = [type(one).__name__ for one in cluster.said]
    assert written.index("Write") < len(written) - 1 - written[::-1].index("Confirm")


@pytest.mark.parametrize("keeper", Keeper)
def test_a_drop_is_written_down_before_the_next_confirmation(keeper: Keeper) -> None:
    """H4: otherwise a dropped broker could be promoted as if it were up to date."""
    cluster = pair(keeper=keeper)
    one = cluster.publish("a", "m1")
    cluster.holds_views = True

    cluster.cut("a", "b")
    assert one not in cluster.confirmed
    cluster.do("a", ViewWritten(cluster.views_wait[-1]))

    assert one in cluster.confirmed
    assert ("a",) == cluster.members("a")


def test_with_a_manager_outside_the_stores_of_the_remaining_members_have_the_view() -> None:
    """H4: only these brokers can be promoted."""
    cluster = Cluster.of("a", "b", "c", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    for name in "bc":
        cluster.link(name, "a")
    cluster.run()
    cluster.cut("a", "c")
    one = cluster.publish("a", "m1")

    cluster.pass_on("a", "b")  # the view
    assert one not in cluster.confirmed
    cluster.run()

    assert one in cluster.confirmed
    assert ("a", "b") == cluster.members("b")


def test_confirmations_do_not_wait_for_a_backup_that_catches_up() -> None:
    """H4, H5: once the older messages are sent, no message is confirmed without the backup."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1", "m2")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    cluster.pass_on("b", "a", 2)

    early = cluster.publish("a", "m3")
    assert early in cluster.confirmed
    cluster.do("a", More("b", "q", 9))
    late = cluster.publish("a", "m4")
    assert late not in cluster.confirmed
    cluster.run()
    assert late in cluster.confirmed
    assert ("m1", "m2", "m3", "m4") == cluster.ids("b")


def test_a_backup_has_caught_up_once_it_has_acknowledged_the_message_caught_up() -> None:
    """H5: the last messages before that may not be on the backup's disk yet."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    cluster.pass_on("b", "a", 2)

    def is_level() -> bool:
        side = cluster.brokers["a"].side
        assert isinstance(side, PrimaryState)
        return side.followers["b"].is_whole(("q",))

    cluster.do("a", More("b", "q", 9))
    cluster.pass_on("a", "b", len(cluster.links["a", "b"]) - 1)  # all messages but `CaughtUp`
    cluster.pass_on("b", "a", len(cluster.links["b", "a"]))

    assert not is_level()
    cluster.run()
    assert is_level()


# -- H5: catch-up ------------------------------------------------------------------------------


def copies(cluster: Cluster) -> list[str]:
    trees = [content for queue in cluster.links.values() for content in queue]
    found = [from_tree(tree) for tree in trees]
    return [m.id for one in found if isinstance(one, Copy) for m in one.messages]


@pytest.mark.parametrize(
    ("order", "first"), [(Order.LIFO, ["m3", "m2"]), (Order.FIFO, ["m1", "m2"])]
)
def test_older_messages_are_sent_from_the_back_or_with_fifo_from_the_front(
    order: Order, first: list[str]
) -> None:
    """H5: clients take from the front meanwhile, so the copy always comes to an end."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE, order=order)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1", "m2", "m3")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    cluster.pass_on("b", "a", 2)

    cluster.do("a", More("b", "q", 2))

    assert first == copies(cluster)
    cluster.run()
    assert ("m1", "m2", "m3") == cluster.ids("b")


def test_older_messages_that_clients_took_meanwhile_are_not_sent() -> None:
    """H5: active consumers reduce the work."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1", "m2")
    cluster.link("b", "a")
    cluster.pass_on("b", "a")
    cluster.pass_on("a", "b")
    cluster.pass_on("b", "a", 2)
    cluster.take("a", "m1", "m2")

    cluster.run()

    assert Role.BACKUP is cluster.role("b")
    assert [] == cluster.sent(Copy)


# -- H7: selection -----------------------------------------------------------------------------


def test_only_selected_messages_are_copied() -> None:
    """H7; LC5: the document's prototype copies all messages."""
    cluster = pair(default=Default.DURABLE)
    cluster.declare("a", "all", "2", says=Level.ALL)
    cluster.declare("a", "none", "3", says=Level.NONE)
    cluster.declare("a", "kept", "4", durable=True)
    cluster.run()
    for queue in ("all", "none", "kept"):
        cluster.publish("a", f"{queue}-1", queue=queue)
        cluster.publish("a", f"{queue}-2", queue=queue, durable=True)
    cluster.publish("a", "all-3", queue="all", replicate=False)
    cluster.run()

    assert {"all", "kept"} == {*cluster.brokers["b"].replica.queues}
    assert ("all-1", "all-2") == cluster.ids("b", "all")
    assert ("kept-2",) == cluster.ids("b", "kept")
    assert cluster.token in cluster.confirmed


def test_a_backup_with_another_default_level_is_refused() -> None:
    """H7: primary and backup must agree."""
    cluster = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.change("b", who=evolve(cluster.brokers["b"].who, default=Default.NONE))
    cluster.link("b", "a")
    cluster.run()

    assert Role.CONNECTING is cluster.role("b")
    assert ["H7"] == [refuse.rule for refuse in cluster.sent(Refuse)]


# -- H8: failover ------------------------------------------------------------------------------


def three(variant: Variant = OURS) -> Cluster:
    cluster = Cluster.of("a", "b", "c", variant=variant, keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    for name in "bc":
        cluster.link(name, "a")
    cluster.run()
    for name in "bc":
        cluster.cut("a", name)
    return cluster


@pytest.mark.parametrize(("variant", "at_once"), [(SEED, True), (REAL, False), (OURS, False)])
def test_a_new_primary_confirms_no_message_that_expected_backups_lack(
    variant: Variant, at_once: bool
) -> None:
    """H8; LM5: the document confirms before a backup has it."""
    cluster = three(variant)
    cluster.promote("b")
    one = cluster.publish("b", "m1")

    assert at_once is (one in cluster.confirmed)
    cluster.link("c", "b")
    cluster.run()
    assert one in cluster.confirmed
    assert (Role.PRIMARY, Role.BACKUP) == (cluster.role("b"), cluster.role("c"))


def test_a_new_primary_waits_for_expected_backups_until_a_deadline() -> None:
    """H8: then the primary writes a view without the backups that have no link."""
    cluster = three()
    cluster.promote("b", now=5.0, timeout=10.0)
    one = cluster.publish("b", "m1")

    cluster.do("b", Tick(14.9))
    assert (Role.RECOVERING, False) == (cluster.role("b"), one in cluster.confirmed)
    cluster.do("b", Tick(15.0))
    assert (Role.PRIMARY, True) == (cluster.role("b"), one in cluster.confirmed)
    assert ("b",) == cluster.members("b")


def test_an_expected_backup_stays_a_backup_while_it_catches_up_with_the_new_primary() -> None:
    """H8: it has all confirmed messages, and the new primary confirms none without it."""
    cluster = three()
    cluster.promote("b")
    cluster.link("c", "b")
    cluster.pass_on("c", "b")
    cluster.pass_on("b", "c")
    cluster.cut("b", "c")

    assert Verdict.ACCEPTED is cluster.promote("c").verdict


# -- H9: ahead ---------------------------------------------------------------------------------


def ahead(variant: Variant) -> Cluster:
    """Return three brokers: `c` has x of the dead primary, which the new primary `b` lacks."""
    cluster = Cluster.of("a", "b", "c", variant=variant, keeper=Keeper.OUTSIDE)
    cluster.promote("a")
    cluster.declare("a")
    for name in "bc":
        cluster.link(name, "a")
    cluster.run()
    cluster.publish("a", "x")
    cluster.pass_on("a", "c")
    for name in "bc":
        cluster.cut("a", name)
    cluster.promote("b")
    cluster.publish("b", "y")
    cluster.link("c", "b")
    cluster.run()
    return cluster


def test_a_backup_that_is_ahead_removes_its_surplus_messages() -> None:
    """H9: messages are compared by identity; y has the number that x had."""
    cluster = ahead(OURS)

    assert ("y",) == cluster.ids("b") == cluster.ids("c")


def test_by_number_the_surplus_stays_and_new_messages_are_missing() -> None:
    """LM1: by the document, messages with the same number count as the same."""
    cluster = ahead(SEED)

    assert ("x",) == cluster.ids("c")


def test_our_numbers_do_not_wrap_but_the_prototypes_do() -> None:
    """LM2: after half of all numbers, the prototype takes new messages for old ones."""
    lines = {}
    for variant in (SEED, OURS):
        cluster = pair(variant)
        cluster.publish("a", "m1")
        cluster.run()
        cluster.cut("a", "b")
        replica = cluster.brokers["a"].replica
        cluster.change(
            "a", replica=with_queue(replica, "q", evolve(replica.queues["q"], next=2**31 + 5))
        )
        cluster.publish("a", "m2")
        cluster.link("b", "a")
        cluster.run()
        lines[variant] = cluster.ids("b")

    assert {SEED: ("m1",), OURS: ("m1", "m2")} == lines


@pytest.mark.parametrize(("variant", "parts"), [(SEED, 3), (OURS, 1)])
def test_a_transaction_is_one_message_over_all_its_queues(variant: Variant, parts: int) -> None:
    """LM3."""
    cluster = pair(variant)
    cluster.declare("a", "r", "2")
    cluster.publish("a", "m1")
    cluster.run()
    first = cluster.brokers["a"].replica.queues["q"].messages.last
    assert first is not None
    cluster.commit(
        "a",
        Draft(queue="q", takes=(first,)),
        Draft(queue="r", puts=(New(id="m2"), New(id="m3"))),
    )

    sent = [from_tree(one) for one in cluster.links["a", "b"]]

    assert parts == sum(isinstance(one, Changed) for one in sent)
    cluster.run()
    assert ((), ("m2", "m3")) == (cluster.ids("b"), cluster.ids("b", "r"))


# -- H10 ---------------------------------------------------------------------------------------


def test_a_broker_with_a_dirty_store_refuses_a_promotion() -> None:
    """H10: the store is dirty until it is marked clean."""
    cluster = pair()
    view = cluster.brokers["b"].view
    for mark, verdict in ((Mark.DIRTY, Verdict.REFUSED), (Mark.CLEAN, Verdict.ACCEPTED)):
        cluster.brokers["b"] = evolve(cluster.brokers["b"], role=Role.STOPPED, side=None)
        cluster.do("b", Start(mark=mark, view=view))
        assert verdict is cluster.promote("b").verdict


# -- messages and lines ------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [None, [], ["x", {}], ["has", {}], ["has", {"number": "1"}]])
def test_bytes_that_are_no_message_are_refused(tree: Any) -> None:
    """The link ends, and the error says why."""
    with pytest.raises(PeerError):
        from_tree(tree)


def test_a_written_message_is_read_again() -> None:
    """In the tests above, all messages pass through JSON values; this message has all fields."""
    said = Copy(queue="q", messages=(Message(id="m", sequence=2**40, durable=True),))

    assert said == from_tree(to_tree(said))


def test_a_queue_of_many_blocks_behaves_like_a_list() -> None:
    """Messages are put, taken and split, at both ends and in the middle."""
    many = [Message(id=f"m{at}", sequence=at) for at in range(3 * BLOCK)]
    line = MessageQueue()
    for one in [*many[::2], *many[1::2]]:
        line = line.put(one)
    assert many == list(line)
    for one in many[5::3]:
        line = line.without(one)
    left = [one for one in many if one not in many[5::3]]
    assert left == list(line)
    rest, back = line.split(BLOCK + 3, back=True)
    assert tuple(reversed(left[-BLOCK - 3 :])) == back
    rest, front = rest.split(7, back=False)
    assert tuple(left[:7]) == front
    assert left[7 : -BLOCK - 3] == list(rest)
    assert (False, True) == (rest.has(left[0]), rest.has(left[8]))
    assert MessageQueue().at(0) is None
