"""The control socket replaces a socket that is left over, and removes only its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.host.process.control import ask_control, serve_control
from tests.cli.running import run_here

pytestmark = pytest.mark.anyio


async def hello() -> Mapping[str, Any]:
    return {"hello": "world"}


async def served(path: Path, name: str = "status") -> dict[str, Any]:
    """Serve at this path for one question, and return the answer."""
    async with anyio.create_task_group() as tasks:
        await tasks.start(serve_control, path, {"status": hello})
        found = await anyio.to_thread.run_sync(ask_control, path, name)
        tasks.cancel_scope.cancel()
    return found


async def test_a_request_is_answered_and_the_socket_is_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    assert {"hello": "world"} == await served(path)
    assert not path.exists()


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
async def test_a_file_that_is_not_a_socket_is_refused_and_not_changed(
    tmp_path: Path, kind: str
) -> None:
    path, other = tmp_path / "precious.db", tmp_path / "other"
    other.write_text("all that we have")
    match kind:
        case "file":
            path.write_text("all that we have")
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to(other)

    with pytest.raises(UsageProblem, match="is not a socket"):
        await serve_control(path, {})

    assert path.exists()
    assert "all that we have" == other.read_text()
    assert kind != "file" or path.read_text() == "all that we have"


async def test_a_socket_on_which_no_process_answers_is_replaced(tmp_path: Path) -> None:
    """A killed process leaves its socket."""
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(os.fspath(path))
    assert path.is_socket()

    assert {"hello": "world"} == await served(path)


async def test_a_socket_on_which_a_process_answers_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(os.fspath(path))
        other.listen()

        with pytest.raises(EnvironmentProblem, match="another process answers"):
            await serve_control(path, {})

        assert path.is_socket()


async def test_a_node_removes_only_its_own_socket_at_its_end(tmp_path: Path) -> None:
    """Another program has replaced the socket by its own file."""
    path = tmp_path / "control.sock"
    async with anyio.create_task_group() as tasks:
        await tasks.start(serve_control, path, {"status": hello})
        path.unlink()
        path.write_text("precious")
        tasks.cancel_scope.cancel()

    assert "precious" == path.read_text()


def test_check_reports_a_file_at_the_path_of_the_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious.db").write_text("all that we have")
    config = tmp_path / "node.toml"
    config.write_text(
        'member = "a"\ncluster = "demo"\ndata = "data"\nelectors = ["a"]\nwait_for = 1\n'
        'listen = "127.0.0.1:7101"\nclients = "127.0.0.1:7201"\ncontrol = "precious.db"\n'
    )

    for words in (["--check"], []):
        done = run_here(capsys, "node", *words, "--config", str(config))

        assert (2, True) == (done.code, "precious.db is not a socket" in done.err)
        assert "all that we have" == (tmp_path / "precious.db").read_text()
        assert not (tmp_path / "data").exists()
