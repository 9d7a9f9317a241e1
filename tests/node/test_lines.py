"""`joinproto append` and `joinproto read`, against a node of one member in this process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from joinproto.apps.node.clients import ClientPort
from joinproto.join.messages import Closing
from tests.cli.running import Done, run_here
from tests.node.test_clients import Client, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Return the backend that a node runs on."""
    return "asyncio"


Asked = Callable[..., Awaitable[Done]]


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Asked:
    """Return a function that runs a command while the node continues."""

    async def run(*words: object) -> Done:
        return await anyio.to_thread.run_sync(run_here, capsys, *map(str, words))

    return run


async def is_open(port: ClientPort) -> None:
    """Wait until the port accepts connections."""
    await (await Client.of(port)).stream.aclose()


async def test_appended_frames_are_read(tmp_path: Path, asked: Asked) -> None:
    config = ("--config", tmp_path / "node.toml")
    async with serving(tmp_path) as port:
        await is_open(port)
        appended = await asked("append", *config, "hello", "two words")
        more = await asked("append", *config, "--json", "é")
        read = await asked("read", *config)
        rest = await asked("read", *config, 3, "--json")
        after_end = await asked("read", *config, 9)

    assert (0, "appended as line 1\nappended as line 2\n") == (appended.code, appended.out)
    assert {"seqs": [3]} == json.loads(more.out)
    assert (0, "1 hello\n2 two words\n3 é\n") == (read.code, read.out)
    assert {"lines": [{"seq": 3, "text": "é"}], "end": 3} == json.loads(rest.out)
    assert (0, "") == (after_end.code, after_end.out)


async def test_a_text_of_two_lines_is_refused(tmp_path: Path, asked: Asked) -> None:
    async with serving(tmp_path) as port:
        await is_open(port)
        done = await asked("append", "--config", tmp_path / "node.toml", "one\nappend two")

    assert 2 == done.code
    assert "more than one line" in done.err


async def test_a_command_fails_if_the_node_does_not_serve_or_run(
    tmp_path: Path, asked: Asked
) -> None:
    async with serving(tmp_path) as port:
        await is_open(port)
        port.log.close(Closing.NO_MAJORITY)
        refused = await asked("append", "--config", tmp_path / "node.toml", "hello")
    gone = await asked("read", "--config", tmp_path / "node.toml")

    assert 4 == refused.code
    assert "answered: no not-active" in refused.err
    assert "0 of 1 lines were appended" in refused.err
    assert 4 == gone.code
    assert "next: joinproto status --config" in gone.err
