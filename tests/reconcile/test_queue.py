"""One evaluation of one queue, Q1 to Q4 and Q6, and the explanation of the decision."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.explain import CHANGES, WHY, why, would_change
from joinproto.reconcile.queue import Kind, Node, Queue, Settings, Situation, Target, Variant
from joinproto.reconcile.tables import TABLES, Action
from tests.reconcile.situations import situation

# Members, nodes, running, drained, auto_remove, and each variant's action.  The column of the real
# variant is the worked table of the code that shipped.
WORKED = [
    ("A", "AB", "AB", "", None, ("noop", "add B", "add B")),
    ("A", "ABC", "ABC", "", None, ("add B", "add B", "add B")),
    ("A", "ABC", "ABC", "B", None, ("noop", "add C", "add C")),
    ("ABC", "ABDE", "ABDE", "", True, ("remove C", "add D", "add D")),
    ("ABC", "ABDE", "ABDE", "", False, ("noop", "add D", "add D")),
    ("ABC", "ABCDE", "ABDE", "", None, ("noop", "wait", "wait")),
    ("AB", "ABD", "ABD", "", None, ("add D", "add D", "add D")),
    ("ABDE", "ABDE", "ABDE", "", None, ("noop", "noop", "noop")),
    ("ABCD", "ABD", "ABD", "", None, ("noop", "remove C", "remove C")),
]


ROWS = [
    (*row[:4], removes, row[5])
    for row in WORKED
    for removes in ((None, True, False) if row[4] is None and row[0] != "ABCD" else (row[4],))
]
"""A row for each value where the worked table says "any"; the row of ABCD has only the default."""


@pytest.mark.parametrize(("members", "nodes", "running", "drained", "removes", "does"), ROWS)
def test_each_variant_does_what_its_worked_table_says(
    members: str, nodes: str, running: str, drained: str, removes: bool | None, does: tuple[str]
) -> None:
    """The target is 3; each row has the actions of the shipped code, of the design and of ours."""
    found = []
    for variant in (Variant.REAL, Variant.SEED, Variant.OURS):
        asked = situation(
            members, nodes, running=running, drained=drained, auto_remove=removes, variant=variant
        )
        decision = evaluate(asked)
        found.append(" ".join((decision.action.value, *decision.nodes)))
    assert list(does) == found


@pytest.mark.parametrize(
    ("members", "nodes", "rounds"),
    [
        ("A", "ABC", {"add B, add C", "add C, add B"}),
        ("ABC", "ABDE", {"remove C, add D", "remove C, add E"}),
    ],
)
def test_the_next_rounds_agree_with_the_worked_table(
    members: str, nodes: str, rounds: set[str]
) -> None:
    """Real: add B or C, in the next round the other; remove C, in the next round add D or E."""
    found = set()
    for dice in (0, 1):
        asked = situation(members, nodes, auto_remove=True, variant=Variant.REAL)
        does = []
        for _ in range(2):
            decision = evaluate(evolve(asked, dice=dice))
            does.append(" ".join((decision.action.value, *decision.nodes)))
            after = tuple(sorted(set(asked.members) ^ set(decision.nodes)))
            asked = evolve(asked, queue=evolve(asked.queue, members=after))
        assert Action.NOTHING is evaluate(asked).action
        found.add(", ".join(does))
    assert rounds == found


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (0, "one more running node without a replica, not in maintenance"),
        (2, "one more running node without a replica, not in maintenance"),
        (4, "auto_remove; or C removed from the queue by hand"),
        (5, "C removed from the queue by hand; or a higher number, and C running"),
        (7, "a number over 4, and one more running node without a replica, not in maintenance"),
    ],
)
def test_each_noop_of_the_worked_table_names_the_facts_that_would_change_it(
    row: int, said: str
) -> None:
    """Explaining, real; test_explain.py makes the named changes."""
    members, nodes, running, drained, removes, _ = WORKED[row]
    decision = evaluate(
        situation(
            members,
            nodes,
            running=running,
            drained=drained,
            auto_remove=removes,
            variant=Variant.REAL,
        )
    )

    assert (Action.NOTHING, said) == (decision.action, would_change(decision))


def test_enough_names_the_number_or_the_loss_that_would_change_it() -> None:
    """Explaining, ours: the loss of three of five is not named, because no majority would run."""
    five, three = situation("ABDEF", "ABCDEF"), situation("ABD", "ABDE")

    assert "a number over 5" == would_change(evaluate(five))
    assert "a higher number; or the loss of a replica" == would_change(evaluate(three))


def test_no_replica_is_added_for_a_lost_one_if_the_queue_survives_enough_failures() -> None:
    """Q4: four of five run, and one more may fail, as with three of three."""
    more = {"running": "ABCDFG", "away": {"E": 60.0}, "auto_remove": False}

    asked = situation("ABCDE", "ABCDEFG", **more)  # type: ignore[arg-type]

    assert (Action.NOTHING, "enough") == (evaluate(asked).action, evaluate(asked).case.name)
    higher_target = situation("ABCDE", "ABCDEFG", target=5, **more)  # type: ignore[arg-type]
    assert Action.ADD is evaluate(higher_target).action


def test_real_drops_all_departed_nodes_in_one_round_and_ours_one_a_round() -> None:
    """Q4: one change of one queue at a time."""
    real = situation("ABCDE", "ABC", auto_remove=True, variant=Variant.REAL)
    ours = situation("ABCDE", "ABC", auto_remove=True)

    assert ("D", "E") == evaluate(real).nodes
    assert ("D",) == evaluate(ours).nodes


def test_a_replica_that_is_away_for_the_interval_is_replaced() -> None:
    """Q2, the design: it is not replaced earlier, because its node may merely be restarting."""
    soon = situation("ABC", "ABCDE", running="ABDE", away={"C": 59.9})
    late = evolve(soon, queue=evolve(soon.queue, away={"C": 60.0}))

    assert Action.WAIT is evaluate(soon).action
    assert "C staying away for 0.1 more seconds" == would_change(evaluate(soon))
    assert ("D",) == evaluate(late).nodes
    assert Action.NOTHING is evaluate(evolve(late, variant=Variant.REAL)).action


@pytest.mark.parametrize(
    ("more", "case"),
    [
        ({"changing": "add D"}, "a change is under way"),
        ({"running": "ACD"}, "no majority"),
        ({"behind": ("B",)}, "one catches up"),
    ],
)
def test_ours_begins_no_change_during_a_change_or_without_a_majority(
    more: dict[str, str], case: str
) -> None:
    """Q4: the design's table would add a replica in each case."""
    asked = situation("AB", "ABCD", **more)  # type: ignore[arg-type]

    assert case == evaluate(asked).case.name
    assert Action.WAIT is evaluate(asked).action
    assert Action.ADD is evaluate(evolve(asked, variant=Variant.SEED)).action


@pytest.mark.parametrize("variant", Variant)
def test_no_replica_changes_while_a_fact_is_unknown(variant: Variant) -> None:
    """Q2: an empty cluster means that the question failed, not that all nodes are gone."""
    unknown = situation("ABC", "", auto_remove=True, variant=variant)
    silent = evolve(unknown, nodes=(Node(name="A"),), queue=Queue(members=None, leader="A"))

    assert "the nodes are not known" == evaluate(unknown).case.name
    assert "the members are not known" == evaluate(silent).case.name
    assert () == evaluate(unknown).nodes == evaluate(silent).nodes


@pytest.mark.parametrize("variant", Variant)
def test_only_the_leader_evaluates(variant: Variant) -> None:
    """Q2: therefore two nodes never change one queue."""
    asked = evolve(situation("AB", "ABC", variant=variant, leader="B"), at="A")

    assert "another node leads" == evaluate(asked).case.name
    assert "B leads and evaluates the queue, not A" == why(evaluate(asked))


def test_a_queue_without_a_target_is_not_changed() -> None:
    """Q1: without a setting the target is 0; even then, the shipped code drops a departed node."""
    asked = situation("ABC", "AB", target=None, auto_remove=True)

    assert "no target" == evaluate(asked).case.name
    assert ("C",) == evaluate(evolve(asked, variant=Variant.REAL)).nodes


def test_a_full_node_takes_no_replica() -> None:
    """Q3, ours: no other variant checks this."""
    asked = situation("AB", "AB")
    full = Node(name="C", full=True)
    asked = evolve(asked, nodes=(*asked.nodes, full))

    assert "no free node" == evaluate(asked).case.name
    assert "without a replica, not in maintenance or full" in str(would_change(evaluate(asked)))
    assert ("C",) == evaluate(evolve(asked, variant=Variant.SEED)).nodes


def test_a_stream_gets_the_same_replica_as_a_quorum_queue() -> None:
    """Q6: the rules are the same for streams."""
    queue, stream = (situation("AB", "ABC", kind=kind) for kind in Kind)

    assert evaluate(queue).nodes == evaluate(stream).nodes == ("C",)


def test_every_case_has_a_reason_in_words() -> None:
    """Explaining: each case has a reason; one without a change names the facts for a change."""
    for table in TABLES.values():
        for case in table.cases:
            assert case.name in WHY
            assert (case.name in CHANGES) == (case.outcome in (Action.NOTHING, Action.WAIT))


def test_a_drained_leader_of_the_shipped_code_evaluates_no_queue() -> None:
    """Q2, real: another node will lead soon."""
    asked = situation("A", "ABC", drained="A", variant=Variant.REAL)

    assert "in maintenance" == evaluate(asked).case.name


def test_the_even_rule_of_the_shipped_code_holds_a_queue_below_its_target() -> None:
    """Real, scenario One with a target of 5 and four remaining nodes: 3 replicas for ever."""
    asked = situation("ABC", "ABCD", target=5, variant=Variant.REAL)

    told = "one more replica would make 4, and no second node could take another"
    assert told == why(evaluate(asked))
    assert ("D",) == evaluate(evolve(asked, variant=Variant.OURS)).nodes


def test_a_node_that_left_keeps_the_shipped_code_from_repairing() -> None:
    """Real: without auto_remove, a forgotten node still counts, and no replica is ever added."""
    asked = situation("ABC", "ABDE", auto_remove=False, variant=Variant.REAL)

    assert (
        "3 of 3 wanted replicas are there, because C counts, although it left the cluster"
        == why(evaluate(asked))
    )


def test_settings_may_keep_replicas_of_nodes_that_left() -> None:
    """Q4, ours: replicas are removed unless this is switched off."""
    asked = situation("ABCD", "ABC")
    kept = evolve(asked, settings=Settings(auto_remove=False))

    assert ("D",) == evaluate(asked).nodes
    assert "enough" == evaluate(kept).case.name


def final_members(asked: Situation) -> list[str]:
    """Return the nodes that have a replica when no change is left."""
    for _ in range(20):
        decision = evaluate(asked)
        members = set(asked.members)
        if not decision.nodes:
            return sorted(members)
        if decision.action is Action.ADD:
            members |= set(decision.nodes)
        else:
            members -= set(decision.nodes)
        asked = evolve(asked, queue=evolve(asked.queue, members=tuple(sorted(members))))
    raise AssertionError("the changes never end")


@pytest.mark.parametrize("variant", [Variant.SEED, Variant.OURS])
def test_the_scenarios_of_the_design_end_as_the_design_says(variant: Variant) -> None:
    """One: D replaces C.  Two: D was added by hand; C is removed.  Three: no replica changes."""
    one = situation("ABC", "ABDE", variant=variant)
    two = situation("ABCD", "ABDE", variant=variant, away={"C": 60.0})
    three = situation("ABC", "ABCDE", variant=variant)

    assert ["A", "B", "D"] == final_members(one)
    assert ["A", "B", "D"] == final_members(two)
    assert ["A", "B", "D", "E"] == final_members(
        evolve(two, queue=evolve(two.queue, members=tuple("ABCDE")))
    )
    assert ["A", "B", "C"] == final_members(three)


@pytest.mark.parametrize("variant", Variant)
def test_a_leader_that_does_not_run_changes_nothing(variant: Variant) -> None:
    """Q4: the leader is down or has left; no node changes the queue, even if a majority runs."""
    down = situation("ABC", "ABCDE", running="BCDE", target=5, variant=variant, leader="A")
    left = situation("ABC", "BCDE", target=5, variant=variant, leader="A", auto_remove=True)

    for asked in (down, left):
        assert "the leader is down" == evaluate(asked).case.name
        assert "A must evaluate the queue, and does not run" == why(evaluate(asked))
        assert () == evaluate(asked).nodes


def test_a_running_member_leads_if_no_leader_is_named() -> None:
    """Explaining: without a named leader, a member that can lead must evaluate."""
    asked = situation("ABC", "ABCD", running="BCD", away={"A": 60.0})

    assert "B" == asked.evaluator
    assert ("D",) == evaluate(asked).nodes


def test_a_replica_may_be_away_although_its_node_runs() -> None:
    """Q2: ours uses facts about each replica; the shipped code looks only at nodes."""
    asked = situation("ABC", "ABCD", away={"C": 75.0})
    soon = situation("ABC", "ABCD", away={"C": 5.0})

    assert ("D",) == evaluate(asked).nodes
    assert "C is away, for 5 of 60 seconds" == why(evaluate(soon))
    assert Action.NOTHING is evaluate(evolve(asked, variant=Variant.REAL)).action
    most = situation("ABC", "ABCD", away={"B": 75.0, "C": 75.0})
    assert "1 of 3 replicas run, and a change needs 2" == why(evaluate(most))


@pytest.mark.parametrize("variant", Variant)
def test_a_queue_without_members_counts_as_a_queue_that_did_not_answer(variant: Variant) -> None:
    """Q2: no node could lead such a queue, so the list was not read."""
    assert "the members are not known" == evaluate(situation("", "AB", variant=variant)).case.name


def test_queues_of_one_name_have_two_titles() -> None:
    """Explaining: the virtual host tells them apart."""
    assert ["q", "q in v"] == [Queue(name="q", vhost=one).title for one in ("/", "v")]


def test_a_queue_without_a_leader_does_not_count_as_enough() -> None:
    """Q2: all replicas follow, and no message is committed (rabbitmq-server 15725, 14779)."""
    for variant in Variant:
        asked = situation("ABC", "ABCD", leader=None, variant=variant)
        found = evaluate(asked)

        assert (Action.WAIT, "no leader") == (found.action, found.case.name)
        assert "no node leads" in why(found)
        assert "look at the logs of A, B and C" in str(would_change(found))


def test_a_forced_shrink_is_named_if_a_majority_is_lost_for_good() -> None:
    """Explaining, ours: the explanation names the cost; a node that may come back is waited for."""
    lost = situation("ABC", "ABCDE", running="ADE", away={"B": 75.0, "C": 75.0})
    gone = situation("ABC", "ADE")
    soon = situation("ABC", "ABCDE", running="ADE", away={"B": 75.0, "C": 5.0})

    for asked in (lost, gone):
        told = str(would_change(evaluate(asked)))
        assert "a forced shrink to A, which loses the messages that only other replicas had" in told
    assert "1 more of B and C running" == would_change(evaluate(soon))


def test_an_argument_makes_the_shipped_broker_grow_a_queue_to_an_odd_number_of_nodes() -> None:
    """Real, Q1: it grows to the largest odd number (rabbitmq-server 17307), unlike by a policy."""
    ten, target = "ABCDEFGHIJ", {"policy": 3, "configuration": 3}
    asked = situation("ABC", ten, variant=Variant.REAL)
    by_argument = evolve(asked, queue=evolve(asked.queue, target=Target(argument=3, **target)))
    by_policy = evolve(asked, queue=evolve(asked.queue, target=Target(**target)))

    assert 9 == len(final_members(by_argument))
    assert 3 == len(final_members(by_policy))
    assert "3 replicas are there, and the argument asks for one on each node" in why(
        evaluate(by_argument)
    )


def test_a_configured_size_of_0_ends_the_shipped_brokers_process() -> None:
    """Real, Q1: the check of the settings accepts 0."""
    found = evaluate(situation("A", "ABC", target=0, variant=Variant.REAL))

    assert (Action.NOTHING, "it fails") == (found.action, found.case.name)
    assert "the evaluating process ends" in why(found)
