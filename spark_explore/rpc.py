"""RPC between executors and the driver: frames with named arrays, in both directions.

A frame is a JSON header and the arrays' bytes, so no received data are executed.
`table_server.py` checks the run's password, which `worker_cache.py` sends first.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from joinproto.check.engine.shapes import Column

_HEADER_MAX = 1 << 24
Parts = dict[str, Column]


def send(connection: socket.socket, fields: dict[str, Any], parts: Parts | None = None) -> None:
    for piece in _frame(fields, parts or {}):
        connection.sendall(piece)


def receive(connection: socket.socket) -> tuple[dict[str, Any], Parts]:
    """Return the next frame.

    Raises `ConnectionError` if the connection ends or the bytes are not a frame,
    and `ValueError` if the header is not JSON.
    """
    return _read(connection.recv_into)


def packed(parts: Parts) -> bytes:
    """Return arrays as bytes, for a broadcast."""
    return b"".join(_frame({}, parts))


def unpacked(content: bytes) -> Parts:
    """Return the arrays in the bytes that `packed` returned."""
    return _read(io.BytesIO(content).readinto)[1]


def _frame(fields: dict[str, Any], parts: Parts) -> Iterator[bytes | memoryview]:
    arrays = {name: np.ascontiguousarray(part) for name, part in parts.items()}
    kinds = [(name, part.dtype.str, part.shape) for name, part in arrays.items()]
    header = json.dumps({"words": fields, "parts": kinds}).encode()
    yield len(header).to_bytes(8, "little") + header
    yield from (part.data.cast("B") for part in arrays.values() if part.nbytes)


def _read(read_into: Callable[[memoryview], int]) -> tuple[dict[str, Any], Parts]:
    size = int.from_bytes(_filled(read_into, bytearray(8)), "little")
    if size > _HEADER_MAX:
        raise ConnectionError("the received bytes are not a frame of this protocol")
    header = json.loads(_filled(read_into, bytearray(size)))
    parts: Parts = {}
    for name, kind, shape in header["parts"]:
        parts[name] = np.empty(shape, np.dtype(kind))
        if parts[name].nbytes:
            _filled(read_into, parts[name].data.cast("B"))
    return header["words"], parts


def _filled(read_into: Callable[[memoryview], int], place: Any) -> Any:
    """Fill a place in memory with bytes that arrive, and return it."""
    rest = memoryview(place)
    while rest:
        got = read_into(rest)
        if got == 0:
            raise ConnectionError("the connection or the bytes end before the end of a frame")
        rest = rest[got:]
    return place
