"""Nodes that cannot go on end and say why; and configs that come at a bad moment."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from joinproto.apps.clusterer.operator import ask
from joinproto.clusterer.config import Config
from joinproto.errors import EnvironmentProblem
from tests.cli.running import run_here
from tests.clusterer.services import MAY_STOP
from tools.faults.clusterer import LABELLED, Fleet

pytestmark = pytest.mark.landing


def said_at_its_end(fleet: Fleet, name: str) -> str:
    process = fleet.running[name]
    fleet.until(f"{name} has ended", lambda: process.poll() is not None)
    assert process.returncode != 0
    return (fleet.place(name) / "out").read_text()


@pytest.mark.parametrize(
    ("service", "word"), [("BootBreaks", "electors"), ("StatusBreaks", "says")]
)
def test_a_node_ends_if_its_service_raises_an_unexpected_error(
    fleet: Fleet, service: str, word: str
) -> None:
    """Otherwise the node would boot for ever, or never poll again, and not say why."""
    object_ = f"tests.clusterer.services:{service}"
    fleet.service = lambda _: (
        LABELLED.replace("tools.faults.clusterer_service:Labelled", object_) % "0.02"
    )
    fleet.start("a")

    assert word in said_at_its_end(fleet, "a")


def test_a_node_that_is_told_to_stop_ends_even_if_its_service_hangs(fleet: Fleet) -> None:
    """`timing.stop`: the node leaves a service that does not end, and says so."""
    fleet.service = lambda _: (
        LABELLED.replace(
            "tools.faults.clusterer_service:Labelled", "tests.clusterer.services:StopHangs"
        )
        % "0.02"
    )
    fleet.timing += "stop = 1.0\n"
    fleet.start("a")
    fleet.until_ready("a", 0)
    fleet.running["a"].terminate()

    assert "its service may run on" in said_at_its_end(fleet, "a")


def test_a_service_that_lacks_a_method_is_refused_at_the_start(fleet: Fleet) -> None:
    """Otherwise the node would fail only at its end, when it calls the method."""
    fleet.service = lambda _: (
        LABELLED.replace(
            "tools.faults.clusterer_service:Labelled", "tests.clusterer.services:NoEnd"
        )
        % "0.02"
    )
    fleet.start("a")

    said = said_at_its_end(fleet, "a")
    assert "it lacks end" in said
    assert "Traceback" not in said


def test_a_node_with_an_invalid_host_counts_as_away_and_no_round_waits_for_it(fleet: Fleet) -> None:
    """Such an address raises another error than an address at which no node answers."""
    fleet.addresses = {("a", "b"): "x" * 70 + ".example:1"}
    fleet.start("a", Config(1, frozenset("ab"), gospel="a", shutdown_timeout=9))

    fleet.until("a waits for b", lambda: (fleet.status("a") or {}).get("waits_for") == ["b"])


def test_apply_asks_the_operator_if_a_node_is_about_to_join(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Both must take the data of a third node, which a plan from two configs does not show."""
    for name in "ab":
        fleet.start(name)
    fleet.until_ready("ab", 0)
    fleet.apply("a", Config(1, frozenset("abc"), gospel="c", shutdown_timeout=9))
    for name in "ab":
        fleet.until(
            f"{name} waits",
            lambda name=name: (fleet.status(name) or {}).get("status") == "joining",  # type: ignore[misc]
        )
    new = tmp_path / "new.config"
    new.write_text("[{version, 2}, {nodes, [a, b]}, {gospel, {node, a}}, {shutdown_timeout, 9}].")
    words = ("clusterer", "apply", str(new), "--to", str(fleet.ports["a"]))

    refused = run_here(capsys, *words)
    assert 2 == refused.code
    assert "the data of a, b would be lost; nothing was sent" in refused.err
    done = run_here(capsys, *words, "--yes", "--wait", "120", "--json")
    assert (0, ["a", "b"]) == (done.code, done.object["unsure"])


def test_a_port_that_is_taken_ends_the_node_with_a_sentence(fleet: Fleet) -> None:
    with socket.create_server(("127.0.0.1", fleet.ports["a"])):
        fleet.start("a")
        said = said_at_its_end(fleet, "a")

    assert "Address already in use" in said
    assert "look which process listens there" in said
    assert "Traceback" not in said
    assert not list(fleet.folder.glob("events/*")) + list(fleet.folder.glob("events/.*"))


def test_a_config_of_an_operator_who_no_longer_waits_is_not_taken(fleet: Fleet) -> None:
    """Otherwise it would be taken when a long stop has ended, unknown to the operator."""
    fleet.service = lambda _: (
        LABELLED.replace(
            "tools.faults.clusterer_service:Labelled", "tests.clusterer.services:StopWaits"
        )
        % "0.02"
    )
    fleet.start("a")
    fleet.until_ready("a", 0)
    assert "beginning transition" == fleet.apply("a", Config(1, frozenset("a"), shutdown_timeout=9))
    late = "[{version, 2}, {nodes, [a]}, {gospel, reset}, {shutdown_timeout, 9}]."
    with pytest.raises(EnvironmentProblem, match="no answer within"):
        ask(fleet.address("a"), {"op": "apply", "config": late}, 0.5)
    (fleet.place("a") / MAY_STOP).touch()

    fleet.until_ready("a", 1)
    fleet.until(
        "a notices it", lambda: "has disconnected" in (fleet.place("a") / "out").read_text()
    )
    assert fleet.is_ready("a", 1)
