"""The oracle: each claim can fail, given events that no correct cluster has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from joinproto.join.lineage import Lineage
from joinproto.join.messages import Abort
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Kind, Seat, View, change, close, found, restart
from joinproto.log.sequencer import Intake, Sequencer
from joinproto.machine.vocabulary import Reason, Store
from joinproto.swarm.draw import draw
from joinproto.swarm.host import Process
from joinproto.swarm.oracle import Oracle, Violation
from joinproto.swarm.place import DataDirectory
from joinproto.swarm.rest import RunningMember, members_that_must_serve
from joinproto.swarm.run import run
from joinproto.swarm.scenario import Action, ActionKind, Scenario

SCENARIO = Scenario(seed=1, members="abc", electors="abc", wait_for=2)
SEATS = {name: Seat(name, f"{name}1") for name in "abc"}
EMPTY: Mapping[str, StoreRecord] = {}
STAMPS: dict[str, Any] = {"nonce": "n", "time": 0}


def oracle(
    scenario: Scenario = SCENARIO,
    records: Mapping[str, StoreRecord] = EMPTY,
    running: Sequence[Any] = (),
) -> Oracle:
    """Return the oracle of a run with these processes and records."""
    return Oracle(scenario, lambda: iter(running), lambda: dict(records))


def founded(nonce: str = "n") -> View:
    """Return a FOUND of all three members."""
    return found(
        members=SEATS.values(),
        electors=SEATS.values(),
        wait_for=2,
        options_digest="default/2",
        cluster_name="swarm",
        nonce=nonce,
        time=0,
    )


def changed(parent: View, members: str, electors: str = "abc") -> View:
    """Return a CHANGE to these members and electors."""
    return change(
        parent,
        members=[SEATS[name] for name in members],
        electors=[SEATS[name] for name in electors],
        position=None,
        activated=True,
        **STAMPS,
    )


def test_two_successors_of_one_view_are_a_violation() -> None:
    """one_successor: for a FOUND and for every view after it."""
    watching, first = oracle(), founded()
    watching.chosen(first)
    watching.chosen(changed(first, "ab"))

    for second in (founded("other"), changed(first, "bc")):
        with pytest.raises(Violation) as caught:
            watching.chosen(second)
        assert "one_successor" == caught.value.claim


def test_a_member_that_founds_again_after_a_majority_was_wiped_founds_another_cluster() -> None:
    """No member knows the former cluster any more, so no claim is about it."""
    watching = oracle()
    watching.chosen(founded())
    watching.wiped |= {SEATS["a"], SEATS["b"]}

    watching.chosen(founded("other"))

    assert "other" == watching.successor[None].nonce


def test_a_founder_that_lost_its_disk_may_found_another_cluster_with_few_founders() -> None:
    """Seed 41000011: b and c found it, c loses its disk, then a and c found another (3.3)."""
    scenario = Scenario(
        seed=41_000_011,
        members="abc",
        electors="abc",
        wait_for=2,
        found_with=2,
        patience=0.5,
        heartbeat=0.25,
        delay=0.05,
        slow=0.1,
        notice=0.0,
        actions=(
            Action(0.0, ActionKind.START, "b"),
            Action(0.0, ActionKind.START, "c"),
            Action(1.397, ActionKind.CUT, "b", "c"),
            Action(1.593, ActionKind.CRASH, "c"),
            Action(2.047, ActionKind.WIPE, "c"),
            Action(2.159, ActionKind.START, "c"),
            Action(2.343, ActionKind.CUT, "a", "b"),
            Action(2.51, ActionKind.START, "a"),
            Action(2.758, ActionKind.JUMP, "a", amount=0.5),
        ),
    )

    done = run(scenario, tells=True)

    assert "" == done.claim, done.what
    assert 2 == sum("proposes FOUND 1" in line for line in done.story)


def test_few_founders_that_lost_no_disk_found_no_second_cluster() -> None:
    """No disk is lost, so a second FOUND is a violation."""
    watching = oracle(evolve(SCENARIO, found_with=2))
    watching.chosen(founded())

    with pytest.raises(Violation, match="one_successor"):
        watching.chosen(founded("other"))


def test_a_view_of_transient_members_is_a_violation_if_a_member_has_a_store() -> None:
    """3.4: if a member has a store, a view needs one; if no member has one, it does not."""
    scenario = evolve(SCENARIO, transients="c", outside=True)
    watching, first = oracle(scenario), founded()
    watching.chosen(first)

    with pytest.raises(Violation) as caught:
        watching.chosen(changed(first, "c"))

    assert "view_has_store" == caught.value.claim


def test_a_cluster_founded_by_transient_members_needs_no_store_later() -> None:
    """3.4: seed 41200785: only c has a store; c joined later, and is cut off from a."""
    scenario = Scenario(
        seed=41_200_785,
        members="abc",
        electors="ab",
        transients="ab",
        wait_for=1,
        outside=True,
        patience=0.5,
        heartbeat=0.125,
        delay=0.01,
        is_steady=True,
        slow=0.1,
        loss=0.18361767,
        notice=0.05,
        apart=("ac",),
        actions=(
            Action(0.0, ActionKind.START, "b"),
            Action(3.614, ActionKind.START, "a"),
            Action(3.871, ActionKind.START, "c"),
            Action(6.701, ActionKind.WRITE, "c"),
        ),
    )

    done = run(scenario, tells=True)

    assert "" == done.claim, done.what
    assert any("serves CHANGE" in line and " of a b (" in line for line in done.story)


def test_a_leave_that_gives_absent_members_the_majority_is_a_violation() -> None:
    """a is there, and c has not heard of the ballot; with a and c as electors, a is no majority."""
    first = founded()
    records = {name: StoreRecord(store_id=f"{name}1") for name in "abc"}
    watching = oracle(records=records)
    watching.chosen(first)

    with pytest.raises(Violation) as caught:
        watching.chosen(changed(first, "a", electors="ac"))

    assert "leave_keeps_majority" == caught.value.claim


def test_a_closed_cluster_restarts_only_after_a_member_was_started() -> None:
    """close_ends: only processes that were started after the CLOSE may restart the cluster."""
    first = founded()
    closed = close(first, position=None, activated=True, **STAMPS)
    assert Kind.CLOSE is closed.kind
    again = restart(
        closed,
        members=SEATS.values(),
        position=None,
        wait_for=2,
        options_digest="default/2",
        **STAMPS,
    )
    ran, late = (
        SimpleNamespace(
            name=name,
            seat=SEATS[name],
            place=SimpleNamespace(),
            saw_it_run=False,
            was_ready=False,
        )
        for name in "ab"
    )
    ran.place.record = StoreRecord(
        store_id="a1", lineage=Lineage((first,), first.id), held=first.id
    )
    bad, good, all_died = (oracle(running=some) for some in ([ran], [ran], [late]))
    for watching in (bad, good, all_died):
        watching.starts = 3
        watching.wrote(cast("Process", ran))
        assert any(one.saw_it_run for one in watching.running())
        late.saw_it_run = False  # it was started after all that
        watching.chosen(closed)
    good.starts = 4

    good.chosen(again)
    all_died.chosen(again)
    with pytest.raises(Violation) as caught:
        bad.chosen(again)
    assert "close_ends" == caught.value.claim
    assert "a ran" in caught.value.what


@pytest.mark.parametrize(
    ("knew", "members", "is_right"), [(True, "a", False), (False, "a", True), (True, "b", True)]
)
def test_a_member_that_knew_the_view_without_a_close_is_in_no_restart_after_it(
    knew: bool, members: str, is_right: bool
) -> None:
    """close_ends, with an outside register: a member that did not know may be a later process."""
    first = founded()
    closed = close(first, position=None, activated=True, **STAMPS)
    again = restart(
        closed,
        members=[SEATS[name] for name in members],
        position=None,
        wait_for=1,
        options_digest="default/2",
        **STAMPS,
    )
    a = SimpleNamespace(
        name="a", seat=SEATS["a"], was_ready=True, stood={first.id} if knew else set()
    )
    watching = oracle(evolve(SCENARIO, outside=True), running=[a])
    for view in (first, closed):
        watching.chosen(view)

    if is_right:
        watching.chosen(again)
        return
    with pytest.raises(Violation) as caught:
        watching.chosen(again)
    assert "close_ends" == caught.value.claim
    assert "a ran" in caught.value.what


def test_a_cluster_may_be_founded_again_after_two_voters_lost_their_disks() -> None:
    """Seed 21001011: the first voter is wiped before the second vote is on its disk."""
    scenario = Scenario(
        seed=21_001_011,
        members="ab",
        electors="ab",
        wait_for=2,
        patience=0.5,
        heartbeat=0.25,
        delay=0.05,
        is_steady=True,
        slow=0.1,
        actions=(
            Action(22.01, ActionKind.START, "b"),
            Action(22.647, ActionKind.START, "a"),
            Action(23.335, ActionKind.CRASH, "a"),
            Action(23.335, ActionKind.WIPE, "a"),
            Action(26.726, ActionKind.CRASH, "b"),
            Action(26.726, ActionKind.WIPE, "b"),
        ),
    )

    done = run(scenario, tells=True)

    assert "" == done.claim, done.what
    assert 2 == sum("proposes FOUND 1" in line for line in done.story)


def test_a_shutdown_that_no_member_survives_is_finished_before_the_restart() -> None:
    """Seed 20000795: its CLOSE is chosen by processes that were started after all had died."""
    scenario = Scenario(
        seed=20_000_795,
        members="ab",
        electors="ab",
        wait_for=2,
        patience=2.0,
        delay=0.2,
        notice=0.0,
        on_disk=True,
        actions=(
            Action(0.0, ActionKind.START, "a"),
            Action(0.0, ActionKind.START, "b"),
            Action(8.077, ActionKind.SHUTDOWN, "b"),
            Action(8.281, ActionKind.POWER, "b", amount=9),
            Action(8.423, ActionKind.CRASH_SOON, "a", amount=1),
        ),
    )

    done = run(scenario, tells=True)

    assert "" == done.claim, done.what
    assert any("proposes RESTART 3" in line for line in done.story)


def _up(name: str, record: StoreRecord) -> RunningMember:
    return RunningMember(SEATS[name], record, (), "default/2")


def _knows(view: View, name: str) -> StoreRecord:
    return StoreRecord(store_id=f"{name}1", lineage=Lineage().append(view))


def test_a_shutdown_whose_members_have_died_ends_no_member_that_did_not_hear_of_it() -> None:
    """Seed 41200396: a starts while b is up, hears it freeze, and b dies before the CLOSE."""
    # Old messages would make it another run.
    done = run(evolve(draw(41_200_396), old=0.0), tells=True)

    assert "" == done.claim, done.what
    assert any("proposes RESTART 4 of a b" in line for line in done.story)


def test_only_a_majority_whose_members_hear_each_other_must_serve() -> None:
    """Two of three must serve; two that do not hear each other need not."""
    watching, first = oracle(), founded()
    watching.chosen(first)
    up = {name: _up(name, _knows(first, name)) for name in "ab"}

    assert "ab" == members_that_must_serve(watching, up, set())
    assert "" == members_that_must_serve(watching, up, {("a", "b")})
    assert "" == members_that_must_serve(watching, {"a": up["a"]}, set())


def test_a_founding_that_no_member_has_learned_waits_for_its_founders() -> None:
    """`c` and `a` accepted it and `c` is lost, so `a` need not know that it was chosen."""
    watching, first = oracle(), founded()
    watching.chosen(first)
    ballot = Ballot(1, "c1")
    accepted = StoreRecord(store_id="a1", promised=ballot, accepted=Accepted(ballot, first))
    up = {"a": _up("a", accepted), "b": _up("b", StoreRecord(store_id="b1"))}

    assert "" == members_that_must_serve(watching, up, set())

    up["c"] = _up("c", StoreRecord(store_id="c1"))

    assert "abc" == members_that_must_serve(watching, up, set())


def test_a_view_that_no_present_member_has_learned_waits_for_its_voters() -> None:
    """Seed 22000044: `c` accepted it, too, but lost its disk, so `a` cannot know that it won."""
    first = founded()
    middle = changed(first, "abc", electors="ac")
    tip = changed(middle, "ab", electors="a")
    chain = Lineage().append(first).append(middle)
    ballot = Ballot(1, "c1")
    accepted = StoreRecord(
        store_id="a1", lineage=chain, promised=ballot, accepted=Accepted(ballot, tip)
    )
    watching = oracle(records={"a": accepted, "c": evolve(accepted, store_id="c1")})
    for view in (first, middle, tip):
        watching.chosen(view)
    up = {"a": _up("a", accepted), "b": _up("b", StoreRecord(store_id="b1", lineage=chain))}

    assert "" == members_that_must_serve(watching, up, set())

    up["b"] = _up("b", StoreRecord(store_id="b1", lineage=chain.append(tip)))

    assert "ab" == members_that_must_serve(watching, up, set())


def test_a_member_that_lacks_a_committed_frame_need_not_serve() -> None:
    """A member must serve only if it has the data."""
    watching, first = oracle(), founded()
    watching.chosen(first)
    watching.committed[1] = first.id
    up = {name: _up(name, _knows(first, name)) for name in "abc"}

    assert "" == members_that_must_serve(watching, up, set())


# -- rules that a patch breaks, in whole runs --------------------------------------------------


def _commits_alone(sequencer: Sequencer) -> None:
    sequencer.committed = max(sequencer.committed, sequencer._journal.last_seq)


def _takes_twice(
    patch: pytest.MonkeyPatch, take: Callable[[Intake], list[bytes]] = Intake.take
) -> None:
    patch.setattr(Intake, "take", lambda self: [body for body in take(self) for _ in "12"])


def _forgets_a_frame(patch: pytest.MonkeyPatch, *, is_noticed: bool = False) -> None:
    """Make a disk lose its synced frames when its process ends."""
    ends = DataDirectory.process_ends

    def forgets(place: DataDirectory, **options: Any) -> None:
        ends(place, **options)
        file = dict(place.files.files()).get("/data/frames.log")
        if file is not None:
            file.shown.clear()
        if not is_noticed:
            place.reported = None

    patch.setattr(DataDirectory, "process_ends", forgets)


PATCHES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "acked_is_held": lambda patch: patch.setattr(Sequencer, "_count", _commits_alone),
    "once": _takes_twice,
    "dirty_before_serving": lambda patch: patch.setattr(
        StoreRecord, "state", property(lambda record: Store.CLEAN)
    ),
    "nothing_lost": _forgets_a_frame,
    "is_durable": partial(_forgets_a_frame, is_noticed=True),
}

WORK = (
    *(Action(0.0, ActionKind.START, name) for name in "abc"),
    *(Action(5.0 + at / 10, ActionKind.WRITE, name) for at in range(5) for name in "abc"),
    *(Action(8.0, ActionKind.CRASH, name) for name in "abc"),
)


@pytest.mark.parametrize("claim", PATCHES)
def test_a_rule_that_is_broken_by_a_patch_is_found(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the patch the same run keeps all claims."""
    scenario = evolve(SCENARIO, actions=WORK)
    before = run(scenario)
    PATCHES[claim](monkeypatch)

    found_now = run(scenario)

    assert not before.failed
    # A log that finds its client's entry twice may end with an error first.
    assert found_now.claim in {claim, "no_error" if claim == "once" else claim}
    assert found_now.events < 2_000


def test_a_read_that_misses_a_frame_acknowledged_before_it_began_is_reported() -> None:
    """3.8: the read need not see frames acknowledged after it has begun."""
    watch = oracle()
    process = cast(Process, SimpleNamespace(name="c", member=SimpleNamespace(view=None)))
    watch.newest_acked = 3

    watch.answered(process, 2, acked=2)

    with pytest.raises(Violation, match="answers up to 1, acknowledged: 2"):
        watch.answered(process, 1, acked=2)


@pytest.mark.parametrize(
    ("left", "gone"), [(True, set()), (False, {SEATS["a"], SEATS["b"]})], ids=["cut", "knows"]
)
def test_a_member_that_opens_again_in_a_view_that_was_left_is_reported(
    left: bool, gone: set[Seat]
) -> None:
    """3.9: it was cut off until the view had ended, or knew which members have left it."""
    first = founded()
    said = {"name": "c", "left": first.id if left else None, "gone": gone}

    with pytest.raises(Violation) as caught:
        oracle()._look_for_left(cast(Process, SimpleNamespace(**said)), first)

    assert "opens_where_it_stands" == caught.value.claim
    said |= {"left": None, "gone": {SEATS["a"]}}
    oracle()._look_for_left(cast(Process, SimpleNamespace(**said)), first)


def test_a_member_that_ends_over_options_of_another_process_is_reported() -> None:
    """3.9: the refusal is of a former process, so its options are not this process's."""
    ended = Abort(Reason.OPTIONS_DIFFER, "options other/2", "options default/2, says a", False)
    member = SimpleNamespace(config=SimpleNamespace(digest="default/2"))
    process = SimpleNamespace(name="c", ended=ended, member=member)

    with pytest.raises(Violation, match="other/2"):
        oracle().ended(cast(Process, process))

    member.config.digest = "other/2"
    oracle().ended(cast(Process, process))
