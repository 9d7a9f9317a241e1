"""Pinned counts of the classics: distinct states, steps, depth.

The numbers come from closed forms, from the reference search, which `test_reference.py` compares
with the engine state by state, or from a separate program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import comb, sqrt

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.entry import Entry
from joinproto.check.freeze import thaw
from joinproto_worlds.classics.paxos_founding import Accepted
from joinproto_worlds.entries import ENTRIES
from tests.census import searched
from tools.slow_search import explore

NOTE = "joinproto_worlds.note.world:build"
JOIN = "joinproto_worlds.join.world:build"
PICK = "joinproto_worlds.join.pick:build"
SYSTEMS = ("clusterer", "discovery", "fair", "incidents", "reconcile", "standby", "zen")
OF_SYSTEMS = (
    *(f"joinproto_worlds.{name}." for name in SYSTEMS),
    "joinproto_worlds.register.views:",
)
"""Prefixes of `Entry.build` for worlds that other files pin."""

CLASSICS = [
    item
    for item in ENTRIES
    if item.build not in (NOTE, JOIN, PICK) and not item.build.startswith(OF_SYSTEMS)
]


# -- two-phase commit ------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 8))
def test_two_phase_commit_has_the_counts_of_its_closed_forms(n: int) -> None:
    """2^N + 4^N + 6^N states: the transaction is committed, undecided, aborted."""
    report = check(load_world("two-phase-commit", members=n))

    assert 2**n + 4**n + 6**n == report.distinct
    assert 2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1) == report.generated
    assert 3 * n + 2 == report.depth
    assert "holds" == report.result


@pytest.mark.soak("system-worlds")
def test_two_phase_commit_with_eight_managers_has_its_pinned_counts() -> None:
    """This search takes many batches, and doubles every table several times."""
    report = check(load_world("two-phase-commit", members=8))

    assert (1_745_408, 18_507_778, 26) == (report.distinct, report.generated, report.depth)


@pytest.mark.parametrize(("n", "orbits"), [(3, 80), (5, 314), (7, 920), (8, 1_461)])
def test_with_symmetry_two_phase_commit_has_one_state_for_each_orbit(n: int, orbits: int) -> None:
    """C(N+5,5) + C(N+3,3) + (N+1): how many managers are in each of 6, 4 and 2 states."""
    report = check(load_world("two-phase-commit", members=n), symmetry=True)

    assert comb(n + 5, 5) + comb(n + 3, 3) + n + 1 == orbits
    assert (orbits, 3 * n + 2) == (report.distinct, report.depth)
    assert "holds" == report.result


def test_a_commit_on_too_few_votes_meets_a_manager_that_aborts() -> None:
    """The mutant commits on N - 1 votes; of the shortest runs the first in order is shown."""
    report = searched("two-phase-commit", "one-vote-short")

    assert report.trace is not None
    assert [
        "rm1 choose to abort",
        "rm2 prepare",
        "rm3 prepare",
        "tm receive prepared rm2 from rm2",
        "tm receive prepared rm3 from rm3",
        "tm commit",
        "rm2 receive commit from tm",
    ] == [f"{step.member} {step.label}" for step in report.trace.steps]


# -- dining philosophers ---------------------------------------------------------------


def tables(n: int) -> Iterator[str]:
    """Yield the rings of T, L and E (no fork, the left fork, both forks) in which T follows E."""
    for ring in product("TLE", repeat=n):
        if all(ring[i] != "E" or ring[(i + 1) % n] == "T" for i in range(n)):
            yield "".join(ring)


def moves(ring: str) -> int:
    """Return how many philosophers can take a free first or second fork, or put both down."""
    n = len(ring)
    left = sum(ring[i] == "T" and ring[i - 1] != "E" for i in range(n))
    right = sum(ring[i] == "L" and ring[(i + 1) % n] == "T" for i in range(n))
    return left + right + ring.count("E")


@pytest.mark.parametrize("n", range(2, 8))
def test_dining_philosophers_have_the_states_of_a_ring(n: int) -> None:
    """(1 + sqrt 2)^N + (1 - sqrt 2)^N states; all hold one fork after N steps, and no sooner."""
    report = check(load_world("dining-philosophers", members=n))

    rings = list(tables(n))
    assert round((1 + sqrt(2)) ** n + (1 - sqrt(2)) ** n) == len(rings) == report.distinct
    assert 1 + sum(map(moves, rings)) == report.generated
    results = {item.kind: (item.result, item.trace_length) for item in report.properties}
    assert ("violated", n) == results["no deadlock"]
    assert ("violated", n) == results["eventually"]
    assert ("violated", n) == results["always possible"]


@pytest.mark.parametrize(("n", "states"), [(3, 12), (4, 29), (5, 70), (6, 169), (7, 408)])
def test_one_left_handed_philosopher_prevents_the_deadlock(n: int, states: int) -> None:
    """a(N-1) + a(N-2) + b(N-2): the last philosopher holds no fork, the right fork, or both."""
    report = check(load_world("dining-left-handed", members=n))

    a, b = [1], [1]
    for _ in range(n):
        # A row that ends in E continues only with T; b counts the rows that do not end in E.
        b.append(a[-1] + b[-1])
        a.append(b[-1] + b[-2])
    assert a[n - 1] + a[n - 2] + b[n - 2] == states == report.distinct
    assert "holds" == report.result


# -- rings of links --------------------------------------------------------------------


@pytest.mark.parametrize("n", range(2, 8))
def test_a_token_ring_has_the_counts_of_its_closed_forms(n: int) -> None:
    """The token is on one of N links, or one of N members is inside; each other member may want
    to enter.
    """
    report = check(load_world("token-ring", members=n))

    under_way, inside = n * 2**n, n * 2 ** (n - 1)
    wishes = n * n * 2 ** (n - 1) + n * (n - 1) * 2 ** (n - 2)
    assert under_way + inside == report.distinct
    assert 1 + wishes + under_way + inside == report.generated
    assert "holds" == report.result


@pytest.mark.parametrize("n", range(2, 6))
def test_a_lost_token_stops_a_ring_of_n_members_in_n_plus_one_steps(n: int) -> None:
    """The token is lost, and each member comes to want to enter."""
    report = check(load_world("token-ring-lossy", members=n))

    # The states without a loss, and each set of wishes once more without the token.
    assert n * 2**n + n * 2 ** (n - 1) + 2**n == report.distinct
    assert report.trace is not None
    assert ("no deadlock", n + 1) == (report.trace.kind, len(report.trace.steps))


@pytest.mark.parametrize("n", range(2, 7))
def test_an_election_on_a_falling_ring_takes_the_largest_number_of_steps(n: int) -> None:
    """N starts, N(N+1)/2 hops of bids, N hops of the announcement: every run has that length."""
    report = check(load_world("ring-election", members=n))

    assert n + n * (n + 1) // 2 + n + 1 == report.depth
    assert 1 == report.levels[-1]
    assert "holds" == report.result


# -- pinned numbers ---------------------------------------------------------------------

PINNED: dict[tuple[str, str | None], tuple[int, int, int]] = {
    # Closed forms, above.
    ("two-phase-commit", None): (288, 1_146, 11),
    ("dining-philosophers", None): (82, 266, 6),
    ("token-ring", None): (96, 273, 9),
    # Distinct states by a closed form; steps and depth as the reference search counts them.
    ("dining-left-handed", None): (70, 220, 6),
    ("token-ring-lossy", None): (112, 369, 9),
    ("token-ring-live", None): (96, 273, 9),
    ("token-ring-live-lossy", None): (112, 369, 9),
    # Depth by a closed form; states and steps as the reference search counts them.
    ("ring-election", None): (80, 167, 19),
    # As the reference search counts them, up to the end of the level that fails, if any fails.
    ("two-phase-commit", "one-vote-short"): (298, 1_017, 8),
    ("token-ring-doubled", None): (302, 816, 7),
    ("ring-election", "passes-all-on"): (141, 313, 18),
    ("alternating-bit", None): (84, 170, 15),
    ("alternating-bit-overtaken", None): (44, 68, 8),
    ("durable-vote", None): (301, 1_351, 7),
    ("durable-vote", "no-persist"): (499, 2_437, 9),
    ("durable-vote", "answer-first"): (559, 2_749, 8),
    ("durable-vote-split", None): (1_505, 6_769, 9),
    ("durable-vote-wiped", None): (756, 3_613, 10),
}


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        (item.name, mutant)
        for item in CLASSICS
        if item.tier == "quick"
        for mutant in (None, *item.mutants)
    ],
)
def test_a_classic_has_its_pinned_counts(name: str, mutant: str | None) -> None:
    """Distinct states, steps and depth with the usual number of members."""
    report = searched(name, mutant)

    assert PINNED[name, mutant] == (report.distinct, report.generated, report.depth)


@pytest.mark.parametrize(
    "item", [item for item in CLASSICS if item.steps is not None], ids=lambda item: item.name
)
def test_a_classic_that_must_fail_fails_in_its_pinned_steps(item: Entry) -> None:
    """`steps` in the catalogue is the length of the shortest run."""
    report = searched(item.name)

    assert report.trace is not None
    assert item.steps == len(report.trace.steps)


# -- founding by Paxos -----------------------------------------------------------------


@pytest.mark.soak("system-worlds")
def test_founding_by_paxos_has_the_states_of_a_separate_search() -> None:
    """Millions of states are searched with few calls of member code.

    The same protocol, written a second time in C++ with a set of whole states, has the same three
    numbers.
    """
    report = searched("paxos-founding")

    assert (6_826_456, 30_258_141, 37) == (report.distinct, report.generated, report.depth)
    assert "holds" == report.result
    assert report.calls < 100_000


@pytest.mark.soak("system-worlds")
@pytest.mark.parametrize("mutant", ["forgets-accepted", "promise-not-kept"])
def test_paxos_without_half_of_the_promise_chooses_two_founders(mutant: str) -> None:
    """Both halves of the promise are needed: the accepted value, and no lower ballot."""
    report = searched("paxos-founding", mutant)

    assert report.trace is not None
    assert ("one founder is chosen", 20) == (report.trace.property, len(report.trace.steps))


def test_a_learned_founder_was_accepted_by_a_majority() -> None:
    """With two members, both accept at most one founder at one ballot in every state, and a
    member learns only this founder.
    """
    found = explore(load_world("paxos-founding", members=2))

    for state in found.level_of:
        votes = Counter(
            (to, content.founder)
            for _, to, frozen in state.messages
            if isinstance(content := thaw(frozen), Accepted)
        )
        chosen = {founder for (_, founder), count in votes.items() if count == 2}
        learned = {shown.founder for shown in found.reference.view(state).values()} - {None}
        assert len(chosen) <= 1
        assert learned <= chosen
    assert (678, 1_475) == (found.distinct, found.generated)


# -- claims about all classics --------------------------------------------------------


def test_the_classics_use_each_network_and_each_fault() -> None:
    """They also use a monitor, joint steps, shown disks, symmetry, labels, and these claims."""
    worlds = [load_world(item.name) for item in CLASSICS]

    assert {"MessageSet", "MessageBag", "FifoLinks"} == {type(w.network).__name__ for w in worlds}
    for fault in ("crashes", "partitions", "losses", "duplicates", "wipes"):
        assert any(getattr(world.faults, fault) for world in worlds), fault
    for part in ("monitor", "together", "show_disk", "interchangeable", "labels"):
        assert any(getattr(world, part) for world in worlds), part
    claims = {(item.kind, item.scope) for world in worlds for item in world.properties}
    assert {
        ("always", "world"),
        ("always", "each"),
        ("always", "pair"),
        ("sometimes", "world"),
        ("sometimes", "each"),
        ("eventually", "world"),
        ("leads to", "world"),
        ("always possible", "world"),
        ("no deadlock", "world"),
    } == claims
    assert {"up", "down"} == {world.start for world in worlds}
