"""The scenes of the Clusterer's worlds: the history before each, and the events that may come in
any order.

Nodes are letters.  The first `before` steps of a story are played one after the other.  The steps
after them are searched, also one after the other; the events inside one step may come in any order.

Source: Clusterer, U1 to U7, and the corner cases and holes of RabbitMQ's Clusterer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from attrs import frozen

from joinproto.clusterer import broker
from joinproto.clusterer.simulator import Simulator
from joinproto.clusterer.story import Action, Op, Story, StoryStep
from joinproto.clusterer.variants import Variant

Steps = tuple[tuple[Action, ...], ...]


@frozen
class Scene:
    """A story.  `before`: how many of its steps come before the search.  `writes`: clients write
    between its steps.

    `rounds_are_split`: each question and each answer of a round is its own step, and may be late.
    """

    story: Story
    before: int
    writes: bool
    rounds_are_split: bool

    def write(self, sim: Simulator) -> None:
        """Give each running cluster data that no other cluster has."""
        if not self.writes:
            return
        labels = {}
        for name, disk in sim.disks.items():
            if disk.runs:
                cluster = [name, *broker.cluster(name, sim.disks, sim.reaches)]
                labels[name] = f"{disk.data}+{min(cluster)}"
        for name, label in labels.items():
            sim.disks[name].data = label


def config(version: int, nodes: str, gospel: str | None) -> dict[str, Any]:
    """Return a config; a gospel of None stands for "reset"."""
    return {
        "version": version,
        "nodes": dict.fromkeys(nodes, "disc"),
        "gospel": "reset" if gospel is None else {"node": gospel},
        "shutdown_timeout": 30,
    }


def start(node: str, given: dict[str, Any] | None = None) -> Action:
    return Action(op=Op.START, node=node, config=given)


def stop(node: str) -> Action:
    return Action(op=Op.STOP, node=node)


def reset(node: str) -> Action:
    return Action(op=Op.RESET, node=node)


def apply(node: str, given: dict[str, Any]) -> Action:
    return Action(op=Op.APPLY, node=node, config=given)


def cut(one: str, other: str) -> Action:
    return Action(op=Op.CUT, between=((one,), (other,)))


AB, ABC = config(1, "ab", "a"), config(1, "abc", "a")
TWO: Steps = ((start("a", AB), start("b")),)
GROWN = config(2, "abc", "a")
THREE: Steps = ((start("a", ABC), start("b"), start("c")),)
APART = cut("a", "b")
HEAL = Action(op=Op.HEAL)


def _one(*steps: Action) -> Steps:
    return tuple((step,) for step in steps)


SCENES: dict[str, tuple[Steps, Steps]] = {
    "order": (
        (*TWO, *_one(stop("b"), apply("a", config(2, "ab", "a")))),
        ((start("b", config(1, "ab", "b")),),),
    ),
    "reading": (TWO, ((apply("a", config(2, "ab", "z")),),)),
    "gospel": ((*TWO, *_one(reset("a"))), ((start("a", config(2, "ab", "a")),),)),
    "form": ((), ((start("a", AB), start("b")),)),
    "join": ((*TWO, *_one(reset("a"))), ((start("a"),),)),
    "rejoin": ((*TWO, *_one(stop("a"), stop("b"))), ((start("a"), start("b")),)),
    "stop-apart": (TWO, ((stop("a"),), (stop("b"),), (start("a"), start("b")))),
    "locks": (
        (*THREE, *_one(APART, stop("a"), stop("b"), HEAL, stop("c"))),
        ((start("a", config(2, "ab", "a")), start("b", config(2, "ab", "a"))),),
    ),
    "leave": (
        TWO,
        ((apply("b", config(2, "a", "a")),), (apply("b", config(3, "bd", "d")), start("d"))),
    ),
    "spread": (
        (*TWO, *_one(stop("a"), stop("b"), start("a"))),
        ((start("c", config(2, "ac", "a")),),),
    ),
    "hole-1": (
        (
            *TWO,
            *_one(stop("a"), apply("b", config(2, "abc", "a")), start("c"), stop("b"), reset("a")),
        ),
        ((start("a"),),),
    ),
    "hole-2": ((*TWO, *_one(stop("a"), stop("b"), reset("a"), start("a"))), ((start("b"),),)),
    "hole-3": (
        (
            *TWO,
            *_one(
                stop("a"),
                stop("b"),
                start("a", config(2, "a", None)),
                apply("a", config(3, "ab", "a")),
                stop("a"),
                start("b"),
            ),
        ),
        ((start("a"),),),
    ),
    "hole-4": (
        (
            *TWO,
            *_one(
                stop("a"),
                stop("b"),
                start("a", config(2, "a", "a")),
                apply("a", config(3, "ab", "a")),
                stop("a"),
                start("b"),
            ),
        ),
        ((start("a"),),),
    ),
    "hole-5": (
        (*THREE, *_one(reset("a"), cut("a", "c"))),
        ((start("a", config(2, "abc", "a")),), (HEAL,)),
    ),
    "hole-6": (
        (*THREE, *_one(apply("a", config(2, "ab", "a")))),
        ((start("d", config(3, "cd", "d")),),),
    ),
    "hole-7": ((*TWO, *_one(reset("b"))), ((start("b"), stop("a")),)),
    "hole-7-again": ((*TWO, *_one(reset("b"))), ((start("b"), stop("a")), (start("a"),))),
    "hole-8": (
        (*TWO, *_one(apply("a", GROWN), apply("a", config(3, "abc", "c")))),
        ((start("c"),),),
    ),
    "hole-9": (
        (*THREE, *_one(reset("a"))),
        ((start("a"), apply("b", config(2, "ac", "a"))),),
    ),
    "hole-10": (
        (*TWO, *_one(reset("b"))),
        ((start("b"), stop("b")), (stop("a"),), (start("b"),), (start("a"),)),
    ),
    "hole-11": (
        (
            (start("a", config(1, "ac", "a")), start("c")),
            *_one(apply("a", GROWN), cut("b", "c"), start("b")),
            *_one(reset("b"), HEAL),
        ),
        ((start("b"), apply("c", config(3, "ab", "b"))),),
    ),
    "hole-12": (
        (*TWO, *_one(reset("b"))),
        ((start("b"), apply("b", config(2, "ab", "a")), apply("b", config(3, "ab", "b"))),),
    ),
    "hole-6-circle": (
        (*THREE, *_one(stop("a"), stop("b"), stop("c"))),
        ((start("a"), start("b"), start("c")),),
    ),
    "hole-6-stranger": (
        THREE,
        ((apply("c", config(2, "ab", "a")),), (reset("a"),), (start("a"),)),
    ),
    "newcomers": (
        _one(start("a", config(1, "a", "a")), start("b"), start("c")),
        (
            (apply("a", GROWN),),
            (stop("c"), stop("a")),
            (apply("b", config(3, "bc", "c")),),
        ),
    ),
    "left-out-starts": (
        (
            *THREE,
            *_one(apply("a", config(2, "ab", None)), stop("c")),
            *_one(apply("a", config(3, "abc", "a")), stop("b")),
        ),
        ((start("c", config(4, "abc", "a")),),),
    ),
    "left-out-apart": (
        (*TWO, *_one(APART, apply("a", config(2, "a", "a")))),
        ((apply("b", config(3, "ab", "a")),), (HEAL,)),
    ),
    "left-out-gospel": (
        (
            *TWO,
            *_one(APART, apply("b", config(2, "b", "b"))),
            *_one(apply("b", config(3, "ab", "b"))),
        ),
        ((apply("a", config(4, "ab", "a")),), (HEAL,)),
    ),
    "left-out-later": (
        (*TWO, *_one(stop("b"), apply("a", config(2, "c", "c")))),
        ((apply("a", config(3, "ab", "a")), start("b")),),
    ),
    "left-out-since": (
        (*TWO, *_one(stop("b"), apply("a", config(2, "b", "b")))),
        ((apply("a", config(3, "ab", "a")), start("b")),),
    ),
    "two-ready": (
        (
            *THREE,
            *_one(APART, cut("a", "c"), apply("a", config(2, "a", None)), reset("b")),
            *_one(apply("c", config(3, "abc", "a"))),
        ),
        ((Action(op=Op.HEAL, between=(("a",), ("b",))), start("b")),),
    ),
    "two-ready-reset": (
        (
            (start("b", config(1, "bc", "b")), start("c"), start("a", config(2, "a", "a"))),
            *_one(cut("b", "c"), reset("b"), start("b")),
        ),
        ((apply("a", config(3, "abc", "b")),),),
    ),
    "old-memory": (
        (
            *TWO,
            *_one(stop("b"), reset("a"), start("a", config(2, "a", "a"))),
            *_one(apply("a", config(3, "ab", "a"))),
        ),
        ((start("b", config(4, "ab", "a")),),),
    ),
    "paused": (
        (*TWO, (Action(op=Op.PAUSE, node="b"),)),
        ((apply("a", config(2, "ab", None)), Action(op=Op.RESUME, node="b")),),
    ),
    "paused-late": (
        TWO,
        (
            (apply("a", config(2, "a", "a")), Action(op=Op.PAUSE, node="b")),
            (apply("a", config(3, "ab", "a")), Action(op=Op.RESUME, node="b")),
        ),
    ),
    "paused-stranger": (
        _one(
            start("a", config(1, "a", "a")),
            start("b", config(1, "b", "b")),
            Action(op=Op.PAUSE, node="a"),
        ),
        ((apply("b", config(2, "ab", "b")), Action(op=Op.RESUME, node="a")),),
    ),
    "two-sides": (
        (*TWO, *_one(APART, reset("b"), start("b"))),
        ((apply("a", config(2, "ab", "b")), apply("b", config(2, "ab", "b"))),),
    ),
    "conflict": ((), ((start("a", AB), start("b", config(1, "ab", "b"))),)),
    "splits": ((*TWO, *_one(stop("b"))), ((start("b", config(2, "b", "b")),),)),
    "late-word": (
        (*TWO, *_one(stop("b"))),
        ((start("b"), stop("a")), (start("a"),)),
    ),
    "late-word-join": (
        (*TWO, *_one(reset("b"))),
        ((start("b"), stop("a")), (start("a"),)),
    ),
}
"""For each scene the steps of its history, and the steps whose events may come in any order."""
SCENES["order-of-locks"] = SCENES["locks"]
SCENES["late-lock"] = (
    (*TWO, *_one(stop("a"), stop("b"), start("a"))),
    ((start("b"), apply("a", config(2, "ab", "a"))),),
)

WRITING = frozenset(
    {
        "rejoin",
        "stop-apart",
        "hole-4",
        "late-word",
        "left-out-apart",
        "left-out-gospel",
        "left-out-later",
        "left-out-since",
    }
)
"""Scenes in which clients write; labels of the data name the clusters that clients wrote to."""
SPLIT = frozenset({"late-word", "late-word-join", "late-lock", "order-of-locks"})
"""Scenes in which a node that has answered may be gone before the answer comes."""


@lru_cache
def scene(title: str, variant: str) -> Scene:
    before, after = SCENES[title]
    steps = tuple(StoryStep(do=step) for step in (*before, *after))
    nodes = sorted({action.node for step in steps for action in step.do if action.node is not None})
    story = Story(nodes=tuple(nodes), steps=steps, variant=Variant(variant))
    return Scene(story, len(before), title in WRITING, title in SPLIT)
