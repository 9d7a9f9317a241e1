"""The document, line by line, as stories that ship: Clusterer, U1 to U7."""

from __future__ import annotations

import pytest

from joinproto.clusterer.run import alike
from tests.clusterer.stories import SHIPPED, orders_of, seen, shipped, steps_of

ABC1 = {"a": "ready 1 a/1", "b": "ready 1 a/1", "c": "ready 1 a/1"}

# For each story: the observations of the nodes after some of its steps, and whose data were wiped
# in each step.
ENDS: dict[str, tuple[dict[int, dict[str, str]], list[str]]] = {
    "one-config-is-enough": (
        {0: {"a": "ready 43 d/1", "b": "ready 43 d/1", "d": "ready 43 d/1"}},
        [""],
    ),
    "only-younger-counts": ({5: {"a": "ready 3 a/1", "b": "ready 3 a/1"}}, [""] * 6),
    "default-is-version-0": (
        {
            0: {"a": "ready 0 a/1", "b": "ready 0 b/1"},
            1: {"a": "ready 1 a/1", "b": "ready 1 a/1"},
        },
        ["", "b"],
    ),
    "waits-without-end": (
        {1: {"a": "joining 1 -", "b": "joining 1 b/1"}, 2: ABC1},
        ["", "", "b"],
    ),
    "one-of-two-data-sets-survives": ({1: {"a": "ready 1 b/1", "b": "ready 1 b/1"}}, ["", "a"]),
    "neither-survives": ({1: {"a": "ready 1 a/2", "b": "ready 1 a/2"}}, ["", "ab"]),
    "two-clusters-merge": (
        {
            0: {"a": "ready 1 a/1", "b": "ready 1 a/1", "c": "ready 1 c/1", "d": "ready 1 c/1"},
            1: dict.fromkeys("abcd", "ready 2 a/1"),
        },
        ["", "cd"],
    ),
    "reset-at-every-version": (
        {at: dict.fromkeys("abc", f"ready {at + 1} a/{at + 1}") for at in range(3)},
        ["", "abc", "abc"],
    ),
    "gospel-down-sibling-up": (
        {
            2: {"a": "off 1 a/1", "b": "ready 2 a/1", "c": "ready 2 a/1"},
            3: dict.fromkeys("abc", "ready 2 a/1"),
        },
        [""] * 4,
    ),
    "reset-gospel-has-older": ({4: dict.fromkeys("abc", "ready 2 a/1")}, [""] * 5),
    "reset-gospel-changes-nothing": ({0: ABC1, 3: ABC1}, [""] * 4),
    "reset-gospel-has-younger": (
        {2: {"b": "ready 1 a/1", "c": "ready 1 a/1"}, 3: dict.fromkeys("abc", "ready 2 a/2")},
        ["", "", "", "bc"],
    ),
    "eject-then-adopt": (
        {
            2: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "pending 2 a/1"},
            3: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "ready 3 d/1", "d": "ready 3 d/1"},
        },
        ["", "", "", "c"],
    ),
    "eject-then-adopt-by-c": (
        {2: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "ready 3 a/1", "d": "ready 3 a/1"}},
        ["", "", "d"],
    ),
    "adopt-too-late": (
        {
            2: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "off 2 a/1"},
            3: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "ready 3 d/1", "d": "ready 3 d/1"},
        },
        ["", "", "", "c"],
    ),
    "adopt-without-ejecting": (
        {
            2: {"a": "pending 2 a/1", "b": "pending 2 a/1", "c": "ready 2 a/1", "d": "ready 2 a/1"},
            3: {"a": "off 2 a/1", "b": "off 2 a/1", "c": "ready 2 a/1", "d": "ready 2 a/1"},
        },
        ["", "", "d", ""],
    ),
    "left-out-for-ever": (
        {
            2: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "pending 2 a/1"},
            3: {"a": "ready 3 a/1", "b": "off 3 a/1", "c": "pending 2 a/1"},
        },
        [""] * 4,
    ),
    "left-out-starts-again": (
        {
            2: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "off 2 a/1"},
            3: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "pending 2 a/1"},
            4: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "off 2 a/1"},
        },
        [""] * 5,
    ),
    "nobody-is-named": (
        {1: {"a": "pending 2 a/1", "b": "pending 2 a/1"}, 2: {"a": "off 2 a/1", "b": "off 2 a/1"}},
        [""] * 3,
    ),
    "all-restart": (
        {
            4: {"a": "rejoining 1 a/1", "b": "off 1 a/1", "c": "off 1 a/1"},
            5: {"a": "rejoining 1 a/1", "b": "rejoining 1 a/1", "c": "off 1 a/1"},
            6: ABC1,
        },
        [""] * 7,
    ),
    "all-killed-together": ({1: dict.fromkeys("abc", "off 1 a/1"), 2: ABC1}, [""] * 3),
    "the-last-never-returns": (
        {
            4: {"a": "rejoining 1 a/1", "b": "off 1 a/1"},
            5: {"a": "ready 1 a/1", "b": "ready 1 a/1"},
        },
        [""] * 6,
    ),
    "two-younger-at-once": ({1: {"a": "ready 3 a/1", "b": "ready 3 a/1"}}, ["", ""]),
    "two-of-one-version": ({1: {"a": "ready 2 a/1", "b": "ready 2 a/1"}}, ["", ""]),
    "start-while-the-other-stops": ({4: {"a": "off 1 a/1", "b": "ready 0 b/2"}}, [""] * 5),
    "cut-in-two": (
        {
            2: {"a": "ready 2 a/1", "b": "ready 1 a/1", "c": "ready 1 a/1"},
            3: dict.fromkeys("abc", "ready 2 a/1"),
        },
        [""] * 4,
    ),
    "head-ends-at-once": (
        {1: {"a": "ready 2 a/1", "b": "ready 2 a/1", "c": "off 2 a/1"}},
        ["", ""],
    ),
}
DEPEND_ON_ORDER = {"two-younger-at-once", "two-of-one-version", "start-while-the-other-stops"}


def test_every_shipped_story_has_an_expected_outcome_here() -> None:
    """No other story has one."""
    assert {path.stem for path in SHIPPED.glob("*.json")} == ENDS.keys()


@pytest.mark.parametrize("variant", ["ours", "seed"])
@pytest.mark.parametrize("name", ENDS)
def test_a_story_ends_as_the_document_says(name: str, variant: str) -> None:
    """The states of the nodes are compared after some steps, and so are the deleted data."""
    steps = steps_of(shipped(name, variant=variant))
    ends, wiped = ENDS[name]

    assert ends == {at: seen(steps[at]) for at in ends}
    assert wiped == ["".join(step.wiped) for step in steps]


@pytest.mark.parametrize("name", ENDS)
def test_only_three_shipped_stories_depend_on_the_order(name: str) -> None:
    """The two orders that are shown have different events."""
    found = orders_of(shipped(name), 12)

    assert (name in DEPEND_ON_ORDER) == (found.differs is not None)
    if found.differs is not None:
        assert found.differs.one_events != found.differs.other_events
        assert alike((found.differs.one,)) != alike((found.differs.other,))


def test_two_younger_configs_at_once_wipe_data_in_some_orders_only() -> None:
    """The younger config wins in every order; the older one resets the data only in some."""
    ends = [end.steps[-1] for end in orders_of(shipped("two-younger-at-once"), 12).ends or ()]

    assert {(), ("a", "b")} == {end.wiped for end in ends}
    assert {3} == {node.version for end in ends for node in end.nodes.values()}


def test_replies_name_the_reason() -> None:
    """U1: the last of the five configs is younger, and is taken."""
    steps = steps_of(shipped("only-younger-counts"))

    assert [
        "refused: older than the current config",
        "refused: already applied",
        "refused: same version, other content",
        "refused: not a valid config",
        "beginning transition",
    ] == [next(iter(step.replies.values())) for step in steps[1:]]


def test_a_waiting_node_names_the_nodes_that_it_waits_for() -> None:
    """U4: the node waits without end."""
    joining = steps_of(shipped("waits-without-end"))[1].nodes["a"]
    coming_back = steps_of(shipped("all-restart"))[4].nodes["a"]

    assert ("c",) == joining.waits_for
    assert "this is not true of c" in joining.why
    assert ("b", "c") == coming_back.waits_for
    assert "may have newer data" in coming_back.why
