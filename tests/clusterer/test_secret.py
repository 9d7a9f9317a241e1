"""Nodes that share a secret, and a node that does not know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.clusterer.config import Config
from tests.cli.running import run_here
from tools.faults.clusterer import Fleet

pytestmark = pytest.mark.landing

SECRET = b"0123456789abcdef"
AB = Config(1, frozenset("ab"), gospel="a", shutdown_timeout=9)


def test_nodes_with_one_secret_form_a_cluster_and_refuse_operators_without_it(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An operator without the secret, or with another secret, cannot ask or change a node."""
    fleet.secret = SECRET
    fleet.start("a", AB)
    fleet.start("b")
    fleet.until_ready("ab", 1)
    new = tmp_path / "new.config"
    new.write_text("[{version, 2}, {nodes, [a]}, {gospel, {node, a}}, {shutdown_timeout, 9}].")
    other = tmp_path / "other"
    other.write_text("another secret of 16 bytes")
    place = ("--to", str(fleet.ports["a"]))

    for words in ((), ("--secret-file", str(other))):
        for command in (("status",), ("apply", str(new), "--yes")):
            refused = run_here(capsys, "clusterer", *command, *place, *words)
            assert 1 == refused.code
            assert "does not know the secret" in refused.err
            assert "--secret-file" in refused.err
    assert fleet.is_ready("a", 1)

    own = ("--secret-file", str(fleet.place("a") / "secret"))
    done = run_here(capsys, "clusterer", "apply", str(new), "--yes", "--wait", "120", *place, *own)
    assert 0 == done.code


def test_a_node_with_another_secret_is_away(fleet: Fleet) -> None:
    """Only the log shows whether such a node has another secret or does not run."""
    fleet.secret = SECRET
    fleet.start("a", AB)
    fleet.secret = b"another one of 16 bytes"
    fleet.start("b")

    fleet.until_ready("b", 0)
    fleet.secret = SECRET
    fleet.until("a waits", lambda: (fleet.status("a") or {}).get("waits_for") == ["b"])
    # a may wait for b before b has called it.
    out = fleet.place("a") / "out"
    fleet.until("a says why", lambda: "does not know the secret" in out.read_text())
