"""The control socket: what `joinproto status` and `joinproto shutdown` say to a node.

A Unix socket in the data directory, for the user of the node only.  One line in, one line of
JSON out.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from joinproto.errors import EnvironmentProblem

SECONDS = 10.0
Answer = Callable[[], Awaitable[Mapping[str, Any]]]


async def serve_control(path: Path, answers: Mapping[str, Answer]) -> None:
    """Answer until cancelled; the store's lock says that nobody else uses the path."""
    _remove(path)
    try:
        before = os.umask(0o177)
        try:
            listener = await anyio.create_unix_listener(path)
        finally:
            os.umask(before)
    except OSError as error:
        raise EnvironmentProblem(
            f"the control socket {path}: {error.strerror or error}",
            next="set `control` to a shorter path, in a directory that can be written",
        ) from error

    async def answer(stream: ByteStream) -> None:
        async with stream:
            with suppress(OSError, anyio.BrokenResourceError, anyio.IncompleteRead, TimeoutError):
                with anyio.fail_after(SECONDS):
                    line = await BufferedByteReceiveStream(stream).receive_until(b"\n", 100)
                    asked = answers.get(line.decode("ascii", "replace"))
                    found = {"error": "no such request"} if asked is None else await asked()
                    await stream.send(json.dumps(found).encode() + b"\n")

    try:
        async with listener:
            await listener.serve(answer)
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def ask_control(path: Path, request: str) -> dict[str, Any]:
    """Return what the node at this socket answers; raises `EnvironmentProblem` if none does."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(SECONDS)
            link.connect(os.fspath(path))
            link.sendall(request.encode() + b"\n")
            with link.makefile("rb") as lines:
                said = lines.readline()
        found = json.loads(said)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no answer"
        raise EnvironmentProblem(
            f"no node answers at {path}: {why}",
            next="look whether the node runs, and whether --config is its configuration",
        ) from error
    return dict(found)
