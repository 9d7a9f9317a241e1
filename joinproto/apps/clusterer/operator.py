"""An operator's request to a node: one request and one answer, over the node's port."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.channel import ANY, OPERATOR, fed, length_of, session_of
from joinproto.clusterer.reading import Release
from joinproto.codec.json_text import ascii_line
from joinproto.durable.filesystem import reason
from joinproto.errors import EnvironmentProblem, PeerError
from joinproto.net.addresses import Address
from joinproto.net.framing import LENGTH_BYTES
from joinproto.net.refused import Refused
from joinproto.net.tls import TlsFiles

SECONDS = 10.0


def ask(
    address: Address,
    request: Mapping[str, Any],
    seconds: float = SECONDS,
    secret: bytes = b"",
    tls: TlsFiles | None = None,
) -> dict[str, Any]:
    """Return the answer of the node at this address; raises `EnvironmentProblem`, `PeerError`.

    `seconds`: the limit for connecting and for each message, not for all together.  `secret`: the
    cluster's secret, or b"".  `tls`: files with a certificate that names `OPERATOR`.
    """
    prefix = f"no node of the Clusterer answers at {address}"
    try:
        with _connected(address, seconds, tls) as link:
            link.settimeout(seconds)
            session = session_of(OPERATOR, secret, ANY)
            while session.peer is None:
                link.sendall(session.take_out())
                fed(session, _frame(link))
            link.sendall(session.take_out())
            link.sendall(session.seal(wire.hello(wire.Hello(node=None, release=Release.SEED))))
            wire.hello_of(fed(session, _frame(link)) or b"", Release.SEED)
            link.sendall(session.seal(ascii_line(request)))
            found = wire.unpacked(fed(session, _frame(link)) or b"")
    except TimeoutError:
        raise EnvironmentProblem(
            f"{prefix}: no answer within {seconds:g} s",
            next="check whether the node is busy or hangs; a given config is dropped, or `status`"
            " shows it",
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{prefix}: {reason(error)}", next="start the node, or check the address"
        ) from error
    except Refused as error:
        raise PeerError(
            f"{prefix}: {error}",
            next="check which program listens there; if it needs a proof, give --secret-file or"
            " --certificate",
        ) from None
    if "error" in found and found.get("next"):
        raise PeerError(f"{address}: {found['error']}", next=str(found["next"]))
    return found


def _connected(address: Address, seconds: float, tls: TlsFiles | None) -> socket.socket:
    link = socket.create_connection((address.host, address.port), seconds)
    if tls is None:
        return link
    try:
        return tls.context(accepts=False).wrap_socket(link)
    except OSError:
        link.close()
        raise


def _frame(link: socket.socket) -> bytes:
    return _exactly(link, length_of(_exactly(link, LENGTH_BYTES)))


def _exactly(link: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        data = link.recv(count - len(found))
        if not data:
            raise Refused("the connection ended in the middle of an answer")
        found += data
    return bytes(found)
