"""The file of a plan: its contents and their order, and files that are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from joinproto.errors import StoreCorrupt
from joinproto.join.view import Position, Seat
from joinproto.recovery.found import Format
from joinproto.recovery.plan import Force, Input, Plan, Step, dump, load

FORCE = Force(
    electors=(Seat("b", "2"), Seat("a", "1")),
    position=Position("p", 4),
    parent="q",
    wait_for=2,
    options_digest="o/2",
    nonce="n",
    time=7,
)
STEP = Step(host="h", path="/x", member="b", store_id="2", before="u", tip="v", force=FORCE)
INPUT = Input(
    name="n",
    host="h",
    path="/x",
    format=Format.JOINPROTO,
    recovered="r",
    sha256="s",
    previous="t",
)
PLAN = Plan(
    cluster="c",
    cluster_name="name",
    verdict="unproven",
    is_proven=False,
    loses_nothing=True,
    step=STEP,
    inputs=(INPUT, evolve(INPUT, format=None)),
    evidence=("e",),
    missing=("m: x",),
    made={"who": "me"},
)
MARK = evolve(PLAN, step=evolve(STEP, force=None, accepted="w"))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (PLAN, "215a191af37de6298850a0ecd302f227c40b5b2d9481b1c76feb88001868b47f"),
        (MARK, "823f0fa3aa15ad3f631d000962f11af8510491812f07514a63dd7365462cd594"),
    ],
)
def test_a_plan_is_read_back_and_its_hash_never_changes(plan: Plan, expected: str) -> None:
    """A person who agrees to a hash agrees to the same plan in all versions."""
    text = dump(plan)

    assert expected == plan.hash
    assert plan == load(text.encode(), name="x")
    assert text == json.dumps(json.loads(text), indent=1) + "\n"


def test_the_keys_of_a_plan_are_in_this_order() -> None:
    tree = json.loads(dump(PLAN))

    top = "joinproto-plan hash made cluster cluster_name verdict is_proven loses_nothing"

    assert [
        f"{top} step inputs evidence missing",
        "host path member store_id before tip accepted force do",
        "parent wait_for options_digest nonce time electors position",
        "name host path format recovered sha256 previous",
    ] == [" ".join(one) for one in (tree, tree["step"], tree["step"]["force"], tree["inputs"][0])]


def with_value(tree: Any, path: str, value: object) -> bytes:
    *parents, last = path.split(".")
    place = tree
    for key in parents:
        place = place[int(key)] if key.isdigit() else place[key]
    place[last] = value
    return json.dumps(tree).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cluster", 5),
        ("cluster_name", "\x1b[31m"),
        ("step.host", "two\nlines"),
        ("step.accepted", 1),
        ("step.force.electors", ["a"]),
        ("step.force.position", ["p"]),
        ("step.force.wait_for", "many"),
        ("inputs.0.format", "mnesia"),
        ("inputs", None),
        ("evidence", [None]),
        ("made", {"who": 5}),
        ("step", None),
    ],
)
def test_a_missing_or_wrong_field_is_reported_as_damage(path: str, value: object) -> None:
    with pytest.raises(StoreCorrupt, match="lacks a field, or has a wrong one"):
        load(with_value(json.loads(dump(PLAN)), path, value), name="x")


@pytest.mark.parametrize("key", ["host", "member", "accepted", "force"])
def test_only_fields_that_may_be_absent_may_be_left_out(key: str) -> None:
    """Only `force` of a step may be absent, and then the hash differs."""
    tree = json.loads(dump(PLAN))
    del tree["step"][key]
    why = "is not as it was made" if key == "force" else "lacks a field"

    with pytest.raises(StoreCorrupt, match=why):
        load(json.dumps(tree).encode(), name="x")
