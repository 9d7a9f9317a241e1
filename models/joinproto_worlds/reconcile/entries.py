"""The worlds of reconciliation, each with its subject and expected result."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

REPAIR = Family("joinproto_worlds.reconcile.repair:build", members=(4, 4, 5))
BESIDE = Family("joinproto_worlds.reconcile.beside:build", members=(4, 5, 6))
CLOCK = Family("joinproto_worlds.reconcile.clock:build")
TIMED = Family("joinproto_worlds.reconcile.timed:build")
ONE = TIMED.sharing(scenario="one")
TWO = TIMED.sharing(scenario="two", by_hand=1)
THREE = TIMED.sharing(scenario="three", interval=90, failure=90)
GROWTH = Family("joinproto_worlds.reconcile.growth:build", members=(3, 6, 10))

ENTRIES: tuple[Entry, ...] = (
    REPAIR(
        "reconcile-repair",
        "one of three replicas is lost for good and replaced, under any leader; then one may fail",
        mutants=("stays-listed",),
    ),
    REPAIR("reconcile-seed", "the same by the design's own table", variant="seed"),
    REPAIR(
        "reconcile-one",
        "scenario One: the lost node is removed from the cluster; added first, then dropped",
        members=5,
        mutants=("drops-first",),
        forgets=1,
    ),
    REPAIR(
        "reconcile-below",
        "the shipped rules drop a replica before another one is there: below the minimum",
        members=5,
        steps=3,
        forgets=1,
        variant="real",
        auto_remove=True,
    ),
    REPAIR(
        "reconcile-two",
        "scenario Two: an operator adds a replica at the same moment",
        members=5,
        tier="long",
        adds=1,
    ),
    REPAIR(
        "reconcile-by-hand",
        "two changes by hand, and elections: the group takes one at a time",
        members=5,
        tier="long",
        mutants=("two-changes",),
        adds=2,
        crashes=0,
    ),
    REPAIR(
        "reconcile-removal",
        "an operator removes a replica while another node may be lost; incident 12: applied alone",
        tier="long",
        mutants=("applies-alone", "heard-again"),
        removes=1,
    ),
    REPAIR(
        "reconcile-restarted",
        "an operator removes a replica, and any replica restarts; incident 13: it is back",
        members=4,
        tier="long",
        mutants=("peer-file",),
        removes=1,
        restarts=True,
    ),
    REPAIR(
        "reconcile-own-entry",
        "a leader changes members before an entry of its own term is committed: the first rule"
        " of single changes",
        members=5,
        tier="long",
        mutants=("no-own-entry",),
        first="abcd",
        stands="ab",
        removable="a",
        terms=3,
        adds=1,
        removes=1,
        crashes=0,
    ),
    REPAIR(
        "reconcile-joint",
        "a lost replica is replaced by one joint change instead of two single ones",
        mutants=("joint-by-one",),
        joint=True,
    ),
    REPAIR(
        "reconcile-partition",
        "the leader's side is cut off during a change by hand; both sides evaluate",
        partitions=1,
        adds=1,
        crashes=0,
    ),
    REPAIR(
        "reconcile-repaired",
        "liveness: one of three is lost, there are elections, and every fair run replaces it",
        members=(4, 5, 5),
        lost="c",
        crashes=0,
    ),
    REPAIR(
        "reconcile-drain",
        "nodes go into maintenance and come back; one replica is lost",
        members=(4, 5, 5),
        mutants=("drained-takes",),
        lost="c",
        crashes=0,
        drains="de",
    ),
    REPAIR(
        "reconcile-blank",
        "incident 23: a member loses its disk and comes back under its name, still a member",
        steps=10,
        restarts=True,
        wipes=1,
    ),
    BESIDE(
        "reconcile-beside",
        "the daemon crashes anywhere; the broker's list misses what its group did (incident 13)",
        mutants=("list-decides",),
        crashes=1,
        misses=1,
    ),
    BESIDE(
        "reconcile-learner",
        "a new replica has no vote yet, and the list does not say so (incidents 15 and 16)",
        mutants=("list-decides", "next-at-once"),
        learners=True,
        misses=1,
    ),
    BESIDE(
        "reconcile-no-leader",
        "incident 30: leaders are gone while a replica is to be added, and the call half works",
        mutants=("without-leader",),
        flees=1,
        misses=1,
    ),
    BESIDE(
        "reconcile-late",
        "a tool is ended by its time-out, and what it asked for happens after that",
        tier="long",
        mutants=("settles-from-begin",),
        hangs=1,
        drains=1,
    ),
    BESIDE(
        "reconcile-state-lost",
        "the daemon crashes anywhere, and its state file is lost",
        crashes=1,
        misses=1,
        losses=1,
    ),
    BESIDE(
        "reconcile-state-older",
        "the daemon crashes anywhere, and its state file is an earlier copy, which was put back",
        tier="long",
        crashes=1,
        misses=1,
        backups=1,
    ),
    BESIDE(
        "reconcile-power",
        "the power is cut anywhere, also in the middle of a write of the state file",
        tier="long",
        mutants=("unsynced",),
        crashes=1,
        drains=1,
        tears=1,
    ),
    BESIDE(
        "reconcile-mass",
        "mass failure: a queue and a stream lose a replica; no node takes part in two copies",
        mutants=("no-limit", "quorum-queues-only"),
        kinds="qs",
        copies=1,
    ),
    GROWTH(
        "reconcile-growth",
        "a queue grows to its target; with the argument compared as a pair, as shipped, beyond it",
        mutants=("argument-is-a-pair",),
    ),
    GROWTH(
        "reconcile-target",
        "the argument says 3 and a policy 5: the nearest counts, not the largest",
        mutants=("largest-counts",),
        variant="ours",
        policy=5,
    ),
    ONE(
        "reconcile-one-timed",
        "scenario One: C is deleted, and within 10 seconds of the deletion D is there",
        within=10,
    ),
    ONE(
        "reconcile-one-timed-seed",
        "the same by the design's clock: within 60 seconds",
        within=60,
        variant="seed",
    ),
    TWO(
        "reconcile-two-timed",
        "scenario Two: C is lost, an operator may add one; one is there after 60 s; C is forgotten",
        within=60,
    ),
    TWO(
        "reconcile-two-timed-seed",
        "the same by the design's clock: after 60 to 110 seconds",
        tier="long",
        within=110,
        variant="seed",
    ),
    THREE(
        "reconcile-three",
        "scenario Three: looks each 90 s, C is back after 60 and has caught up after 10 more",
        mutants=("lost-at-once",),
        back=60,
    ),
    THREE("reconcile-three-seed", "the same by the design's clock", back=60, variant="seed"),
    THREE(
        "reconcile-three-late",
        "the same, and C is back after 100 s: it was replaced for nothing",
        steps=20,
        back=100,
    ),
    CLOCK(
        "reconcile-clock",
        "nodes that come and go bring the next look forward, never back",
        mutants=("put-off",),
    ),
    CLOCK(
        "reconcile-starved",
        "the shipped timer is armed anew by each event: it never looks",
        steps=4,
        variant="real",
    ),
    CLOCK(
        "reconcile-two-timers",
        "an event is handled after the shipped timer has fired: two timers",
        steps=5,
        variant="real",
        claims="one",
    ),
    CLOCK("reconcile-one-timer", "the same events leave one timer", claims="one"),
)
