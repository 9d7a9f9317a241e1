"""RabbitMQ's Mnesia directory: examples, and directories of real nodes."""

import pytest

from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto.pick.wait_graph import Start
from joinproto.recovery.foreign.rabbitmq import clustered, one_sided_memberships, wait_graphs
from joinproto.recovery.foreign.wait_words import advice_of, graph_lines
from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.judgement import judge
from tests.recovery.foreign.directories import findings_in, stories, story

ABC = "{[a@h,b@h,c@h],[a@h,b@h,c@h]}.\n"


def node(running: str, cluster: str = ABC, *, path: str = "a@h", **more: str) -> Found:
    files = {"cluster_nodes.config": cluster, "nodes_running_at_shutdown": running, **more}
    return findings_in(Format.RABBITMQ, files, path=path)


# -- examples ------------------------------------------------------------------------------


def test_the_next_command_names_one_of_two_clusters_whose_names_begin_alike() -> None:
    """`rabbit@h`, the usual length of a short id, is the beginning of both names."""
    cluster = "{{[rabbit@host{0},rabbit@x{0}],[rabbit@host{0},rabbit@x{0}]}}."
    lone = [
        node(f"[rabbit@host{at}].", cluster.format(at), path=f"rabbit@host{at}") for at in (1, 2)
    ]
    found = judge(clustered(lone), words=["x", "y"])

    assert Verdict.DIFFERENT_CLUSTERS == found.verdict
    assert "joinproto recover pick --cluster rabbit@host1 x y" == found.next
    chosen = judge(clustered(lone), cluster="rabbit@host1")
    assert ("rabbit@host1",) == tuple(one.member for one in chosen.stores)


def test_a_list_shows_which_nodes_ran() -> None:
    """A stop and a kill leave the same list, so a node is never clean."""
    found = node("[a@h,c@h].\n", path="x/a@h")

    assert (State.DIRTY, "a@h") == (found.state, found.member)
    assert found.last_view is not None
    assert {"a@h", "c@h"} == found.last_view.members
    assert not found.stopped_last


def test_a_node_that_lists_only_itself_stopped_last() -> None:
    """This node waits for no other."""
    assert node("[a@h].").stopped_last


def test_a_list_without_the_node_itself_is_not_used() -> None:
    """An interrupted start wrote the list of another node."""
    found = node("[b@h].")

    assert found.last_view is None
    assert not found.stopped_last
    assert "cut off" in found.problems[0]


@pytest.mark.parametrize("path", ["copy", ".", "", "d@h"])
def test_the_node_of_a_directory_with_another_name_is_unknown(path: str) -> None:
    """No text file has the node's name."""
    found = node("[a@h].", path=path)

    assert ("", None, False) == (found.member, found.last_view, found.stopped_last)
    assert "the name of this node is not known" in found.problems[0]


def test_a_lone_node_is_known_in_a_directory_of_another_name() -> None:
    """Its lists name only one node."""
    assert "a@h" == node("[a@h].", "{[a@h],[a@h]}.", path="copy").member


def test_a_ram_node_is_an_empty_store() -> None:
    """Nodes that stopped before it report this."""
    cluster = "{[a@h,b@h],[a@h]}."
    ram, disc = node("[b@h].", cluster, path="b@h"), node("[a@h,b@h].", cluster)

    assert State.EMPTY == ram.state
    assert not disc.stopped_last
    assert "kept no data on disc" in disc.problems[0]


def test_a_requested_forced_start_is_reported() -> None:
    """rabbitmqctl force_boot leaves an empty file."""
    found = node("[a@h,b@h].", force_load="")

    assert any("waits for no other" in line for line in found.problems)


def test_quoted_names_are_read() -> None:
    """Hosts may have a dash or a dot."""
    name = "rabbit@mq-0.example"
    found = node(f"['{name}'].", f"{{['{name}'],['{name}']}}.", path=f"mnesia/{name}")

    assert name == found.member


@pytest.mark.parametrize(
    ("cluster", "running", "problem"),
    [
        ("", "[a@h].", "is empty"),
        (ABC[:-3], "[a@h].", "cut off"),
        (ABC, "[a@h]", "cut off"),
        (ABC, "[a@h", "cut off"),
        (ABC, "[a@h]. [b@h].", "more text"),
        (ABC, "{a@h}.", "expected a list"),
        (ABC, "[[a@h]].", "expected names"),
        (ABC, "[a@h,a@h].", "twice"),
        (ABC, "[a].", "not the name of a node"),
        (ABC, "[x@h].", "not a node of the cluster"),
        ("[a@h].", "[a@h].", "expected two lists"),
        ("{[a@h]}.", "[a@h].", "expected two lists"),
        ("{[],[]}.", "[].", "names no node"),
        (ABC, "[1].", "not expected"),
        (ABC, '["a@h"].', "not expected"),
        (ABC, "['a@\\x{e9}'].", "escape"),
        (ABC, "[" * 5000, "more than 50 brackets in brackets"),
        (ABC, "[a@h,].", "expected a name"),
        (ABC, "\N{SNOWMAN}", "not ASCII"),
    ],
)
def test_a_file_that_rabbitmq_does_not_write_is_corrupt(
    cluster: str, running: str, problem: str
) -> None:
    """The problem says what is wrong in the text."""
    found = node(running, cluster)

    assert State.CORRUPT == found.state
    assert problem in found.problems[0]


@pytest.mark.parametrize("name", ["cluster_nodes.config", "nodes_running_at_shutdown"])
def test_one_file_without_the_other_is_unreadable(name: str) -> None:
    """A missing file proves nothing."""
    text = {"cluster_nodes.config": ABC, "nodes_running_at_shutdown": "[a@h]."}[name]

    assert State.UNREADABLE == findings_in(Format.RABBITMQ, {name: text}, path="a@h").state


def test_the_lists_of_two_copies_of_a_node_are_not_used() -> None:
    """The files do not show with which copy the node continued."""
    lists = [node("[a@h]."), node("[a@h,b@h,c@h].", path="old/a@h"), node("[b@h,c@h].", path="b@h")]

    (graph,) = wait_graphs(lists)

    assert Start.SUPPLY == graph.start
    assert "a@h" in graph.unheard


# -- which cluster -------------------------------------------------------------------------


def test_two_clusters_that_never_met_are_two_clusters() -> None:
    """Each cluster has a node that stopped last, but this is not a split."""
    one = node("[a@h].", "{[a@h],[a@h]}.", path="a@h")
    other = node("[x@h].", "{[x@h],[x@h]}.", path="x@h")

    found = clustered([one, other])

    assert ["a@h", "x@h"] == [item.cluster for item in found]
    assert Verdict.DIFFERENT_CLUSTERS == pick([item.candidate for item in found]).verdict


def test_nodes_of_one_cluster_need_not_name_the_same_members() -> None:
    """c joined while a was down.  b's store is missing, but a and c both count b as a member."""
    a = node("[a@h].", "{[a@h,b@h],[a@h,b@h]}.", path="a@h")
    c = node("[b@h,c@h].", "{[b@h,c@h],[b@h,c@h]}.", path="c@h")

    assert {"a@h"} == {item.cluster for item in clustered([c, a])}


def test_a_node_without_a_known_name_is_of_no_cluster() -> None:
    """The reader does not guess."""
    lost = node("[a@h].", path="copy")

    assert [""] == [item.cluster for item in clustered([lost])]


def test_a_forgotten_node_is_of_the_cluster_that_forgot_it() -> None:
    """c counts the members, so it was once a member itself."""
    found = clustered(list(story("rabbitmq-forgotten").values()))

    assert {"a@localhost"} == {item.cluster for item in found}


# -- directories of real nodes -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start", "last", "order", "verdict"),
    [
        ("stopped-in-turn", Start.IN_ORDER, "c", "c b a", Verdict.PROVEN),
        ("killed-in-turn", Start.IN_ORDER, "a", "a b c", Verdict.PROVEN),
        ("killed-together", Start.TOGETHER, "abc", "abc", Verdict.TIE),
        ("smallest-is-older", Start.FORCE, "bc", "b c a", Verdict.TIE),
        ("smallest-is-older-forced", Start.FORCE, "bc", "b c a", Verdict.TIE),
        ("start-cut-off", Start.SUPPLY, "ab", "", Verdict.UNPROVEN),
        ("ram-node-last", Start.IN_ORDER, "a", "a b c", Verdict.UNPROVEN),
        ("forgotten", Start.IN_ORDER, "a", "a b", Verdict.PROVEN),
        ("split", Start.SPLIT, "ab", "", Verdict.DIVERGED),
    ],
)
def test_the_lists_of_real_nodes_give_this_start_and_verdict(
    name: str, start: Start, last: str, order: str, verdict: Verdict
) -> None:
    """story.txt, next to the files, says which node was last, and what a start did."""
    found = list(story(f"rabbitmq-{name}").values())

    graph = wait_graphs(found)[0]

    assert start == graph.start
    assert [f"{node}@localhost" for node in last] == list(graph.last)
    assert [[f"{node}@localhost" for node in stage] for stage in order.split()] == [
        list(stage) for stage in graph.order
    ]
    assert verdict == pick([item.candidate for item in found]).verdict


def test_there_are_nine_stories_of_rabbitmq_and_five_of_galera() -> None:
    """A new story must be added to the tests of its broker, too."""
    assert 9 == len(stories("rabbitmq"))
    assert 5 == len(stories("galera"))


def test_the_advice_says_why_not_to_start_all_at_once() -> None:
    """Real nodes lost two queues when all were started at once, and no queue with the advice."""
    (graph,) = wait_graphs(list(story("rabbitmq-smallest-is-older").values()))

    advice = advice_of(graph)

    assert "do not just start all" in advice
    assert "rabbitmqctl -n b@localhost force_boot" in advice


def test_a_forgotten_node_is_named() -> None:
    """c counts the other nodes, and they do not count c."""
    found = list(story("rabbitmq-forgotten").values())

    assert 2 == len(one_sided_memberships(found))
    assert all(line.startswith("c@localhost") for line in one_sided_memberships(found))


def test_with_a_lost_disc_the_graph_names_the_node_to_force_and_the_lost_node() -> None:
    """c stopped last and its disc is gone; b ran longer than a."""
    found = story("rabbitmq-stopped-in-turn")
    del found["c@localhost"]

    (graph,) = wait_graphs(list(found.values()), gone=["c@localhost"])

    assert Start.FORCE_AND_LOSE == graph.start
    assert ("b@localhost",) == graph.force
    assert ("c@localhost",) == graph.later
    assert "c@localhost is lost" in graph_lines(graph)[-1]
