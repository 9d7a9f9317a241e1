"""All nodes are killed, and a backup replaces a data directory: no acknowledged frame is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import run_apart
from tests.node.test_stopping import texts
from tools.faults.clients import Connection
from tools.faults.nodes import Fleet, until

Make = Callable[..., Fleet]

WENT_BACK = 5
"""The exit code of a member whose store must not run."""


def write(fleet: Fleet, name: str, acknowledged: list[str], count: int = 5) -> None:
    connection = Connection(fleet[name].clients)
    for _ in range(count):
        text = f"{name}{len(acknowledged)}"
        assert connection.ask(f"append {text}").startswith(b"ok ")
        acknowledged.append(text)
    connection.close()


def put_back(fleet: Fleet, old: str) -> list[str]:
    """Kill all nodes, and give the members `old` older copies; return the acknowledged frames.

    Their newest data are next to the copies as `newest`.
    """
    acknowledged: list[str] = []
    fleet.start()
    fleet.wait_active()
    write(fleet, "a", acknowledged)
    for name in old:
        fleet[name].kill()
        shutil.copytree(fleet[name].data, sibling_path(fleet, name, "backup"))
        fleet[name].start()
        fleet.wait_active()
    write(fleet, "b", acknowledged)
    fleet["c"].kill()
    fleet.wait_active("ab")
    write(fleet, "a", acknowledged)
    fleet["c"].start()
    fleet.wait_active()
    write(fleet, "c", acknowledged)
    for name in "abc":
        fleet[name].kill()
    for name in old:
        shutil.move(fleet[name].data, sibling_path(fleet, name, "newest"))
        shutil.move(sibling_path(fleet, name, "backup"), fleet[name].data)
    return acknowledged


def reason(fleet: Fleet, name: str) -> str:
    """Return why a node waits now; "" if it does not wait."""
    waiting = fleet[name].status().get("waiting") or {}
    return str(waiting.get("reason", ""))


def sibling_path(fleet: Fleet, name: str, what: str) -> Path:
    return fleet.top / f"{name}.{what}"


@pytest.mark.parametrize(
    "old",
    [
        pytest.param("b", marks=pytest.mark.landing),
        *(pytest.param(name, marks=pytest.mark.soak("nodes")) for name in "ac"),
    ],
)
def test_no_frame_is_lost_if_one_directory_is_old_and_the_others_continue(
    fleet: Make, old: str
) -> None:
    """3.6: the member ends and says why; with an empty directory it comes back."""
    three = fleet(total_failure="automatic")
    acknowledged = put_back(three, old)
    others = sorted({*"abc"} - {old})

    three.start()

    assert three[old].wait() == WENT_BACK
    assert "store-went-back" in three[old].said()
    assert "give the member an empty one" in three[old].said()
    three.wait_active(others)
    shutil.rmtree(three[old].data)
    three[old].start()
    three.wait_active()
    assert all(acknowledged == texts(three, name) for name in "abc")
    # The logs also show that the directory was put back; no other claim is broken.
    valid = run_apart("validate", str(three.top / "events"))
    wrong = [line.split()[0] for line in valid.out.splitlines() if line.endswith(" violated")]
    assert wrong == ["disk_keeps_what_was_written"], valid.out + valid.err


@pytest.mark.landing
def test_no_frame_is_lost_if_one_directory_is_old_and_the_operator_decides(fleet: Make) -> None:
    """P3, 3.6: the advice of `recover` about these directories works."""
    three = fleet()
    acknowledged = put_back(three, "b")

    three.start()
    assert three["b"].wait() == WENT_BACK
    until(lambda: any("recover pick" in three[name].said() for name in "ac"))
    for name in "ac":
        three[name].kill()

    stores = {name: str(three[name].data) for name in "abc"}
    picked = run_apart("recover", "pick", *stores.values(), "--json").object
    assert picked["verdict"] == "unproven"
    assert "--lost" in picked["next"]
    kept, plan = [stores["a"], stores["c"]], str(three.top / "plan.json")
    picked = run_apart("recover", "pick", *kept, "--lost", "b", "--json").object
    assert "recover plan --unproven" in picked["next"]
    planned = run_apart("recover", "plan", "--unproven", *kept, "-o", plan, "--json").object
    agreed = ("--yes", "--unproven", "--plan-hash", planned["plan"]["hash"])
    assert run_apart("recover", "apply", plan, *agreed).code == 0
    shutil.rmtree(three["b"].data)
    three.start()
    three.wait_active()
    assert all(acknowledged == texts(three, name) for name in "abc")


@pytest.mark.parametrize(
    ("old", "total_failure"),
    [
        pytest.param("bc", "automatic", marks=pytest.mark.landing),
        pytest.param("ab", "manual", marks=pytest.mark.soak("nodes")),
        pytest.param("ac", "automatic", marks=pytest.mark.soak("nodes")),
    ],
)
def test_with_two_old_directories_the_third_member_waits(
    fleet: Make, old: str, total_failure: str
) -> None:
    """3.6: with the newest directories all continue, or wait for the operator (manual)."""
    three = fleet(total_failure=total_failure)
    acknowledged = put_back(three, old)
    (last,) = {*"abc"} - {*old}

    three.start()

    assert [three[name].wait() for name in old] == [WENT_BACK, WENT_BACK]
    until(lambda: "(store-went-back)" in three[last].said())
    said = three[last].status()["waiting"]
    assert "recover pick" in said["next"]
    for name in old:
        shutil.rmtree(three[name].data)
        shutil.move(sibling_path(three, name, "newest"), three[name].data)
        three[name].start()
    if total_failure == "automatic":
        three.wait_active()
        assert all(acknowledged == texts(three, name) for name in "abc")
    else:
        # The log may have the reason from before the newest directories were there.
        until(lambda: "no-clean-store" in {reason(three, name) for name in "abc"})
