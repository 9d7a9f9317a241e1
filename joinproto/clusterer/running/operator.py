"""An operator's word with a node: one request, one answer, over the node's port."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from joinproto.clusterer.reading import Release
from joinproto.clusterer.running import wire
from joinproto.drivers.addresses import Address
from joinproto.drivers.framing import LENGTH_BYTES
from joinproto.drivers.refused import Refused
from joinproto.errors import EnvironmentProblem, PeerError

SECONDS = 10.0


def ask(address: Address, request: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Return what the node at this address answers; raises `EnvironmentProblem`, `PeerError`."""
    place = f"no node of the Clusterer answers at {address}"
    try:
        with socket.create_connection((address.host, address.port), seconds) as link:
            link.settimeout(seconds)
            link.sendall(wire.hello(wire.Hello(node=None, release=Release.SEED)))
            wire.hello_of(_frame(link), Release.SEED)
            link.sendall(wire.packed(request))
            found = wire.unpacked(_frame(link))
    except TimeoutError:
        raise EnvironmentProblem(
            f"{place}: nothing within {seconds:g} s", next="look whether it is busy, or hangs"
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{place}: {error.strerror or error}", next="start the node, or check the address"
        ) from error
    except Refused as error:
        raise PeerError(f"{place}: {error}", next="look what listens there") from None
    if "error" in found and found.get("next"):
        raise PeerError(f"{address}: {found['error']}", next=str(found["next"]))
    return found


def _frame(link: socket.socket) -> bytes:
    length = int.from_bytes(_exactly(link, LENGTH_BYTES), "big")
    if not 0 < length <= wire.FRAME_BYTES_MAX:
        raise Refused(f"a frame of {length} bytes, expected 1 to {wire.FRAME_BYTES_MAX}")
    return _exactly(link, length)


def _exactly(link: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        data = link.recv(count - len(found))
        if not data:
            raise Refused("the connection ended in the middle of an answer")
        found += data
    return bytes(found)
