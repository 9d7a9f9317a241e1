"""The note's member at work: readings, durability, and refusals."""

import pytest

from joinproto.errors import MisuseError
from joinproto.machine.vocabulary import Phase, Reason, Status, Store
from joinproto.reference.effects import (
    Abort,
    Acknowledge,
    Announce,
    AskForUpdate,
    CaseTaken,
    DiskRecord,
    Effect,
    Exit,
    Persist,
    Serve,
)
from joinproto.reference.events import (
    TRIGGERS,
    Agreed,
    ClientWrite,
    Event,
    Leave,
    MarkClean,
    OrderlyShutdown,
    Start,
    UpdateDone,
)
from joinproto.reference.note.member import NoteMember
from joinproto.reference.note.readings import READINGS, Readings
from joinproto.reference.tabled import Identity
from tests.reference.cluster import Cluster

ME = Identity("a")


def member(kept: DiskRecord, reading: str = "as-written", me: Identity = ME) -> NoteMember:
    """Return a member that has just been started."""
    made = NoteMember(me, kept, READINGS[reading])
    made.receive(Start())
    return made


def alone(made: NoteMember) -> Agreed:
    """Return the agreed set that holds this member only."""
    return Agreed((made.status,), stamp=7)


def actions(effects: list[Effect]) -> list[Effect]:
    """Return the effects without `CaseTaken` and `Announce`."""
    return [it for it in effects if not isinstance(it, CaseTaken | Announce)]


def test_a_founder_has_its_signature_on_disk_before_it_serves() -> None:
    """I3, S1: otherwise a crash leaves an empty store behind a cluster that served."""
    founder = member(DiskRecord(Store.EMPTY))

    effects = founder.receive(alone(founder))

    assert [Persist(DiskRecord(Store.DIRTY, 7)), Serve()] == actions(effects)


def test_a_clean_store_is_dirty_on_disk_before_its_member_serves() -> None:
    """S2, as written: any end but the orderly shutdown must find it dirty."""
    started = member(DiskRecord(Store.CLEAN, 1, 2, ("x",)))

    effects = started.receive(alone(started))

    assert [Persist(DiskRecord(Store.DIRTY, 1, 2, ("x",))), Serve()] == actions(effects)


def test_a_frame_is_on_disk_before_it_is_acknowledged() -> None:
    """Otherwise a crash would lose an acknowledged frame."""
    active = member(DiskRecord(Store.CLEAN, 1, 2, ("x",)))
    active.receive(alone(active))

    effects = active.receive(ClientWrite("y"))

    assert [Persist(DiskRecord(Store.DIRTY, 1, 3, ("x", "y"))), Acknowledge("y")] == actions(
        effects
    )


def test_a_member_without_a_store_writes_no_record() -> None:
    """T: it learns the state and the signature, and forgets both when it ends."""
    cluster = Cluster()
    cluster.disk = {"a": DiskRecord(Store.CLEAN, 1, 2, ("x",))}
    cluster.start("a")
    cluster.start("b", store=Store.NONE)

    cluster.update()
    cluster.write("y")

    assert ("x", "y") == cluster.members["b"].data
    assert 1 == cluster.members["b"].status.initial
    assert DiskRecord(Store.NONE) == cluster.disk["b"]


def test_an_update_arrives_in_the_order_of_the_note() -> None:
    """J2: data, initial signature, then active; a crash may fall between any two."""
    joiner = member(DiskRecord(Store.CLEAN, 1, 2, ("x",)))
    source = Status("b", Store.DIRTY, initial=1, final=5, active=True)
    asked = joiner.receive(Agreed((joiner.status, source), stamp=7))

    effects = joiner.receive(UpdateDone("b", 1, 5, ("x", "y")))

    assert [AskForUpdate(("b",))] == actions(asked)
    assert [
        Persist(DiskRecord(Store.CLEAN, 1, 5, ("x", "y"))),  # still clean: the note names no moment
        Persist(DiskRecord(Store.DIRTY, 1, 5, ("x", "y"))),
        Serve(),
    ] == actions(effects)


@pytest.mark.parametrize(
    ("reading", "on_asking"),
    [
        ("as-written", []),
        ("dirty-from-update", [Persist(DiskRecord(Store.DIRTY, 1, 2, ("x",)))]),
        ("update-in-place", [Persist(DiskRecord(Store.CLEAN, 1, 2, ()))]),
    ],
)
def test_the_readings_differ_in_the_first_effect_of_an_update(
    reading: str, on_asking: list[Effect]
) -> None:
    """In place, a crash during the update leaves a store that reads clean and is empty."""
    joiner = member(DiskRecord(Store.CLEAN, 1, 2, ("x",)), reading)
    source = Status("b", Store.DIRTY, initial=1, active=True)

    effects = joiner.receive(Agreed((joiner.status, source), stamp=7))

    assert [*on_asking, AskForUpdate(("b",))] == actions(effects)


def test_under_never_dirty_a_crash_leaves_a_clean_store() -> None:
    """The reading that S2 forbids, kept for a world that must fail."""
    cluster = Cluster(readings=READINGS["never-dirty"])
    cluster.disk = {"a": DiskRecord(Store.CLEAN, 1, 2, ("x",))}
    cluster.start("a")

    cluster.write("y")
    cluster.crash("a")

    assert Store.CLEAN is cluster.disk["a"].store


@pytest.mark.parametrize(
    ("reading", "store"), [("as-written", Store.CLEAN), ("only-complete-are-clean", Store.DIRTY)]
)
def test_as_written_the_shutdown_marks_a_half_updated_member_clean(
    reading: str, store: Store
) -> None:
    """S2: b is shut down as part of the cluster, and its data is not the cluster's."""
    cluster = Cluster(readings=READINGS[reading])
    cluster.start("a", "b")
    cluster.crash("b")
    cluster.write("x")
    cluster.start("b")

    cluster.shutdown(final=9)

    assert () == cluster.disk["b"].data
    assert store is cluster.disk["b"].store


def test_as_written_a_lone_restart_diverges_unnoticed() -> None:
    """After it, both stores are clean with equal signatures, and different data."""
    cluster = Cluster()
    cluster.start("a", "b")
    cluster.shutdown()
    for name, frame in (("a", "x"), ("b", "y")):
        cluster.start(name)
        cluster.write(frame)
        cluster.shutdown()

    cluster.start("a", "b")

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert cluster.members["a"].data != cluster.members["b"].data


def test_a_new_set_is_a_new_decision_for_a_member_that_is_being_updated() -> None:
    """The note is silent about a source that dies: another source is asked, else I6 holds."""
    cluster = Cluster(readings=READINGS["all-wait"])
    cluster.disk = {
        "a": DiskRecord(Store.CLEAN, 1, 2),
        "b": DiskRecord(Store.CLEAN, 1, 2),
        "c": DiskRecord(Store.DIRTY, 1, 1),
    }
    cluster.start("a", "b", "c")

    cluster.crash("a")
    assert {"c": ("b",)} == cluster.asked
    cluster.crash("b")

    assert {} == cluster.phases()
    assert Abort("I6", Reason.NO_CLEAN_STORE) in cluster.effects


def test_an_empty_newcomer_whose_source_dies_founds_a_new_cluster() -> None:
    """The note is silent; with N = 1 no rule forbids it while the old store is away."""
    cluster = Cluster()
    cluster.start("a")
    cluster.write("x")
    cluster.start("b")

    cluster.crash("a")

    assert {"b": "active"} == cluster.phases()
    assert cluster.disk["a"].initial != cluster.disk["b"].initial


def test_an_abort_leaves_the_store_as_it_was() -> None:
    """No record is persisted."""
    kept = DiskRecord(Store.DIRTY, 1, 2, ("x",))
    aborting = member(kept)

    effects = aborting.receive(alone(aborting))

    assert kept == aborting.kept
    assert not [it for it in effects if isinstance(it, Persist)]
    assert Reason.NO_CLEAN_STORE is aborting.reason


def test_a_waiting_member_has_a_reason() -> None:
    """I1: the operator sees why the member waits."""
    waiting = member(DiskRecord(Store.EMPTY), me=Identity("a", wait_for=2))

    effects = waiting.receive(alone(waiting))

    assert Reason.TOO_FEW_MEMBERS is waiting.reason
    assert [CaseTaken("note-initialization", "I1", "too few members")] == effects


def test_a_member_that_only_waits_is_not_marked_by_a_shutdown() -> None:
    """The member is not part of the cluster that is shut down."""
    waiting = member(DiskRecord(Store.DIRTY, 1, 2), me=Identity("a", wait_for=2))

    effects = waiting.receive(OrderlyShutdown(9))

    assert [Exit()] == actions(effects)
    assert Store.DIRTY is waiting.store


def test_a_member_refuses_an_impossible_event_and_does_not_change() -> None:
    """No event is silently ignored; `can` asks beforehand."""
    active = member(DiskRecord(Store.EMPTY))
    active.receive(alone(active))
    before = dict(vars(active))

    for event in (Start(), MarkClean(), UpdateDone("b", 1, 1, ())):
        assert not active.can(event)
        with pytest.raises(MisuseError, match="cannot happen in the phase 'active'"):
            active.receive(event)

    assert before == vars(active)


@pytest.mark.parametrize("others", [(), ("b",), ("a", "a")])
def test_a_set_is_delivered_only_to_its_members(others: tuple[str, ...]) -> None:
    """A member has one place in the order of its set."""
    started = member(DiskRecord(Store.EMPTY))
    view = tuple(Status(name, Store.EMPTY) for name in others)

    with pytest.raises(MisuseError, match="member a must be once in the set"):
        started.receive(Agreed(view, stamp=1))

    assert Phase.INITIALIZING is started.phase


def test_the_whole_state_of_a_member_is_hashable_values() -> None:
    """So a search can number the state; `persistent` names the fields of `DiskRecord`."""
    active = member(DiskRecord(Store.EMPTY))
    active.receive(alone(active))
    active.receive(ClientWrite("x"))

    assert isinstance(hash(tuple(vars(active).values())), int)
    assert active.kept == DiskRecord(*(getattr(active, name) for name in NoteMember.persistent))


def test_at_each_persist_the_attributes_equal_the_record() -> None:
    """A search takes effects one by one, and lets a crash fall between any two."""
    joiner = member(DiskRecord(Store.CLEAN, 1, 2, ("x",)))
    source = Status("b", Store.DIRTY, initial=1, final=5, active=True)
    joiner.receive(Agreed((joiner.status, source), stamp=7))

    seen = [
        (effect.kept, joiner.kept)
        for effect in joiner.react(UpdateDone("b", 1, 5, ("x", "y")))
        if isinstance(effect, Persist)
    ]

    assert 2 == len(seen)
    assert all(persisted == now for persisted, now in seen)


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize(
    "kept", [DiskRecord(store, 1, 1) for store in Store], ids=lambda it: it.store
)
def test_every_arrow_but_that_of_an_agreed_set_can_be_taken(
    kept: DiskRecord, reading: Readings
) -> None:
    """No action of their tables raises an error."""
    events: dict[str, Event] = {
        "start": Start(1),
        "update_done": UpdateDone("b", 1, 5, ("x",)),
        "client_write": ClientWrite("x"),
        "orderly_shutdown": OrderlyShutdown(),
        "leave": Leave(),
        "mark_clean": MarkClean(),
    }
    assert {*events, "agreed"} == set(TRIGGERS.values())

    for arrow in NoteMember(ME, kept, reading).machine.arrows:
        for phase in arrow.sources:
            if arrow.trigger == "agreed":
                continue
            made = NoteMember(ME, kept, reading)
            made.phase = phase
            made.receive(events[arrow.trigger])

            assert phase is not made.phase or phase in (Phase.ACTIVE, Phase.STOPPED)
