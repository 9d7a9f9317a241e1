"""The control socket: the requests of `joinproto status` and `joinproto shutdown` to a node.

The socket is a Unix socket that only the node's user may open.  A request is one line, and its
answer one line of JSON.  A node removes nothing from the path except a socket on which no process
answers, and at its end its own socket.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteStream, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.net.accepting import SpareDescriptor, serve_each

SECONDS = 10.0
"""The most seconds for a request and its answer."""
PATH_BYTES_MAX = 107
"""The longest path of a socket, in bytes, without the null byte at its end."""
LINE_MAX = 1_000
Reply = Mapping[str, Any]
Answer = Callable[..., Reply | Awaitable[Reply]]


async def serve_control(
    path: Path,
    answers: Mapping[str, Answer],
    *,
    with_words: Mapping[str, Answer] | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Answer requests until cancelled.

    Raises as `make_room` does, and `EnvironmentProblem` if there can be no socket at `path`.

    Args:
        path: the path of the socket.
        answers: for each request, the function that answers it.
        with_words: the same for requests with words after a blank, which the function gets.
        task_status: reports `started` once the socket exists.
    """
    make_room(path)
    try:
        before = os.umask(0o177)
        try:
            listener = await anyio.create_unix_listener(path)
        finally:
            os.umask(before)
        own = _identity(path)
    except OSError as error:
        raise EnvironmentProblem(
            f"the control socket {path}: {error.strerror or error}",
            next="set `control` to a path in a directory that can be written",
        ) from error

    async def answer(stream: ByteStream) -> None:
        async with stream:
            with suppress(OSError, anyio.BrokenResourceError, anyio.IncompleteRead, TimeoutError):
                with anyio.fail_after(SECONDS):
                    line = await BufferedByteReceiveStream(stream).receive_until(b"\n", LINE_MAX)
                    text = line.decode("utf-8", "replace")
                    found = await _answered(text, answers, with_words or {})
                    await stream.send(json.dumps(found).encode() + b"\n")

    try:
        async with listener:
            task_status.started()
            async with anyio.create_task_group() as tasks:
                # With its spare file descriptor, this socket answers even if no other is free.
                await serve_each(listener, answer, tasks, SpareDescriptor())
    finally:
        _remove(path, own)


async def _answered(
    line: str, answers: Mapping[str, Answer], with_words: Mapping[str, Answer]
) -> Reply:
    request, _, words = line.partition(" ")
    if line in answers:
        found = answers[line]()
    elif request in with_words:
        found = with_words[request](words)
    else:
        return {"error": "no such request"}
    return await found if isinstance(found, Awaitable) else found


def make_room(path: Path) -> None:
    """Make room for a socket at `path`: remove the socket of a process that has ended.

    Raises `UsageProblem` if the path is too long, or if another kind of file is there, which is not
    changed; `EnvironmentProblem` if a process answers, or if the socket does not say whether.
    """
    require_place(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        try:
            link.connect(os.fspath(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise EnvironmentProblem(
                f"the control socket {path}: {error.strerror or error}",
                next="look which process made the socket, or set `control` to another path",
            ) from error
    raise EnvironmentProblem(
        f"the control socket {path}: another process answers there",
        next="look whether this node runs already, or set `control` to another path",
    )


def require_place(path: Path) -> None:
    """Raise `UsageProblem` if `path` is too long, or something other than a socket is there."""
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise UsageProblem(
            f"control {path}: the path has {len(os.fsencode(path))} bytes, a socket's path at most"
            f" {PATH_BYTES_MAX}",
            next="set `control` to a shorter path",
        )
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise UsageProblem(
            f"control {path} is not a socket, and was not changed",
            next="set `control` to a path that does not exist, or leave it out",
        )


def _remove(path: Path, own: tuple[int, int]) -> None:
    with suppress(OSError):
        if _identity(path) == own:
            path.unlink()


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def ask_control(path: Path, request: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the answer of the node at this socket.

    Raises `EnvironmentProblem` if no node answers within `seconds`.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(seconds)
            link.connect(os.fspath(path))
            link.sendall(request.encode() + b"\n")
            with link.makefile("rb") as lines:
                answer = lines.readline()
        return dict(json.loads(answer))
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or "no answer"
        raise EnvironmentProblem(
            f"no node answers at {path}: {why}",
            next="look whether the node runs, and whether --config is its configuration",
        ) from error
