"""Each extra alone in an empty environment: its packages are enough for its commands."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.project.test_packaging import ROOT, build, install

pytestmark = pytest.mark.soak("extras")

COMMANDS: dict[str, tuple[tuple[str, int], ...]] = {
    "check": (("check two-phase-commit --members 6", 0), ("check note-partition", 1)),
    "prove": (("prove one_successor", 0),),
    "second": (("prove one_successor --second cvc5", 0),),
    "query": (
        ("check note-rejoin --engine local --out run", 0),
        ("query run --ask growth", 0),
    ),
    "spark": (("check two-phase-commit --engine spark --master local[1]", 0),),
    "web": (("explore durable-vote --export page.html", 0),),
    "run": (("node --config node.toml --check", 2), ("status --config node.toml", 2)),
    "reconcile": (("reconcile run --url http://127.0.0.1:1 --once --timeout 2", 1),),
    "discovery": (("discovery list rabbitmq.conf", 1),),
    "amqtt": (("node --config node.toml --check", 2),),
    "standby": (("standby run --config node.toml", 2),),
    "plot": (("reconcile simulate --queues 100 --nodes 10 --picture a.svg", 0),),
    "all": (("check two-phase-commit --members 6", 0), ("prove one_successor", 0)),
}
"""For each extra: command lines with their exit codes.  node.toml lacks most settings."""


def extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found: dict[str, list[str]] = project["project"]["optional-dependencies"]
    return found


def test_every_extra_has_its_commands_here() -> None:
    assert extras().keys() == COMMANDS.keys()


@pytest.mark.needs("java")
@pytest.mark.parametrize("extra", COMMANDS)
def test_an_extra_alone_is_enough_for_its_commands(extra: str, tmp_path: Path) -> None:
    installed = install(build("wheel", ROOT, tmp_path / "wheel"), tmp_path, extra=extra)
    (installed.folder / "node.toml").write_text('member = "a"\n')
    (installed.folder / "rabbitmq.conf").write_text(
        "cluster_formation.peer_discovery_backend = consul\n"
        "cluster_formation.consul.host = 127.0.0.1\n"
        "cluster_formation.consul.port = 1\n"
    )

    for words, code in COMMANDS[extra]:
        done = installed.run(installed.script, *words.split(), expected=code)

        assert "is not installed" not in done.stderr
