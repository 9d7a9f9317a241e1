"""`joinproto ask clusterer.*`: each rule on one node's decisions; Clusterer, U1 to U7."""

from __future__ import annotations

from typing import Any

import pytest

from joinproto.ask.catalogue import question
from joinproto.codec.json_form import encoded
from joinproto.codec.strict import DoesNotFit, fitted
from tests.clusterer.stories import config

ONE = config(1, "ab", "a")
TWO = config(2, "ab", "a")


def asked(name: str, **fields: Any) -> dict[str, Any]:
    """Return the answer of a question as JSON values."""
    one = question(f"clusterer.{name}")
    found: dict[str, Any] = encoded(one.answer(fitted(one.asks, fields)))
    return found


COMPATIBLE = [
    (ONE, ONE, True),  # the same, identities too
    (config(1, "ab", None), config(1, "ab", None), True),  # tested before reset
    (TWO, None, False),  # no old one
    (config(2, "ab", None), ONE, False),  # gospel reset, though nothing else changed
    (TWO, config(1, "ac", "a"), False),  # this node is not in the old one
    (config(2, "abc", "c"), ONE, False),  # the gospel is not in the old one
    ({**TWO, "node_ids": {"a": "2"}}, {**ONE, "node_ids": {"a": "1"}}, False),
    ({**TWO, "node_ids": {"a": "1"}}, {**ONE, "node_ids": {"a": "1"}}, True),
    ({**TWO, "node_ids": {"b": "2"}}, {**ONE, "node_ids": {"b": "1"}}, True),  # not the gospel
    (TWO, {**ONE, "node_ids": {"a": "1"}}, True),  # known on one side only
    (config(2, "abc", "a"), ONE, True),
    (config(2, "b", "b"), ONE, True),
]


@pytest.mark.parametrize(("new", "old", "compatible"), COMPATIBLE, ids=range(len(COMPATIBLE)))
def test_compatible_is_decided_on_unmerged_configs(
    new: dict[str, Any], old: dict[str, Any] | None, compatible: bool
) -> None:
    """U3: node b decides."""
    assert compatible is asked("compatible", node="b", new=new, old=old)["compatible"]


BOOT = [
    (None, None, "default", "joining", 0),
    (ONE, None, "given", "joining", 1),
    (None, ONE, "stored", "rejoining", 1),
    (TWO, ONE, "given", "rejoining", 2),
    (ONE, TWO, "stored", "rejoining", 2),
    (ONE, ONE, "stored", "rejoining", 1),
    (config(1, "ab", "b"), ONE, "stored", "rejoining", 1),
    (config(2, "bc", "b"), ONE, "given", "pending", 2),
]


@pytest.mark.parametrize(("given", "stored", "takes", "becomes", "version"), BOOT)
def test_boot_takes_the_given_config_if_it_is_younger_or_none_is_stored(
    given: Any, stored: Any, takes: str, becomes: str, version: int
) -> None:
    """U1: node a starts."""
    found = asked("boot", node="a", given=given, stored=stored)

    assert (takes, becomes, version) == (
        found["takes"],
        found["becomes"],
        found["config"]["version"],
    )
    assert (stored is None) is found["fresh_identity"]


def test_boot_of_a_left_out_node_in_the_head_release_is_a_shutdown() -> None:
    """The head release has no pending status."""
    found = asked("boot", node="a", given=config(2, "bc", "b"), stored=ONE, release="head")

    assert "shutdown" == found["becomes"]


APPLY = [
    ("ready", TWO, ONE, "begin", "ready"),
    ("ready", config(2, "b", "b"), ONE, "begin", "pending"),
    ("ready", config(2, "ab", None), ONE, "begin", "joining"),
    ("ready", ONE, TWO, "refuse: older", "ready"),
    ("ready", ONE, ONE, "refuse: already applied", "ready"),
    ("ready", config(1, "ab", "b"), ONE, "refuse: same version, other content", "ready"),
    ("ready", {"version": 1}, ONE, "refuse: not valid", "ready"),
    ("pending", config(3, "ab", "a"), config(2, "b", "b"), "begin", "joining"),
    ("pending", config(3, "b", "b", 5), config(2, "b", "b"), "begin", "pending"),
    ("joining", TWO, ONE, "accept, in transition", "joining"),
    ("rejoining", ONE, ONE, "accept, in transition", "rejoining"),
    ("rejoining", ONE, TWO, "refuse: older", "rejoining"),
    ("joining", config(1, "ab", "b"), ONE, "refuse: same version, other content", "joining"),
    ("booting", TWO, ONE, "refuse: not now", "booting"),
    ("preboot", TWO, None, "refuse: not now", "preboot"),
]


@pytest.mark.parametrize(("status", "new", "current", "does", "becomes"), APPLY)
def test_apply_is_answered_by_status_and_age(
    status: str, new: Any, current: Any, does: str, becomes: str
) -> None:
    """U1, U7: an operator gives node a a config."""
    found = asked("apply", node="a", status=status, config=new, current=current)

    assert (does, becomes) == (found["does"], found["becomes"])
    assert found["reply"]


def test_a_config_is_refused_while_another_program_has_stopped_the_broker() -> None:
    """This happens in the head release, under partition handling."""
    found = asked("apply", node="a", status="ready", config=TWO, current=ONE, paused=True)

    assert "refused: the broker does not run" == found["reply"]


NEWS = [
    ("preboot", TWO, None, "remember the sender"),
    ("booting", ONE, ONE, "note the sender's identity"),
    ("booting", TWO, ONE, "remember the sender"),
    ("joining", TWO, ONE, "forward and begin"),
    ("rejoining", ONE, TWO, "send ours"),
    ("joining", ONE, ONE, "note the sender's identity"),
    ("joining", config(1, "ab", "b"), ONE, "ignore"),
    ("ready", TWO, ONE, "begin"),
    ("ready", ONE, TWO, "send ours"),
    ("ready", ONE, ONE, "note the sender's identity"),
    ("ready", config(1, "ab", "b"), ONE, "ignore"),
    ("pending", TWO, ONE, "begin"),
]


@pytest.mark.parametrize(("status", "new", "current", "does"), NEWS)
def test_a_new_config_is_treated_by_status_and_age(
    status: str, new: Any, current: Any, does: str
) -> None:
    """U7: node b sends node a a config."""
    found = asked("new-config", node="a", status=status, config=new, current=current, sender="b")

    assert does == found["does"]
    assert (("b",) if does == "send ours" else ()) == tuple(found["sends_ours_to"])


def test_a_younger_config_is_forwarded_to_the_nodes_of_the_current_one() -> None:
    """This node and the sender are left out."""
    current = config(1, "abcd", "a")
    found = asked("new-config", node="a", status="joining", config=TWO, current=current, sender="b")

    assert ["c", "d"] == found["forwards_to"]


IDS = [
    ({"op": "transfer", "other": {"a": "9", "c": "9"}}, {"a": "9", "b": "me"}, False),
    ({"op": "transfer"}, {"a": "1", "b": "me"}, False),
    ({"op": "update", "of": "a", "other": {"a": "2", "b": "x"}}, {"a": "2", "b": "me"}, False),
    ({"op": "update", "of": "a", "other": {}}, {"a": "1", "b": "me"}, False),
    ({"op": "add", "other": {"a": "3", "d": "4"}}, {"a": "3", "b": "me", "d": "4"}, False),
    ({"op": "add-one", "of": "a", "its": "1"}, {"a": "1", "b": "me"}, False),
    ({"op": "add-one", "of": "a", "its": "2"}, {"a": "2", "b": "me"}, True),
    ({"op": "add-one", "of": "d", "its": "2"}, {"a": "1", "b": "me", "d": "2"}, False),
    ({"op": "add-one", "of": "z", "its": "2"}, {"a": "1", "b": "me"}, False),
]


@pytest.mark.parametrize(("fields", "ids", "changed"), IDS, ids=range(len(IDS)))
def test_only_identities_of_the_configs_nodes_are_kept_and_the_nodes_own_is_set(
    fields: dict[str, Any], ids: dict[str, str], changed: bool
) -> None:
    """U3: this holds after each of the four operations."""
    found = asked(
        "ids", node="b", identity="me", nodes=["a", "b", "d"], ids={"a": "1", "c": "2"}, **fields
    )

    assert (ids, changed) == (found["ids"], found["changed"])


def test_our_rules_keep_the_identities_that_a_config_brings() -> None:
    """This departure closes the first, second and fifth hole."""
    fields = {"node": "b", "identity": "me", "nodes": ["a", "b"], "ids": {"a": "new"}}
    found = {
        variant: asked("ids", op="transfer", other={"a": "old"}, variant=variant, **fields)["ids"]
        for variant in ("seed", "real", "ours")
    }

    assert {"seed": "old", "real": "old", "ours": "new"} == {
        variant: ids["a"] for variant, ids in found.items()
    }


ABC = config(1, "abc", "a")
JOIN = [
    ("b", ABC, {"a": "ready"}, "wipe and join", []),
    ("a", ABC, {"b": "ready"}, "wipe and join", []),  # gospel and a node that is away do not count
    ("a", ABC, {"b": "joining", "c": "joining"}, "found with own data", []),
    ("b", ABC, {"a": "joining", "c": "joining"}, "wait", ["a"]),
    ("a", ABC, {"b": "joining"}, "wait", ["c"]),
    ("a", ABC, {"b": "joining", "c": "rejoining"}, "wait", ["c"]),
    ("a", ABC, {"b": "preboot", "c": "booting"}, "wait", ["b", "c"]),
    ("a", config(1, "ab", None), {"b": "joining"}, "found, wiped", []),
    ("b", config(1, "ab", None, ram="a"), {"a": "joining"}, "found, wiped", []),
    ("a", config(1, "ab", None, ram="a"), {"b": "joining"}, "wait", ["b"]),
    ("a", config(1, "a", "a"), {}, "found with own data", []),
    ("a", config(1, "a", None), {}, "found, wiped", []),
]


@pytest.mark.parametrize(("node", "given", "statuses", "does", "waits"), JOIN)
def test_a_node_joins_a_ready_node_or_starts_if_all_join_or_waits(
    node: str, given: Any, statuses: Any, does: str, waits: list[str]
) -> None:
    """U4: the nodes that a waiting node waits for are named."""
    found = asked("join", node=node, config=given, statuses=statuses)

    assert (does, waits) == (found["does"], found["waits_for"])
    assert (does in ("wipe and join", "found, wiped")) is found["wiped"]


REJOIN = [
    ({"b": "ready"}, "abc", "boot with own data", []),
    ({"b": "rejoining"}, "abc", "wait", ["c"]),  # c may have newer data, and is away
    ({"b": "rejoining", "c": "joining"}, "ac", "take the locks", []),  # c was wiped
    ({"b": "rejoining", "c": "rejoining"}, "a", "take the locks", []),
    ({}, "a", "take the locks", []),  # a node that is away was not there at the last stop
    ({"b": "booting", "c": "joining"}, "ab", "wait", ["b"]),
    ({"b": "rejoining", "c": "rejoining"}, "abc", "ask the others", []),
    ({"b": "rejoining", "c": "rejoining"}, "abd", "ask the others", []),
]


@pytest.mark.parametrize(("statuses", "ran", "does", "waits"), REJOIN)
def test_rejoin_never_goes_before_a_node_that_may_have_newer_data(
    statuses: Any, ran: str, does: str, waits: list[str]
) -> None:
    """U5: only disc nodes of the config that ran when this node last stopped count."""
    found = asked("rejoin", node="a", config=ABC, statuses=statuses, ran=list(ran))

    assert (does, waits) == (found["does"], found["waits_for"])


def test_a_ram_node_waits_for_a_disc_node() -> None:
    """U5: a ram node can only wait for another node."""
    given = config(1, "ab", "a", ram="b")
    found = asked("rejoin", node="b", config=given, statuses={"a": "rejoining"}, ran=["b"])
    ran = asked("rejoin", node="a", config=given, statuses={"b": "rejoining"}, ran=["a", "b"])

    assert ("wait", ["a"]) == (found["does"], found["waits_for"])
    assert "take the locks" == ran["does"]


WAITS = [
    ({"a": ["b"], "b": ["a"]}, ["a", "b"]),
    ({"a": ["b"], "b": []}, ["b"]),  # no circle at all
    ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c"]),
    ({"a": ["b"], "b": ["a", "x"]}, []),  # x may have newer data than both
    ({"a": ["b"], "b": None}, []),
    ({"a": [], "b": None}, ["a"]),
    ({"a": ["a"]}, ["a"]),
    ({"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}, ["a", "b", "c"]),
]


@pytest.mark.parametrize(("awaits", "goes"), WAITS, ids=range(len(WAITS)))
def test_a_node_that_may_go_has_no_edge_out_of_its_component(awaits: Any, goes: list[str]) -> None:
    """U5: the component is a strongly connected component of the wait-for graph."""
    assert goes == asked("waits", awaits=awaits)["goes"]


STOPS = [
    ({"a": ["b", "c"], "b": ["c"], "c": ["a", "b"]}, ["b", "c"]),  # b saw a stop
    ({"a": ["b"], "b": ["a"]}, ["a", "b"]),
    ({"a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c"]),  # cut links: all were seen to stop
]


@pytest.mark.parametrize(("awaits", "goes"), STOPS, ids=range(len(STOPS)))
def test_by_our_rules_no_node_goes_that_another_of_its_circle_saw_stop(
    awaits: Any, goes: list[str]
) -> None:
    assert goes == asked("waits", awaits=awaits, variant="ours")["goes"]
    assert sorted(awaits) == asked("waits", awaits=awaits)["goes"]


LOCKS = [
    ({"b": "rejoining", "c": "joining"}, {}, True, None, ["a", "b", "c"]),
    ({"b": "rejoining"}, {}, True, None, ["a", "b"]),  # a node that is away counts as granted
    ({"b": "ready"}, {}, False, "b", ["a"]),
    ({"b": "rejoining"}, {"b": "c"}, False, "b", ["a"]),
    ({"b": "rejoining"}, {"a": "b"}, False, "a", []),
]


@pytest.mark.parametrize(("statuses", "held_by", "goes", "refused", "taken"), LOCKS)
def test_locks_are_taken_in_the_order_of_names(
    statuses: Any, held_by: Any, goes: bool, refused: str | None, taken: list[str]
) -> None:
    """U5: after a refusal, all locks are given back."""
    found = asked("locks", node="a", nodes=["c", "b", "a"], statuses=statuses, held_by=held_by)

    assert (goes, refused, taken) == (found["goes"], found["refused_by"], found["taken"])
    assert ["a", "b", "c"] == found["order"]


def test_a_config_that_is_not_valid_is_named_by_its_path() -> None:
    """The checks are the same as for a file."""
    for name, fields, path in (
        ("compare", {"a": ONE, "b": {**ONE, "gospel": {"node": "x"}}}, "b.gospel"),
        ("compare", {"a": {**ONE, "nodes": {"a": "disq"}}, "b": ONE}, "a.nodes[0]"),
        ("join", {"node": "x", "config": ONE, "statuses": {}}, "node"),
        ("join", {"node": "a", "config": ONE, "statuses": {"x": "ready"}}, "statuses.x"),
        ("locks", {"node": "a", "nodes": ["a"], "statuses": {"x": "ready"}}, "statuses.x"),
        (
            "locks",
            {"node": "a", "nodes": ["a"], "statuses": {}, "held_by": {"x": "a"}},
            "held_by.x",
        ),
        ("new-config", {"node": "a", "status": "ready", "config": ONE}, "current"),
    ):
        with pytest.raises(DoesNotFit) as refused:
            asked(name, **fields)
        assert path == refused.value.path
