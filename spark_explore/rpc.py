"""RPC between executors and the driver: arrays by name, framed, in both directions.

Nothing that arrives is executed: a frame is a JSON header and the arrays' bytes.  A caller that
connects says the run's password first.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import numpy as np
import numpy.typing as npt

_HEADER_MAX = 1 << 24
Parts = dict[str, npt.NDArray[Any]]


def send(connection: socket.socket, words: dict[str, Any], parts: Parts | None = None) -> None:
    """Send one frame."""
    parts = {name: np.ascontiguousarray(part) for name, part in (parts or {}).items()}
    kinds = [(name, part.dtype.str, part.shape) for name, part in parts.items()]
    header = json.dumps({"words": words, "parts": kinds}).encode()
    connection.sendall(len(header).to_bytes(8, "little") + header)
    for part in parts.values():
        if part.nbytes:
            connection.sendall(part.data.cast("B"))


def receive(connection: socket.socket) -> tuple[dict[str, Any], Parts]:
    """Return the next frame; raises ConnectionError where there is none."""
    size = int.from_bytes(_exactly(connection, 8), "little")
    if size > _HEADER_MAX:
        raise ConnectionError("what arrived is not a frame of ours")
    header = json.loads(_exactly(connection, size))
    parts: Parts = {}
    for name, kind, shape in header["parts"]:
        array = np.empty(shape, np.dtype(kind))
        if array.nbytes:
            _fill(connection, array.data.cast("B"))
        parts[name] = array
    return header["words"], parts


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = bytearray(size)
    _fill(connection, memoryview(found))
    return bytes(found)


def _fill(connection: socket.socket, place: memoryview) -> None:
    at = 0
    while at < len(place):
        got = connection.recv_into(place[at:])
        if got == 0:
            raise ConnectionError("the other end closed the connection")
        at += got


def packed(parts: Parts) -> bytes:
    """Return arrays as bytes, as a broadcast carries them."""
    kinds = [(name, part.dtype.str, part.shape) for name, part in parts.items()]
    header = json.dumps(kinds).encode()
    return b"".join(
        [len(header).to_bytes(8, "little"), header, *(part.tobytes() for part in parts.values())]
    )


def unpacked(content: bytes) -> Parts:
    """Return the arrays that `packed` was given."""
    size = int.from_bytes(content[:8], "little")
    at = 8 + size
    parts: Parts = {}
    for name, kind, shape in json.loads(content[8:at]):
        array = np.empty(shape, np.dtype(kind))
        if array.nbytes:
            array.data.cast("B")[:] = content[at : at + array.nbytes]
        parts[name] = array
        at += array.nbytes
    return parts
