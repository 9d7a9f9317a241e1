"""An operator's connection with a node: both prove that they know a secret, or show certificates.

An operator does not know the name of the node that it calls, and uses `ANY` instead.

Source: Clusterer, U7; running, "Security".
"""

from __future__ import annotations

from joinproto.apps.clusterer.wire import FRAME_BYTES_MAX
from joinproto.net.framing import framed
from joinproto.net.refused import Refused
from joinproto.net.session import TAG_BYTES, Identity, Session

CLUSTER = "joinproto-clusterer"
VERSIONS = (2, 2)
"""The oldest and the newest version of connections.  Only the Clusterer had version 1."""
EARLIER = "version 1 of connections between nodes is not supported: upgrade all nodes at once"
ANY = "*"
OPERATOR = "operator"


def session_of(me: str, secret: bytes, dials: str | None) -> Session:
    """Return the session of `me`.

    `dials`: the name of the peer that `me` calls, None if the peer calls.
    """
    identity = Identity(member=me, cluster_name=CLUSTER, secret=secret, versions=VERSIONS)
    return Session(identity, dials)


def fed(session: Session, frame: bytes) -> bytes | None:
    """Return the body of a frame, or None for a greeting; raises `Refused`."""
    return next(iter(list(session.feed(framed(frame)))), None)


def length_of(head: bytes, limit: int = FRAME_BYTES_MAX + TAG_BYTES) -> int:
    """Return the length of the frame that follows these bytes; raises `Refused`."""
    length = int.from_bytes(head, "big")
    if not 0 < length <= limit:
        raise Refused(f"a frame of {length} bytes, expected 1 to {limit} bytes")
    return length
