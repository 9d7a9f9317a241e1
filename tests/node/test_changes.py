"""The steps of docs/running.md for changing a cluster, with real processes."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable

import pytest

from tools.faults.clients import Connection
from tools.faults.nodes import Fleet, Node, until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.soak("nodes")
Make = Callable[..., Fleet]


def stop(node: Node) -> None:
    node.signal(signal.SIGTERM)
    assert 0 == node.wait()


def shut_down(fleet: Fleet, names: str) -> None:
    fleet[names[0]].shutdown_cluster()
    assert {0} == {fleet[name].wait() for name in names}


def edit(node: Node, old: str, new: str) -> None:
    text = node.config.read_text()
    assert re.search(old, text), text
    node.config.write_text(re.sub(old, new, text))


def write(fleet: Fleet, name: str, text: str) -> None:
    connection = Connection(fleet[name].clients)
    assert connection.ask(f"append {text}").startswith(b"ok")
    connection.close()


def members_are(fleet: Fleet, names: str, at: str = "a") -> None:
    until(lambda: (fleet[at].status().get("view") or {}).get("members") == list(names))
    fleet.wait_active(names)


def electors(fleet: Fleet, name: str) -> str:
    return "".join(fleet[name].status()["view"]["electors"])


def test_n_can_be_changed_while_all_members_are_stopped(fleet: Make) -> None:
    """I2: members with different N refuse each other, so all of the last view change at once."""
    three = fleet()
    three.start()
    three.wait_active()
    write(three, "a", "one")
    shut_down(three, "abc")

    for name in "abc":
        edit(three[name], "wait_for = 2", "wait_for = 3")
    three.start()

    three.wait_active()
    write(three, "b", "two")


def test_one_elector_is_added_and_another_is_removed(fleet: Make) -> None:
    four = fleet("abcd", electors="abc")
    four.start("abc")
    four.wait_active("abc")

    for name in "abcd":
        edit(four[name], r"electors = \[.*\]", 'electors = ["a", "b", "c", "d"]')
        edit(four[name], "wait_for = 2", "wait_for = 3")
    for name in "abc":
        stop(four[name])
    four.start("abc")
    members_are(four, "abc")
    four["d"].start()
    members_are(four, "abcd")
    assert "abcd" == electors(four, "a")

    edit(four["c"], "member =", 'stop = "leave"\nmember =')
    stop(four["c"])
    members_are(four, "abd")
    four["c"].start()
    members_are(four, "abcd")
    stop(four["c"])

    members_are(four, "abd")
    assert "abd" == electors(four, "a")


def test_a_member_moves_to_another_address(fleet: Make) -> None:
    three = fleet()
    three.start()
    three.wait_active()
    write(three, "a", "one")
    stop(three["c"])
    members_are(three, "ab")

    (port,) = free_ports(1)
    moved = three["c"].data.with_name("c-moved")
    shutil.move(three["c"].data, moved)
    edit(three["c"], 'data = "c"', 'data = "c-moved"')
    edit(three["c"], "127.0.0.1:" + str(three["c"].port), f"127.0.0.1:{port}")
    for name in "ab":
        edit(three[name], r'(?m)^"c" = ".*"', f'"c" = "127.0.0.1:{port}"')
        stop(three[name])
        three[name].start()
        until(lambda name=name: three[name].status().get("phase") is not None)  # type: ignore[misc]
    members_are(three, "ab")
    three["c"].start()

    members_are(three, "abc")
    assert "abc" == electors(three, "a")


def test_a_lone_member_grows_to_three_electors(fleet: Make) -> None:
    """As after forced electors: others first become members without a vote, then electors."""
    three = fleet(electors="a")
    three["a"].start()
    three.wait_active("a")
    write(three, "a", "one")
    for name in "bc":
        three[name].start()
        three.wait_active("a")
    members_are(three, "abc")
    assert "a" == electors(three, "a")

    shut_down(three, "abc")
    for name in "abc":
        edit(three[name], r"electors = \[.*\]", 'electors = ["a", "b", "c"]')
        edit(three[name], "wait_for = 1", "wait_for = 2")
    three.start()
    members_are(three, "abc")

    until(lambda: electors(three, "a") == "abc")
    stop(three["a"])
    members_are(three, "bc", at="b")
    write(three, "b", "two")
