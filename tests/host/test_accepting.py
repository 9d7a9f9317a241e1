"""Listening while no file descriptor is left, and the warning about a secret that all can read."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import define, field

from joinproto.host.process.control import serve_control
from joinproto.net.accepting import SpareDescriptor, serve_each
from joinproto.net.secret import read_secret


@define
class Exhausted:
    """A listener whose accept fails with each of `errors`, and then gives one connection.

    `was_spared`: for this connection, whether the spare descriptor was released.
    """

    errors: list[int]
    spare: SpareDescriptor
    was_spared: list[bool] = field(factory=list)

    async def accept(self) -> str:
        if self.errors:
            number = self.errors.pop(0)
            raise OSError(number, os.strerror(number))
        if self.was_spared:
            await anyio.sleep_forever()
        self.was_spared.append(self.spare._file < 0)
        return "a connection"


def served(errors: list[int]) -> tuple[list[str], list[bool]]:
    """Return the answered connections, and for each whether the spare descriptor was released."""
    answered: list[str] = []

    async def serve() -> None:
        spare = SpareDescriptor()
        listener: Any = Exhausted(errors, spare)
        done = anyio.Event()

        async def answer(stream: str) -> None:
            answered.append(stream)
            done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_each, listener, answer, tasks, spare)
            await done.wait()
            tasks.cancel_scope.cancel()
        spare.give()
        spared.extend(listener.was_spared)

    spared: list[bool] = []
    anyio.run(serve)
    return answered, spared


def test_an_accept_that_fails_for_lack_of_a_descriptor_is_tried_again() -> None:
    """Otherwise one request for the status could end a primary."""
    assert (["a connection"], [False]) == served([])
    assert (["a connection"], [True]) == served([errno.EMFILE, errno.ENFILE])


def test_an_accept_that_fails_for_another_reason_raises_its_error() -> None:
    with pytest.raises(BaseExceptionGroup) as raised:
        served([errno.EBADF])
    assert raised.group_contains(OSError)


def test_the_control_socket_answers_when_no_descriptor_is_free(tmp_path: Path) -> None:
    """With a real limit: all descriptors are in use, and the spare one is enough for an answer."""

    async def state() -> dict[str, object]:
        return {"is": "there"}

    async def answer_of_status() -> bytes:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        link, held = socket.socket(socket.AF_UNIX), list[int]()
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve_control, path, {"status": state})
            # The limit is on numbers: one below those that are open would also refuse the spare.
            most = max(map(int, os.listdir("/proc/self/fd"))) + 32  # noqa: PTH208
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, most), hard))
            try:
                with suppress(OSError):
                    while True:
                        held.append(os.open(os.devnull, os.O_RDONLY))
                link.connect(os.fspath(path))
                link.sendall(b"status\n")
                said = await anyio.to_thread.run_sync(link.recv, 1_000)
            finally:
                for file in held:
                    os.close(file)
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                link.close()
                tasks.cancel_scope.cancel()
        return said

    path = tmp_path / "control"
    assert {"is": "there"} == json.loads(anyio.run(answer_of_status))


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True)])
def test_a_warning_is_logged_about_a_secret_file_that_all_users_can_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    """The file is not refused: a program that mounts secrets into containers chooses its mode."""
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef")
    file.chmod(mode)

    assert b"0123456789abcdef" == read_secret("secret_file", file)
    assert warned == ("all users of this machine can read it" in caplog.text)
    assert b"0123456789abcdef".decode() not in caplog.text
