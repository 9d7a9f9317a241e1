"""Faults that a user injects in a state: the world with the fault, and the same run again."""

from pathlib import Path
from typing import Any

import pytest

from joinproto.explore.session import Session
from tests.explore.test_session import FIRST_TRY, asked, labels, opened

KEEPER = """
from joinproto.check import Persist, World, inject, older_copy, sometimes

CLAIM = sometimes("both wrote", lambda view: all(one == "me" for one in view.up.values()))


class Keeper:
    persistent = ("identity", "term")

    def __init__(self):
        self.identity, self.term = "", 0

    def choices(self):
        if not self.term:
            yield "write both"

    def receive(self, event):
        self.identity, self.term = "me", 1
        return [Persist()]

    def shows(self):
        return self.identity


def world() -> World:
    made = World(name="keepers", members={"a": Keeper, "b": Keeper}, properties=[CLAIM])
    return MADE
"""


def with_disk() -> tuple[Session, str, list[str]]:
    """Return a session, a member, and the keys of a run that changes this member's disk."""
    session = opened("durable-vote")
    name = session.now.graph.names[0]
    run = asked(session, "walk", id=0, seed=4, until={"where": f"disk['{name}']"})
    return session, name, [step["key"] for step in run["steps"]]


def written_model(folder: Path, made: str = "made") -> str:
    """Write a model of members that keep two attributes."""
    file = folder / "keeper.py"
    file.write_text(KEEPER.replace("MADE", made), encoding="utf-8")
    return str(file)


def take_steps(session: Session, *wanted: str) -> list[Any]:
    """Return these steps, taken from the beginning on."""
    at, found = 0, []
    for text in wanted:
        steps = asked(session, "state", id=at)["steps"]
        (step,) = [one for one in steps if f"{one['member']}: {one['label']}" == text]
        found.append(step)
        at = step["to"]
    return found


def disk_of(session: Session, found: dict[str, Any], name: str) -> dict[str, str]:
    """Return a member's disk at the end of an answer's run."""
    state = asked(session, "state", id=found["run"]["ids"][-1])
    (member,) = [one for one in state["members"] if one["name"] == name]
    return {key: text for key, text in member["texts"].items() if key.endswith("*")}


def disk_after(session: Session, run: dict[str, Any]) -> str:
    texts: str = asked(session, "state", id=run["ids"][-1])["members"][0]["texts"]["vote*"]
    return texts


def test_an_injected_fault_is_a_step_at_the_end_of_the_same_run() -> None:
    session = opened(FIRST_TRY)
    first = asked(session, "state", id=0)["steps"][0]

    crashed = asked(session, "inject", kind="crash", member="m2", keys=[first["key"]])
    cut = asked(session, "inject", kind="cut", member="m1", to="m2", keys=[first["key"]])

    assert ["m1: wait no longer", "m2: crash"] == labels(crashed["run"])
    assert "split links m1 to m2, m2 to m1" == cut["run"]["steps"][-1]["label"]
    state = asked(session, "state", id=cut["run"]["ids"][-1])
    assert not [step for step in state["steps"] if step["kind"] == "deliver"]


def test_a_lost_disk_crashes_its_member_first() -> None:
    session = opened("durable-vote")
    name = session.now.graph.names[0]
    run = asked(session, "walk", id=0, seed=4, until={"where": f"disk['{name}']"})
    keys = [step["key"] for step in run["steps"]]

    found = asked(session, "inject", kind="disk-lost", member=name, keys=keys)
    crash, lost = (
        f"{', '.join(step['members'])}: {step['label']}" for step in found["run"]["steps"][-2:]
    )
    assert crash.startswith(f"{name}: crash")  # between any two effects
    assert lost == f"{name}, faults: the disk of {name} is lost {name}"


def test_an_older_copy_of_a_disk_is_put_back() -> None:
    session, name, keys = with_disk()
    choices = asked(session, "disks", member=name, keys=keys)
    copy = choices["copies"][-1]

    found = asked(session, "inject", kind="disk-older", member=name, keys=keys, after=copy["after"])

    assert copy["texts"]["vote"] != choices["values"]["vote"][0]
    assert (
        f"the disk of {name} is as it was after step {copy['after']} {name}"
        == labels(found["run"])[-1].partition(": ")[2]
    )
    assert copy["texts"]["vote"] == disk_after(session, found["run"])


def test_a_disk_is_edited_to_a_value_that_was_met() -> None:
    session, name, keys = with_disk()
    session.now.searching.search_for(1.0)
    values = asked(session, "disks", member=name, keys=keys)["values"]["vote"]

    unknown = session.answer(
        "inject", {"kind": "disk-edited", "member": name, "values": {"vote": "m99"}}
    )
    found = asked(
        session, "inject", kind="disk-edited", member=name, keys=keys, values={"vote": values[1]}
    )

    assert "'m99' was not met on a disk" in unknown["error"]["message"]
    assert values[1] == disk_after(session, found["run"])
    assert f"the disk of {name} says vote {values[1]}" == found["says"]


def test_a_lost_disk_keeps_the_named_attributes_and_a_second_disk_may_be_lost(
    tmp_path: Path,
) -> None:
    session = opened(written_model(tmp_path))
    keys = [step["key"] for step in take_steps(session, "a: write both", "b: write both")]

    def disk_with(**given: Any) -> dict[str, str]:
        """Inject a fault after those before, and return the disk of its member then."""
        found = asked(session, "inject", keys=keys, **given)
        keys[:] = [step["key"] for step in found["run"]["steps"]]
        return disk_of(session, found, given["member"])

    kept = disk_with(kind="disk-lost", member="a", keeps=["identity"])
    lost = disk_with(kind="disk-lost", member="b")
    edited = disk_with(kind="disk-edited", member="a", values={"term": "1"})

    assert {"identity*": "me", "term*": "0"} == kept
    assert {"identity*": "", "term*": "0"} == lost
    assert {"identity*": "me", "term*": "1"} == edited


def test_a_write_is_torn(tmp_path: Path) -> None:
    """Some of the attributes that a step wrote are on the disk."""
    session = opened(written_model(tmp_path))
    keys = [step["key"] for step in take_steps(session, "a: write both")]

    choices = asked(session, "disks", member="a", keys=keys)
    found = asked(session, "inject", kind="disk-torn", member="a", written=["term"], keys=keys)

    assert [["identity"], ["term"]] == [one["written"] for one in choices["torn"]]
    assert {"identity*": "", "term*": "1"} == disk_of(session, found, "a")


def test_a_fault_is_injected_into_a_world_that_has_some_of_its_own(tmp_path: Path) -> None:
    session = opened(written_model(tmp_path, "inject(made, older_copy(of=('a',)))"))
    keys = [step["key"] for step in take_steps(session, "a: write both")]

    found = asked(session, "inject", kind="disk-lost", member="a", keys=keys)

    labels_there = [one["label"] for one in asked(session, "state", id=0)["steps"]]
    assert "a copy of the disk is made a" in labels_there
    assert {"identity*": "", "term*": "0"} == disk_of(session, found, "a")


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "disk-older", "after": 7},
        {"kind": "disk-older", "after": -1},
        {"kind": "disk-older", "after": "0"},
        {"kind": "disk-edited"},
        {"kind": "disk-edited", "values": ["vote"]},
        {"kind": "disk-edited", "values": {"of": "m1"}},
        {"kind": "disk-lost", "keeps": ["none"]},
        {"kind": "disk-lost", "keeps": "vote"},
        {"kind": "disk-torn"},
        {"kind": "disk-torn", "written": ["vote"]},
        {"kind": "disk-torn", "written": [{}]},
    ],
)
def test_a_malformed_disk_fault_is_refused(given: dict[str, Any]) -> None:
    session = opened("durable-vote")
    name = session.now.graph.names[0]

    found = session.answer("inject", {"member": name, **given})

    assert found["error"]["next"]
