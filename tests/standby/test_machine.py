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
    it = Cluster.of("a", "b", variant=variant, keeper=keeper)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1")

    assert (Role.PRIMARY, Role.CONNECTING) == (it.role("a"), it.role("b"))
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    assert Role.CATCHUP is it.role("b")
    it.run()
    assert Role.BACKUP is it.role("b")
    assert ("m1",) == it.ids("b")
    assert ("a", "b") == it.members("a") == it.members("b")


def test_the_generation_is_on_disk_before_a_new_primary_serves() -> None:
    """H2."""
    it = pair()
    it.cut("a", "b")

    effects = it.do("b", Promote())

    kinds = [type(one) for one in effects]
    assert kinds.index(KeepView) < kinds.index(Serve)
    assert 2 == it.brokers["b"].view.generation


def test_a_broker_that_catches_up_is_not_promoted_even_after_its_link_is_lost() -> None:
    """H3, H8: it still lacks confirmed messages after the loss of the link."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    it.cut("a", "b")

    assert Role.CONNECTING is it.role("b")
    assert Verdict.REFUSED is it.promote("b").verdict


def test_the_documents_broker_forgets_that_it_was_catching_up() -> None:
    """The document: without a link it is connecting again, so it may be promoted."""
    it = Cluster.of("a", "b", variant=SEED, keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")

    def standing() -> Role:
        return it.brokers["b"].standing

    assert Role.CATCHUP is standing()
    it.cut("a", "b")

    assert Role.CONNECTING is standing()
    assert Verdict.ACCEPTED is it.promote("b").verdict
    assert ["m1"] != list(it.ids("b"))


def test_a_primary_that_hears_of_a_younger_generation_stops_serving() -> None:
    """H2: the primary was cut off and not fenced; now it stops serving, and follows."""
    it = pair()
    old = it.brokers["a"]
    it.cut("a", "b")
    it.promote("b")

    it.brokers["a"] = old
    effects = it.do("a", Superseded(it.brokers["b"].view))

    assert [Turn] == [type(one) for one in effects]
    assert Role.CONNECTING is it.role("a")
    it.link("a", "b")
    it.run()
    assert Role.BACKUP is it.role("a")


def test_the_first_message_of_a_backup_ends_an_old_primarys_service() -> None:
    """H2: a backup does not follow a primary that answers with an older generation, either."""
    it = pair()
    it.change("b", view=View(generation=2, primary="c"))
    wired = Wired(view=it.brokers["a"].view, things=(), events=0)
    it.link("b", "a")

    effects = it.do("b", Received("a", wired))
    assert [Leave] == [type(one) for one in effects]
    it.link("b", "a")
    it.run()
    assert (Role.CONNECTING, Role.CONNECTING) == (it.role("a"), it.role("b"))


def test_two_primaries_of_one_generation_do_not_take_each_others_backups() -> None:
    """H2: a manager outside has promoted two brokers."""
    it = Cluster.of("a", "b", "c", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.promote("b")
    it.link("c", "a")
    it.run()
    it.cut("c", "a")
    it.link("c", "b")
    it.run()

    assert Role.CONNECTING is it.role("c")


def test_a_demoted_primary_may_be_promoted_again() -> None:
    """A demotion loses no messages; a broker that is not primary ignores it."""
    it = pair()

    it.do("a", Demote())
    it.do("b", Demote())

    assert [Role.CONNECTING, Role.BACKUP] == [it.role("a"), it.role("b")]
    other = Peer(name="b", role=Role.BACKUP, generation=1)
    younger = evolve(other, role=Role.PRIMARY, generation=2)
    assert Verdict.REFUSED is it.promote("a", peers=(younger,)).verdict
    assert Verdict.ACCEPTED is it.promote("a", peers=(other,)).verdict
    assert 2 == it.brokers["a"].view.generation


def test_a_backup_leaves_a_primary_that_sends_a_backups_message() -> None:
    it = pair()

    effects = it.do("b", Received("a", Has(1)))

    assert [Leave] == [type(effect) for effect in effects]
    assert Role.CONNECTING is it.role("b")


def test_a_promotion_is_refused_if_the_managers_view_is_not_younger() -> None:
    """H2: the built-in manager has written the view before the promotion."""
    it = pair(keeper=Keeper.BUILT_IN)
    it.cut("a", "b")
    old = View(generation=1, number=9, primary="b", members=("b",))

    assert Verdict.REFUSED is it.promote("b", view=old).verdict
    assert Verdict.ACCEPTED is it.promote("b", view=evolve(old, generation=2)).verdict


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
    it = pair(variant)
    it.publish("a", "m1")
    it.run()

    one = it.publish("a", "m2")
    assert transfer is (one in it.confirmed)
    other = it.take("a", "m1")
    assert taken is (other in it.confirmed)
    it.run()
    assert {one, other} <= {*it.confirmed}


def test_a_durable_message_waits_for_our_own_store() -> None:
    """H4."""
    it = Cluster.of("a", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")

    before = len(it.confirmed)
    it.publish("a", "m1", durable=True)

    assert before + 1 == len(it.confirmed)
    written = [type(one).__name__ for one in it.said]
    assert written.index("Write") < len(written) - 1 - written[::-1].index("Confirm")


@pytest.mark.parametrize("keeper", Keeper)
def test_a_drop_is_written_down_before_the_next_confirmation(keeper: Keeper) -> None:
    """H4: otherwise a dropped broker could be promoted as if it were up to date."""
    it = pair(keeper=keeper)
    one = it.publish("a", "m1")
    it.holds_views = True

    it.cut("a", "b")
    assert one not in it.confirmed
    it.do("a", ViewWritten(it.views_wait[-1]))

    assert one in it.confirmed
    assert ("a",) == it.members("a")


def test_with_a_manager_outside_the_stores_of_the_remaining_members_have_the_view() -> None:
    """H4: only these brokers can be promoted."""
    it = Cluster.of("a", "b", "c", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    for name in "bc":
        it.link(name, "a")
    it.run()
    it.cut("a", "c")
    one = it.publish("a", "m1")

    it.pass_on("a", "b")  # the view
    assert one not in it.confirmed
    it.run()

    assert one in it.confirmed
    assert ("a", "b") == it.members("b")


def test_confirmations_do_not_wait_for_a_backup_that_catches_up() -> None:
    """H4, H5: once the older messages are sent, no message is confirmed without the backup."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1", "m2")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    it.pass_on("b", "a", 2)

    early = it.publish("a", "m3")
    assert early in it.confirmed
    it.do("a", More("b", "q", 9))
    late = it.publish("a", "m4")
    assert late not in it.confirmed
    it.run()
    assert late in it.confirmed
    assert ("m1", "m2", "m3", "m4") == it.ids("b")


def test_a_backup_has_caught_up_once_it_has_acknowledged_the_message_caught_up() -> None:
    """H5: the last messages before that may not be on the backup's disk yet."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    it.pass_on("b", "a", 2)

    def is_level() -> bool:
        side = it.brokers["a"].side
        assert isinstance(side, PrimaryState)
        return side.followers["b"].is_whole(("q",))

    it.do("a", More("b", "q", 9))
    it.pass_on("a", "b", len(it.links["a", "b"]) - 1)  # all messages but `CaughtUp`
    it.pass_on("b", "a", len(it.links["b", "a"]))

    assert not is_level()
    it.run()
    assert is_level()


# -- H5: catch-up ------------------------------------------------------------------------------


def copies(it: Cluster) -> list[str]:
    trees = [content for queue in it.links.values() for content in queue]
    found = [from_tree(tree) for tree in trees]
    return [m.id for one in found if isinstance(one, Copy) for m in one.messages]


@pytest.mark.parametrize(
    ("order", "first"), [(Order.LIFO, ["m3", "m2"]), (Order.FIFO, ["m1", "m2"])]
)
def test_older_messages_are_sent_from_the_back_or_with_fifo_from_the_front(
    order: Order, first: list[str]
) -> None:
    """H5: clients take from the front meanwhile, so the copy always comes to an end."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE, order=order)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1", "m2", "m3")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    it.pass_on("b", "a", 2)

    it.do("a", More("b", "q", 2))

    assert first == copies(it)
    it.run()
    assert ("m1", "m2", "m3") == it.ids("b")


def test_older_messages_that_clients_took_meanwhile_are_not_sent() -> None:
    """H5: active consumers reduce the work."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1", "m2")
    it.link("b", "a")
    it.pass_on("b", "a")
    it.pass_on("a", "b")
    it.pass_on("b", "a", 2)
    it.take("a", "m1", "m2")

    it.run()

    assert Role.BACKUP is it.role("b")
    assert [] == it.sent(Copy)


# -- H7: selection -----------------------------------------------------------------------------


def test_only_selected_messages_are_copied() -> None:
    """H7; LC5: the document's prototype copies all messages."""
    it = pair(default=Default.DURABLE)
    it.declare("a", "all", "2", says=Level.ALL)
    it.declare("a", "none", "3", says=Level.NONE)
    it.declare("a", "kept", "4", durable=True)
    it.run()
    for queue in ("all", "none", "kept"):
        it.publish("a", f"{queue}-1", queue=queue)
        it.publish("a", f"{queue}-2", queue=queue, durable=True)
    it.publish("a", "all-3", queue="all", replicate=False)
    it.run()

    assert {"all", "kept"} == {*it.brokers["b"].replica.queues}
    assert ("all-1", "all-2") == it.ids("b", "all")
    assert ("kept-2",) == it.ids("b", "kept")
    assert it.token in it.confirmed


def test_a_backup_with_another_default_level_is_refused() -> None:
    """H7: primary and backup must agree."""
    it = Cluster.of("a", "b", keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.change("b", who=evolve(it.brokers["b"].who, default=Default.NONE))
    it.link("b", "a")
    it.run()

    assert Role.CONNECTING is it.role("b")
    assert ["H7"] == [refuse.rule for refuse in it.sent(Refuse)]


# -- H8: failover ------------------------------------------------------------------------------


def three(variant: Variant = OURS) -> Cluster:
    it = Cluster.of("a", "b", "c", variant=variant, keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    for name in "bc":
        it.link(name, "a")
    it.run()
    for name in "bc":
        it.cut("a", name)
    return it


@pytest.mark.parametrize(("variant", "at_once"), [(SEED, True), (REAL, False), (OURS, False)])
def test_a_new_primary_confirms_nothing_that_expected_backups_lack(
    variant: Variant, at_once: bool
) -> None:
    """H8; LM5: the document confirms before a backup has it."""
    it = three(variant)
    it.promote("b")
    one = it.publish("b", "m1")

    assert at_once is (one in it.confirmed)
    it.link("c", "b")
    it.run()
    assert one in it.confirmed
    assert (Role.PRIMARY, Role.BACKUP) == (it.role("b"), it.role("c"))


def test_a_new_primary_waits_for_expected_backups_until_a_deadline() -> None:
    """H8: then the primary writes a view without the backups that have no link."""
    it = three()
    it.promote("b", now=5.0, timeout=10.0)
    one = it.publish("b", "m1")

    it.do("b", Tick(14.9))
    assert (Role.RECOVERING, False) == (it.role("b"), one in it.confirmed)
    it.do("b", Tick(15.0))
    assert (Role.PRIMARY, True) == (it.role("b"), one in it.confirmed)
    assert ("b",) == it.members("b")


def test_an_expected_backup_stays_a_backup_while_it_catches_up_with_the_new_primary() -> None:
    """H8: it has all confirmed messages, and the new primary confirms none without it."""
    it = three()
    it.promote("b")
    it.link("c", "b")
    it.pass_on("c", "b")
    it.pass_on("b", "c")
    it.cut("b", "c")

    assert Verdict.ACCEPTED is it.promote("c").verdict


# -- H9: ahead ---------------------------------------------------------------------------------


def ahead(variant: Variant) -> Cluster:
    """Return three brokers: `c` has x of the dead primary, which the new primary `b` lacks."""
    it = Cluster.of("a", "b", "c", variant=variant, keeper=Keeper.OUTSIDE)
    it.promote("a")
    it.declare("a")
    for name in "bc":
        it.link(name, "a")
    it.run()
    it.publish("a", "x")
    it.pass_on("a", "c")
    for name in "bc":
        it.cut("a", name)
    it.promote("b")
    it.publish("b", "y")
    it.link("c", "b")
    it.run()
    return it


def test_a_backup_that_is_ahead_removes_its_surplus_messages() -> None:
    """H9: messages are compared by identity; y has the number that x had."""
    it = ahead(OURS)

    assert ("y",) == it.ids("b") == it.ids("c")


def test_by_number_the_surplus_stays_and_new_messages_are_missing() -> None:
    """LM1: by the document, messages with the same number count as the same."""
    it = ahead(SEED)

    assert ("x",) == it.ids("c")


def test_our_numbers_do_not_wrap_but_the_prototypes_do() -> None:
    """LM2: after half of all numbers, the prototype takes new messages for old ones."""
    lines = {}
    for variant in (SEED, OURS):
        it = pair(variant)
        it.publish("a", "m1")
        it.run()
        it.cut("a", "b")
        replica = it.brokers["a"].replica
        it.change(
            "a", replica=with_queue(replica, "q", evolve(replica.queues["q"], next=2**31 + 5))
        )
        it.publish("a", "m2")
        it.link("b", "a")
        it.run()
        lines[variant] = it.ids("b")

    assert {SEED: ("m1",), OURS: ("m1", "m2")} == lines


@pytest.mark.parametrize(("variant", "parts"), [(SEED, 3), (OURS, 1)])
def test_a_transaction_is_one_message_over_all_its_queues(variant: Variant, parts: int) -> None:
    """LM3."""
    it = pair(variant)
    it.declare("a", "r", "2")
    it.publish("a", "m1")
    it.run()
    first = it.brokers["a"].replica.queues["q"].messages.last
    assert first is not None
    it.commit(
        "a",
        Draft(queue="q", takes=(first,)),
        Draft(queue="r", puts=(New(id="m2"), New(id="m3"))),
    )

    sent = [from_tree(one) for one in it.links["a", "b"]]

    assert parts == sum(isinstance(one, Changed) for one in sent)
    it.run()
    assert ((), ("m2", "m3")) == (it.ids("b"), it.ids("b", "r"))


# -- H10 ---------------------------------------------------------------------------------------


def test_a_broker_with_a_dirty_store_refuses_a_promotion() -> None:
    """H10: the store is dirty until it is marked clean."""
    it = pair()
    view = it.brokers["b"].view
    for mark, verdict in ((Mark.DIRTY, Verdict.REFUSED), (Mark.CLEAN, Verdict.ACCEPTED)):
        it.brokers["b"] = evolve(it.brokers["b"], role=Role.STOPPED, side=None)
        it.do("b", Start(mark=mark, view=view))
        assert verdict is it.promote("b").verdict


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
