"""`pick` agrees with a slow, obvious definition of the latest store, over lives of real members.

Hypothesis draws each life: starts, kills, splits, writes, an orderly stop, a wiped disk.
The slow definition uses facts that no tool can see: every frame that was ever acknowledged, and the
frames on every disk.

Source: recovery, verdicts 4 and 5; protocol, 4 (`latest_is_latest`); Skeen 1985.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

from attrs import evolve
from hypothesis import event, given, settings
from hypothesis import strategies as st

from joinproto.join.store import StoreRecord
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.pick import Pick, pick
from joinproto.pick.table import Verdict
from tests.recovery.life import Life

NAMES = "abc"

STEPS = (
    "start a",
    "start b",
    "start c",
    "start all",
    "kill a",
    "kill b",
    "kill c",
    "split a",
    "split c",
    "heal",
    "write",
    "write",
    "write through",
    "write through",
    "write through",
    "deliver",
    "deliver many",
    "settle",
    "settle",
    "tick",
    "stop the cluster",
    "wipe c",
    "leave b",
    "mark a",
    "recover all",
)

Steps = list[tuple[str, int]]

lives = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5)), min_size=5, max_size=40)


def live(steps: Steps, life: Life | None = None) -> Life:
    """Return the world after a founding and these steps, with no member running."""
    life = Life(NAMES) if life is None else life
    for name in life.names:
        life.start(name)
    life.settle()
    for step, number in steps:
        _do(life, step, number)
    for name in life.names:
        life.kill(name)
    return life


def _do(life: Life, step: str, number: int) -> None:
    verb, _, rest = step.partition(" ")
    match verb:
        case "start":
            for name in life.names if rest == "all" else rest:
                life.start(name)
        case "kill":
            for name in life.names if rest == "all" else rest:
                life.kill(name)
        case "split":
            life.part(rest, "".join(set(life.names) - {rest}))
        case "heal":
            life.part()
        case "write":
            life.write()
            while rest and life.envelopes:
                life.deliver()
        case "recover":
            # All fail, every store is marked, all come back.
            for name in life.names:
                life.kill(name)
                _do(life, f"mark {name}", 0)
            life.part()
            for name in life.names:
                life.start(name)
            life.settle(rounds_max=30)
        case "deliver":
            for _ in range(20 if rest else 1):
                if life.envelopes:
                    life.deliver(number % len(life.envelopes))
        case "settle":
            life.settle(rounds_max=30)
        case "tick":
            life.tick(life.names[number % len(life.names)])
        case "stop":
            for member in list(life.members.values()):
                member.shutdown_cluster(life.now)
            life.settle(rounds_max=30)
        case "leave" if life.serving == sorted(life.names):
            life.members[rest].leave(life.now)
            life.settle(rounds_max=30)
            life.kill(rest)
        case "wipe" if rest not in life.members:
            life.lives += 1
            life.disks[rest] = StoreRecord(store_id=f"{rest}{life.lives}")
            life.frames[rest] = ()
        case "mark" if rest not in life.members:
            # A mark in any store, or in several, permits a restart, and does not choose its data.
            record = life.disks[rest]
            if record.tip is not None:
                life.disks[rest] = evolve(record, mark=record.tip.id)


def candidates(life: Life, names: str) -> list[Candidate]:
    """Return the candidates of these disks."""
    return [
        Candidate(
            name=name,
            state=State.UNFINISHED
            if life.disks[name].update_unfinished
            else State(life.disks[name].state.value),
            member=name,
            cluster=None
            if life.disks[name].lineage.initial is None
            else str(life.disks[name].lineage.initial),
            record=life.disks[name],
        )
        for name in names
    ]


def subsets(names: str) -> list[str]:
    """Return the names in each set of stores; the set of all stores is last."""
    counts = range(1, len(names) + 1)
    return ["".join(some) for count in counts for some in combinations(names, count)]


def judge(life: Life) -> dict[str, Pick]:
    """Return the verdict on each set of the stores, after checking it."""
    picks = {names: pick(candidates(life, names)) for names in subsets(life.names)}
    whole = picks[life.names]
    for names, found in picks.items():
        assert Verdict.DIVERGED is not found.verdict
        assert Verdict.DIFFERENT_CLUSTERS is not found.verdict
        certain = found.verdict in (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)
        if certain or found.loses_nothing:
            for name in found.latest:
                assert [] == life.lost(name), (names, found.verdict, found.case)
        if certain and found.latest:
            # Proven: missing stores cannot change the answer.
            frames = {life.frames[name] for name in (*found.latest, *whole.latest)}
            assert 1 == len(frames), (names, found.latest, whole.latest)
    return picks


@settings(max_examples=60)
@given(lives)
def test_a_proven_latest_store_has_every_acknowledged_frame(steps: Steps) -> None:
    """This holds for the verdicts PROVEN, TIE and CLEAN, with any set of the stores."""
    life = live(steps)

    picks = judge(life)

    event(picks[NAMES].verdict.value)


@settings(max_examples=25)
@given(lives, st.sampled_from(["abcd", "abc", "ad"]))
def test_a_proven_latest_store_of_four_members_has_every_acknowledged_frame(
    steps: Steps, electors: str
) -> None:
    """Some members may not vote: each rule must distinguish electors from members."""
    life = live(steps, Life("abcd", wait_for=3 if len(electors) > 3 else 2, electors=electors))

    judge(life)


def test_random_lives_meet_four_verdicts_and_most_end_with_a_proof() -> None:
    """Otherwise the claims above could be empty."""
    counts: Counter[str] = Counter()
    acknowledged = 0

    for seed in range(80):
        random = Random(seed)
        steps = [(random.choice(STEPS), random.randrange(6)) for _ in range(40)]
        life = live(steps)
        acknowledged += len(life.acknowledged)
        for names, found in judge(life).items():
            counts[f"{found.verdict.value} of {len(names)}"] += 1

    assert acknowledged > 60
    for wanted in ("proven of 3", "tie of 3", "clean of 3", "unproven of 2", "unproven of 1"):
        assert counts[wanted] > 0, counts
    # A wiped disk leaves less to prove with; most lives end with a proof all the same.
    sure = counts["proven of 3"] + counts["tie of 3"] + counts["clean of 3"]
    assert counts["unproven of 3"] < sure


def test_the_largest_number_would_lose_frames() -> None:
    """The claim can fail: a has a long tail that was never acknowledged, and lacks a newer view."""
    life = _running()
    for _ in range(5):
        life.write()  # no message about these frames arrives
    life.kill("a")
    life.settle()
    life.write()
    life.settle()
    for name in NAMES:
        life.kill(name)

    by_number = max(NAMES, key=lambda name: _seq(life, name))
    found = judge(life)[NAMES]

    assert "a" == by_number
    assert [] != life.lost(by_number)
    assert {"b", "c"} == set(found.latest)


def test_the_newest_tip_would_lose_frames() -> None:
    """The claim can fail: c learns of the newest view before it has any data of the view."""
    life = _running()
    life.kill("c")
    life.settle()
    life.write()
    life.settle()
    life.start("c")
    while life.disks["c"].lineage.length < life.disks["a"].lineage.length:
        life.deliver()
    for name in NAMES:
        life.kill(name)

    newest = {name for name in NAMES if life.disks[name].lineage == life.disks["a"].lineage}
    found = judge(life)[NAMES]

    assert set(NAMES) == newest
    assert [] != life.lost("c")
    assert "c" not in found.latest


def _running() -> Life:
    life = Life(NAMES)
    for name in NAMES:
        life.start(name)
    life.settle()
    life.write()
    life.settle()
    assert 1 == len(life.acknowledged)
    return life


def _seq(life: Life, name: str) -> int:
    position = life.disks[name].position
    return 0 if position is None else position.seq
