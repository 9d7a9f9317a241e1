"""The verdict on the stores of a Raft group: by example, and against a small Raft that is played.

Source: Ongaro, "Consensus: Bridging Theory and Practice", 3.6, 4.1.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st

from joinproto.pick.raft import Configuration, RaftLog, RaftVerdict
from joinproto.pick.raft import judge as judge_raft


def judge(logs: Sequence[RaftLog], *, at_commit: bool = True) -> RaftVerdict:
    return judge_raft(logs, at_commit=at_commit)


ABC = Configuration(index=3, term=1, voters=frozenset("abc"))


def log(member: str, end: tuple[int, int], *, commit: int = 3, term: int = 0) -> RaftLog:
    return RaftLog(
        name=f"{member}'s",
        member=member,
        term=term or end[0],
        last_term=end[0],
        last_index=end[1],
        commit=commit,
        configurations=(ABC,),
    )


def test_the_latest_of_a_majority_has_every_committed_entry() -> None:
    """A term counts before an index: the longer tail of an older term was never committed."""
    found = judge([log("a", (2, 9)), log("b", (3, 7), commit=6)])

    assert found == RaftVerdict(
        is_proven=True,
        latest=("b's",),
        voters=frozenset("abc"),
        missing=("c",),
        committed=6,
        last_index=7,
    )
    assert list(found.uncertain) == [7]


def test_logs_with_different_committed_entries_are_two_branches() -> None:
    """a was started alone by force, and b and c continued without it.

    Each side knows its own entries to be committed, so no log has all of them.
    """
    alone = Configuration(index=5, term=2, voters=frozenset("a"))
    forced = evolve(log("a", (2, 9), commit=9), configurations=(ABC, alone))
    b, c = log("b", (2, 12), commit=11), log("c", (2, 12), commit=8)
    by_voters = judge([forced, b, c])
    terms = ((1, 1), (4, 2))
    old = evolve(log("a", (2, 9), commit=9), terms=terms)
    by_terms = judge([old, evolve(b, terms=((1, 1), (4, 3))), c])
    agreed = judge([old, evolve(b, terms=terms), c])

    assert (False, 2) == (by_voters.is_proven, len(by_voters.branches))
    assert "entry 9 is committed, and do not have the same voters" in by_voters.branches[0]
    assert (False, 1) == (by_terms.is_proven, len(by_terms.branches))
    assert "of term 2 in the one and of term 3 in the other" in by_terms.branches[0]
    assert (True, ()) == (agreed.is_proven, agreed.branches)


def test_a_log_that_has_not_heard_of_a_change_is_not_another_branch() -> None:
    """c was removed while it was away: the others also have the entries that it knows to be
    committed.
    """
    removed = Configuration(index=10, term=2, voters=frozenset("ab"))
    a, b = (
        evolve(log(one, (2, 20), commit=20), configurations=(ABC, removed), terms=((1, 1), (4, 2)))
        for one in "ab"
    )
    away = evolve(log("c", (2, 9), commit=9), terms=((1, 1), (4, 2)))
    compacted = evolve(a, configurations=(evolve(removed, index=15),), terms=((15, 2),))

    assert judge([a, b, away]).is_proven
    assert judge([compacted, b, away]).is_proven


def test_without_a_majority_the_missing_voters_are_named() -> None:
    found = judge([log("a", (2, 9))])

    assert (found.is_proven, found.needed, found.missing) == (False, 1, ("b", "c"))
    assert found.latest == ("a's",)


def test_a_damaged_store_does_not_count_and_its_commit_is_believed() -> None:
    damaged = evolve(log("b", (3, 9), commit=8), damaged="a checksum is wrong")
    alone = judge([log("a", (2, 9)), damaged])
    behind = judge([log("a", (2, 7)), log("c", (2, 7)), damaged])

    assert (alone.is_proven, alone.needed, alone.committed) == (False, 1, 8)
    assert not behind.is_proven
    assert "knows that entry 8 is committed" in behind.went_back[0]


def test_a_store_that_is_there_twice_does_not_count() -> None:
    twice = evolve(log("a", (2, 8)), name="a's copy")
    found = judge([log("a", (2, 9)), twice, log("b", (2, 9))])

    assert (found.is_proven, found.duplicates) == (False, ("a's", "a's copy"))
    assert judge([log("a", (2, 9)), twice, log("b", (2, 9)), log("c", (2, 9))]).is_proven


@pytest.mark.parametrize(("commit", "is_proven"), [(5, False), (6, True)])
def test_a_configuration_that_may_be_uncommitted_and_the_former_one_both_need_a_majority(
    commit: int, is_proven: bool
) -> None:
    """c and d are a majority of c, d, e, but not of a, b, c."""
    later = Configuration(index=6, term=2, voters=frozenset("cde"))
    ends = [log("c", (2, 7), commit=commit), log("d", (2, 7))]
    both = [evolve(one, configurations=(ABC, later)) for one in ends]

    found = judge(both)

    assert found.is_proven is is_proven
    assert found.voters == frozenset("cde")


def test_a_learner_may_have_the_latest_log_but_does_not_vote() -> None:
    """The learner's log is the latest, and it needs two voters to prove it."""
    learning = Configuration(index=5, term=1, voters=frozenset("abc"), learners=frozenset("d"))
    learner = evolve(log("d", (2, 9)), configurations=(learning,))

    assert not judge([learner, log("a", (2, 8))]).is_proven
    assert judge([learner, log("a", (2, 8)), log("b", (2, 5))]).latest == ("d's",)


@pytest.mark.parametrize(
    ("stores", "said"),
    [
        # a and b had entry 8; b's store is an old copy.
        ([log("a", (2, 8), commit=8), log("b", (2, 5)), log("c", (2, 6))], "entry 8 is committed"),
        # Only a knows of term 3, in which it led.
        ([log("a", (3, 8)), log("b", (2, 7)), log("c", (2, 7))], "voted in term 3"),
        (
            [log("a", (2, 7), commit=8), log("b", (2, 7)), log("c", (2, 7))],
            "the entries after that are lost",
        ),
    ],
)
def test_a_store_that_went_back_is_noticed_if_the_stores_show_it(
    stores: list[RaftLog], said: str
) -> None:
    found = judge(stores)

    assert not found.is_proven
    assert any(said in line for line in found.went_back)


def test_without_a_configuration_no_store_is_proven() -> None:
    assert not judge([evolve(log("a", (2, 8)), configurations=())]).is_proven
    assert judge([]) == RaftVerdict(is_proven=False)


@define
class Node:
    name: str
    log: list[tuple[int, frozenset[str] | int]]
    term: int = 1
    commit: int = 1


@define
class Group:
    """A small Raft: each call is a whole exchange, and no node forgets.

    `at_commit`: a configuration is used once it is committed (etcd), else once it is in the log.
    `has`: members' answers to the leader of a term; entries that came later do not count.
    """

    luck: random.Random
    at_commit: bool
    nodes: dict[str, Node] = field(factory=dict)
    leaders: dict[int, str] = field(factory=dict)
    has: dict[tuple[int, str], int] = field(factory=dict)
    acknowledged: dict[int, tuple[int, object]] = field(factory=dict)

    @classmethod
    def at_start(cls, luck: random.Random, *, at_commit: bool) -> Group:
        voters = frozenset("abcde"[: luck.choice((2, 3, 3, 4, 5))])
        made = cls(luck, at_commit)
        made.nodes = {name: Node(name, [(1, voters)]) for name in sorted(voters)}
        return made

    def voters(self, node: Node) -> frozenset[str]:
        seen = node.log[: node.commit] if self.at_commit else node.log
        return next(what for _, what in reversed(seen) if isinstance(what, frozenset))

    def play(self, steps: int) -> None:
        for _ in range(steps):
            leaders = [one for one in self.nodes.values() if self.leaders.get(one.term) == one.name]
            some = leaders if leaders and self.luck.random() < 0.9 else list(self.nodes.values())
            node = self.luck.choice(some)
            if self.leaders.get(node.term) != node.name:
                self.elect(node)
                continue
            self.luck.choice((self.propose, self.reconfigure, self.send, self.send, self.send))(
                node
            )
            self.count(node)

    def elect(self, node: Node) -> None:
        voters = self.voters(node)
        asked = [self.nodes[name] for name in sorted(voters) if self.luck.random() < 0.7]
        term = max(one.term for one in (*asked, node)) + 1
        node.term = term
        ours = (node.log[-1][0], len(node.log))
        votes = {node.name} & voters
        for one in asked:
            one.term = term
            if (one.log[-1][0], len(one.log)) <= ours:
                votes.add(one.name)
        if len(votes) > len(voters) // 2:
            self.leaders[term] = node.name
            node.log.append((term, self.luck.getrandbits(30)))

    def propose(self, node: Node) -> None:
        node.log.append((node.term, self.luck.getrandbits(30)))

    def reconfigure(self, node: Node) -> None:
        pending = any(isinstance(what, frozenset) for _, what in node.log[node.commit :])
        # An entry of its own term first (4.1; the mistake that was found in 2015).
        if pending or node.log[node.commit - 1][0] != node.term:
            return
        other = self.luck.choice("abcde")
        voters = self.voters(node) ^ {other}
        if voters:
            node.log.append((node.term, voters))
            self.nodes.setdefault(other, Node(other, list(self.nodes["a"].log[:1]), term=0))

    def send(self, node: Node) -> None:
        other = self.nodes[self.luck.choice(sorted(self.nodes))]
        if other is node or other.term > node.term:
            return
        other.term = node.term
        sent = node.log[: self.luck.randint(other.commit, len(node.log))]
        if other.log[: len(sent)] != sent:
            other.log = list(sent)
        other.commit = max(other.commit, min(node.commit, len(sent)))
        self.has[node.term, other.name] = len(sent)

    def count(self, node: Node) -> None:
        for index in range(len(node.log), node.commit, -1):
            voters = self.voters(node)
            has = {node.name} | {
                one for one in voters if self.has.get((node.term, one), 0) >= index
            }
            majority = len(voters & has) > len(voters) // 2
            if node.log[index - 1][0] == node.term and majority:
                node.commit = index
                self.acknowledged |= dict(enumerate(node.log[:index], start=1))
                return

    def logs(self) -> list[RaftLog]:
        return [
            RaftLog(
                name=node.name,
                member=node.name,
                term=node.term,
                last_term=node.log[-1][0],
                last_index=len(node.log),
                commit=node.commit,
                configurations=tuple(
                    Configuration(index=index, term=term, voters=what)
                    for index, (term, what) in enumerate(node.log, start=1)
                    if isinstance(what, frozenset)
                ),
            )
            for node in self.nodes.values()
        ]


@given(st.integers(0, 2**32), st.integers(0, 90), st.booleans())
def test_a_proven_store_has_all_acknowledged_entries(
    seed: int, steps: int, at_commit: bool
) -> None:
    luck = random.Random(seed)
    group = Group.at_start(luck, at_commit=at_commit)
    group.play(steps)
    logs = group.logs()
    some = [one for one in logs if luck.random() < 0.7]
    some = [evolve(one, damaged="bad" if luck.random() < 0.1 else "") for one in some]

    found, whole = (judge(those, at_commit=at_commit) for those in (some, logs))

    assert whole.is_proven, whole  # no node forgot, so no store may seem to have gone back
    assert not found.went_back
    for name in found.latest if found.is_proven else ():
        node = group.nodes[name]
        assert group.acknowledged.items() <= dict(enumerate(node.log, start=1)).items()


def test_played_groups_change_leaders_and_voters_and_some_logs_lack_entries() -> None:
    """Otherwise the claim above could be empty."""
    lacking = changed = led = 0
    for seed in range(150):
        group = Group.at_start(random.Random(seed), at_commit=seed % 2 == 0)
        group.play(60)
        led += len(group.leaders) > 1
        changed += len({group.voters(node) for node in group.nodes.values()}) > 1
        for one in group.logs():
            log = dict(enumerate(group.nodes[one.name].log, start=1))
            lacking += not group.acknowledged.items() <= log.items()

    assert lacking > 20
    assert changed > 20
    assert led > 100


def test_a_voter_with_a_blank_log_does_not_count() -> None:
    """a may have been wiped: with c it may have made a majority for entries that b lacks."""
    blank = RaftLog(name="/a", member="a")

    found = judge([log("b", (2, 5)), blank])

    assert not found.is_proven
    assert found.missing == ("a", "c")
