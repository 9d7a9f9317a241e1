"""Another AMQP client, rhea, publishes and consumes; it finds the primary by its addresses.

The test takes the rhea that node finds, else npm's, and is skipped without both.

Source: hot standby, H4, H8, H11.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("proton", reason="the extra `standby` is not installed")

from tests.needs import Unable, need
from tools.failover.manager import Manager, running

pytestmark = pytest.mark.soak("brokers")

SCRIPT = Path(__file__).with_name("rhea_client.js")
COUNT = 200


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where node finds rhea."""
    need("node")
    there = subprocess.run(["node", "-e", "require('rhea')"], capture_output=True, check=False)
    if there.returncode == 0:
        return os.environ.get("NODE_PATH", "")
    need("npm")
    top = tmp_path_factory.mktemp("rhea")
    command = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(top), "rhea@3"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        raise Unable("rhea, which npm has not got within two minutes") from None
    if done.returncode:
        raise Unable(f"rhea, which npm has not got: {done.stderr.strip()[-200:]}")
    return str(top / "node_modules")


def output_of(modules: str, command: str, *addresses: str) -> dict[str, Any]:
    """Return the client's final output."""
    done = subprocess.run(
        ["node", str(SCRIPT), command, str(COUNT), *addresses],
        env={**os.environ, "NODE_PATH": modules},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_rhea_publishes_and_the_next_primary_has_all_messages(tmp_path: Path, modules: str) -> None:
    """The backup is first in rhea's list; messages consumed after the failover are marked."""
    with running(Manager.of(tmp_path, "ab")) as manager:
        manager.start()
        assert "a" == manager.promote("a")
        assert manager.wait_role("b", "backup")
        a, b = manager.urls()

        published = output_of(modules, "publish", b, a)
        manager.kill("a")
        assert "b" == manager.promote("b")
        consumed = output_of(modules, "consume", a, b)
        left = manager.status("b")["queues"]

    assert COUNT == published["settled"]
    assert 2 == published["attempts"]
    assert [[str(number), True] for number in range(1, COUNT + 1)] == consumed["found"]
    assert {"q": 0} == left
