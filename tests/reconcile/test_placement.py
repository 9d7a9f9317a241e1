"""The placement of a replica: reconciliation, Q3."""

from __future__ import annotations

from attrs import evolve

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.placement import Choice
from joinproto.reconcile.queue import Node, Placing, Settings, Situation, Variant
from tests.reconcile.situations import situation

NODES = (
    Node(name="A", zone="1", load=9),
    Node(name="B", zone="2", load=5),
    Node(name="C", zone="2", load=1),
    Node(name="D", zone="3", load=4),
    Node(name="E", zone="3", load=3),
)
ASKED = evolve(situation("AB", "AB"), nodes=NODES)


def placed(placing: Placing, dice: int = 0) -> str:
    asked = evolve(ASKED, settings=Settings(placement=placing), dice=dice)
    return evaluate(asked).nodes[0]


def test_each_placement_chooses_by_its_own_measure() -> None:
    """Zone comes before load, and load before name; the random one uses the given dice."""
    assert "E" == placed(Placing.ZONE_AWARE)
    assert "C" == placed(Placing.LEAST_LOADED)
    assert ["C", "D", "E", "C"] == [placed(Placing.RANDOM, dice=dice) for dice in range(4)]


def test_a_zone_whose_replica_does_not_run_is_free() -> None:
    """Q3: a lost replica does not protect a zone."""
    nodes = tuple(evolve(node, running=node.name != "B") for node in NODES)
    asked = evolve(
        ASKED, nodes=nodes, queue=evolve(ASKED.queue, members=("A", "B", "D"), away={"B": 99})
    )

    assert ("C",) == evaluate(asked).nodes
    assert evaluate(asked).choice == Choice(
        "C", "C is in zone 2, where no replica runs; its load is 1"
    )


def test_the_shipped_code_chooses_only_at_random() -> None:
    """Real: it chooses uniformly at random, whatever is set."""
    asked = evolve(ASKED, variant=Variant.REAL, dice=1)

    assert ("D",) == evaluate(asked).nodes


def test_an_embedders_function_replaces_the_placement() -> None:
    """Q3: the placement is a port."""

    def last(candidates: tuple[Node, ...], _situation: Situation) -> Choice:
        return Choice(candidates[-1].name, "it is the last")

    assert ("E",) == evaluate(ASKED, last).nodes
