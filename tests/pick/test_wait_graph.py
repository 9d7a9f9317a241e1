"""The wait-for graph, against a small cluster that really starts, stops and dies.

The cluster below is Mnesia as far as it matters: every commit reaches all running
nodes; a running node keeps a list of the running nodes; a node that starts copies the data of a
running node, or loads its own data if it saw all others stop; and if all nodes wait, the node with
the smallest name loads its own data once all disc nodes are up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from joinproto.errors import MisuseError
from joinproto.pick.wait_graph import NodeList, Start, WaitGraph, clusters, wait_graph

DISC = ("a", "b", "c", "d")
RAM = "r"
ALL = (*DISC, RAM)


@define
class Cluster:
    """A small cluster of Mnesia nodes.

    `data`: the commits of each node; `lists`: the nodes that it saw run; `up`: running nodes.
    """

    data: dict[str, set[int]] = field(factory=lambda: {node: set[int]() for node in ALL})
    lists: dict[str, set[str]] = field(factory=lambda: {node: set(ALL) for node in ALL})
    up: set[str] = field(factory=lambda: set(ALL))
    commits: int = 0

    def commit(self) -> None:
        self.commits += 1
        for node in self.up:
            self.data[node].add(self.commits)

    def notice(self) -> None:
        for node in self.up:
            self.lists[node] = set(self.up)

    def stop(self, *nodes: str) -> None:
        """Stop nodes at one moment: none of them sees another of them stop."""
        self.up -= set(nodes)
        for node in set(nodes) - set(DISC):
            self.data[node] = set()
        self.notice()

    def start(self, node: str) -> None:
        """Start one node; a node that would wait stays down.

        A node that would not wait, but lacks data, stays down as well: the order prevents that
        start, after which the lists would not be true any more.
        """
        if self.up:
            self.data[node] = set(self.data[min(self.up)])
        elif (
            node == RAM or self.lists[node] & set(DISC) != {node} or node not in latest_nodes(self)
        ):
            return
        self.up.add(node)
        self.notice()

    def list_of(self, node: str) -> NodeList:
        return NodeList(
            name=node,
            members=frozenset(ALL),
            disc=frozenset(DISC),
            running=frozenset(self.lists[node]),
        )

    def boot(self, order: Iterable[Collection[str]], *, force: str = "") -> Mapping[str, set[int]]:
        """Return each node's data after a start in these stages; nodes that wait are left out."""
        started: set[str] = set()
        loaded: dict[str, set[int]] = {}
        for stage in order:
            started |= set(stage)
            for _ in ALL:  # until no node is left: each round loads at least one
                for node in sorted(started - loaded.keys()):
                    saw_all_stop = self.lists[node] & set(DISC) == {node}
                    if loaded:
                        loaded[node] = next(iter(loaded.values()))
                    elif node != RAM and (saw_all_stop or node == force):
                        loaded[node] = self.data[node]
                if not loaded and set(DISC) <= started:
                    loaded[min(DISC)] = self.data[min(DISC)]
        return loaded


def latest_nodes(cluster: Cluster, among: Collection[str] = DISC) -> set[str]:
    """Return the disc nodes that have every commit that any of them has."""
    everything = set().union(*(cluster.data[node] for node in among))
    return {node for node in among if cluster.data[node] == everything}


Action = tuple[str, frozenset[str]]
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["stop", "start"]), st.frozensets(st.sampled_from(ALL), min_size=1)),
    max_size=14,
)


def cluster_after(actions: Sequence[Action]) -> Cluster:
    """Return a cluster after these actions, all nodes down."""
    cluster = Cluster()
    cluster.commit()
    for what, nodes in actions:
        if what == "stop":
            cluster.stop(*(nodes & cluster.up))
        else:
            for node in sorted(nodes - cluster.up):
                cluster.start(node)
        cluster.commit()
    cluster.stop(*cluster.up)
    return cluster


def graph_of(
    cluster: Cluster, nodes: Collection[str] = ALL, gone: Collection[str] = ()
) -> WaitGraph:
    return wait_graph([cluster.list_of(node) for node in nodes], gone=gone)


@given(ACTIONS)
def test_with_all_lists_the_order_loses_no_commit(actions: list[Action]) -> None:
    """The last nodes have every commit, and the order starts all nodes with every commit."""
    cluster = cluster_after(actions)

    graph = graph_of(cluster)

    if graph.start is Start.UNORDERED:
        assert (RAM,) == graph.lost_ram
        assert set(graph.last) > latest_nodes(cluster)
        return
    assert graph.start in (Start.IN_ORDER, Start.TOGETHER, Start.FORCE)
    assert set(graph.last) == latest_nodes(cluster)
    booted = cluster.boot(graph.order, force=graph.order[0][0] if graph.force else "")
    assert set(ALL) == set(booted)
    assert all(data == cluster.data[graph.last[0]] for data in booted.values())


@given(ACTIONS)
def test_a_node_waits_for_none_if_and_only_if_it_comes_up_alone(actions: list[Action]) -> None:
    """The slow definition of waiting: the node is started alone."""
    cluster = cluster_after(actions)

    graph = graph_of(cluster)

    alone = {item.node: not item.waits_for for item in graph.waits}
    assert {node: bool(cluster.boot([[node]])) for node in ALL} == alone


@given(ACTIONS, st.frozensets(st.sampled_from(DISC), min_size=1, max_size=3))
def test_without_some_lists_no_node_is_wrongly_called_the_last(
    actions: list[Action], withheld: frozenset[str]
) -> None:
    """An order is given only if it loses no commit for any contents of the missing lists."""
    cluster = cluster_after(actions)

    graph = graph_of(cluster, set(ALL) - withheld)

    if graph.start is Start.SUPPLY:
        assert graph.later
        assert set(graph.later) <= withheld
        assert () == graph.order
    elif graph.start is not Start.UNORDERED:
        assert graph.start in (Start.IN_ORDER, Start.TOGETHER, Start.FORCE)
        assert set(graph.last) <= latest_nodes(cluster)
        booted = cluster.boot(graph.order, force=graph.order[0][0] if graph.force else "")
        assert set(ALL) == set(booted)
        assert all(data == cluster.data[graph.last[0]] for data in booted.values())


@given(ACTIONS, st.frozensets(st.sampled_from(DISC), min_size=1, max_size=3))
def test_with_lost_discs_the_other_nodes_start_with_the_latest_data_left(
    actions: list[Action], lost: frozenset[str]
) -> None:
    """No data are lost but those on the lost discs alone, or the order is withheld."""
    cluster = cluster_after(actions)
    rest = set(DISC) - lost

    graph = graph_of(cluster, {*rest, RAM}, gone=lost)

    assert graph.start not in (Start.UNKNOWN, Start.SPLIT, Start.SUPPLY, Start.TOGETHER)
    assert set(graph.later) <= lost
    if graph.order:
        booted = cluster.boot(graph.order, force=graph.order[0][0] if graph.force else "")
        assert {*rest, RAM} == set(booted)
        assert set(graph.last) <= latest_nodes(cluster, rest)
        assert all(data == cluster.data[graph.last[0]] for data in booted.values())
    if graph.start in (Start.IN_ORDER, Start.FORCE):
        assert latest_nodes(cluster, rest) <= latest_nodes(cluster)


def picture(text: str, *, disc: str = "abc", members: str = "abc") -> list[NodeList]:
    """Return lists from "a:abc b:bc c:?": each node, and the nodes that it saw run."""
    found = []
    for item in text.split():
        name, _, ran = item.partition(":")
        found.append(
            NodeList(
                name=name,
                members=frozenset(members),
                disc=frozenset(disc),
                running=None if ran == "?" else frozenset(ran),
            )
        )
    return found


@pytest.mark.parametrize(
    ("lists", "gone", "start", "last", "order"),
    [
        ("a:abc b:bc c:c", "", Start.IN_ORDER, "c", "c b a"),
        ("a:abc c:c", "", Start.IN_ORDER, "c", "c a b"),
        ("a:a b:bc", "", Start.IN_ORDER, "a", "a b c"),
        ("a:abc b:abc c:abc", "", Start.TOGETHER, "abc", "abc"),
        ("a:ab b:ab c:abc", "", Start.TOGETHER, "ab", "abc"),
        ("a:ab b:ab", "", Start.TOGETHER, "ab", "abc"),
        ("a:ab b:ab c:abc", "c", Start.FORCE, "ab", "a b"),
        ("a:abc b:bc c:bc", "", Start.FORCE, "bc", "b c a"),
        ("a:abc b:bc c:abc", "", Start.FORCE, "bc", "b ac"),
        ("b:bc c:bc", "", Start.FORCE, "bc", "b c a"),
        ("a:abc b:bc", "", Start.SUPPLY, "b", ""),
        ("a:abc b:bc c:?", "", Start.SUPPLY, "b", ""),
        ("a:abc b:bc", "c", Start.FORCE_AND_LOSE, "b", "b a"),
        ("a:ac b:bc", "c", Start.FORCE_AND_LOSE, "ab", ""),
        ("a:a b:b c:bc", "", Start.SPLIT, "ab", ""),
        ("a:a b:bc c:bc", "", Start.SPLIT, "abc", ""),
        ("a:ab b:abc c:bc", "", Start.SPLIT, "abc", ""),
        ("a:ab b:bc c:ca", "", Start.SPLIT, "abc", ""),
        ("a:? b:?", "", Start.UNKNOWN, "", ""),
        ("", "", Start.UNKNOWN, "", ""),
    ],
)
def test_each_set_of_lists_gives_its_start(
    lists: str, gone: str, start: Start, last: str, order: str
) -> None:
    """Three nodes: the nodes that each saw run, and the order of the start."""
    graph = wait_graph(picture(lists), gone=gone)

    assert start == graph.start
    assert tuple(last) == graph.last
    assert tuple(tuple(stage) for stage in order.split()) == graph.order


def test_a_ram_node_that_ran_longer_is_named_and_not_waited_for() -> None:
    """Mnesia waits for copies on a disc only; data that were only in memory are lost."""
    graph = wait_graph(picture("a:ar b:abr r:r", disc="ab", members="abr"))

    assert Start.IN_ORDER == graph.start
    assert (("a",), ("b",), ("r",)) == graph.order
    assert ("r",) == graph.lost_ram


def test_two_nodes_are_not_ordered_if_only_a_ram_node_ran_between_them() -> None:
    """r may have run from a's stop to b's start, or from b's to a's."""
    graph = wait_graph(picture("a:ar b:br", disc="ab", members="abr"))

    assert Start.UNORDERED == graph.start
    assert ("a", "b") == graph.last
    assert () == graph.order


def test_after_a_ram_node_any_node_without_a_list_may_have_run_longer() -> None:
    """b could start while only r ran, and no list here would show it."""
    graph = wait_graph(picture("a:ar", disc="ab", members="abr"))

    assert Start.SUPPLY == graph.start
    assert ("b",) == graph.later


def test_alongside_a_ram_node_a_node_without_a_list_may_load_too_soon() -> None:
    """c may have stopped while only r ran: then it waits for none, and is older."""
    graph = wait_graph(picture("a:ab b:ab", disc="abc", members="abcr"))

    assert Start.FORCE == graph.start
    assert (("a",), ("b",), ("c",), ("r",)) == graph.order


def test_nodes_that_count_each_other_are_one_cluster() -> None:
    """c was forgotten by a and b; x and y are another cluster."""
    lists = [
        *picture("a:a b:ab", disc="ab", members="ab"),
        *picture("c:abc"),
        *picture("x:xy y:xy", disc="xy", members="xy"),
    ]

    found = [{item.name for item in group} for group in clusters(lists)]

    assert [{"a", "b"}, {"x", "y"}, {"c"}] == found


def test_two_lists_of_one_node_are_refused() -> None:
    """One of them is a copy, and it is unknown which."""
    with pytest.raises(MisuseError, match="a copy"):
        wait_graph(picture("a:a a:ab"))


def test_the_last_of_300_nodes_is_found() -> None:
    """The tool must compare hundreds of stores."""
    names = [f"n{number:03}" for number in range(300)]
    lists = [
        NodeList(
            name=name,
            members=frozenset(names),
            disc=frozenset(names),
            running=frozenset(names[at:]),
        )
        for at, name in enumerate(names)
    ]

    assert (names[-1],) == wait_graph(lists).last
