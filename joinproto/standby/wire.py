"""The messages of a link as JSON values, by their types: `[tag, fields]`.

A message of a queue travels without its content: that goes next to it, and is the host's.

Source: hot standby, H4 to H6.
"""

from __future__ import annotations

from typing import Any

from joinproto.codec.json_form import encoded, read
from joinproto.codec.malformed import Malformed
from joinproto.errors import PeerError
from joinproto.standby import messages
from joinproto.standby.messages import Content

KINDS: dict[str, type] = {
    "join": messages.Join,
    "subscribe": messages.Subscribe,
    "has": messages.Has,
    "refuse": messages.Refuse,
    "wired": messages.Wired,
    "declared": messages.Declared,
    "deleted": messages.Deleted,
    "surplus": messages.Surplus,
    "copy": messages.Copy,
    "caught-up": messages.CaughtUp,
    "changed": messages.Changed,
    "viewed": messages.Viewed,
}
TAGS = {kind: tag for tag, kind in KINDS.items()}


def to_tree(content: Content) -> list[Any]:
    """Return a message as JSON values."""
    return [TAGS[type(content)], encoded(content)]


def from_tree(tree: Any) -> Content:
    """Return the message; raises `PeerError` for what is none."""
    match tree:
        case [str(tag), dict(fields)] if tag in KINDS:
            try:
                found: Content = read(KINDS[tag], fields)
                return found
            except Malformed as error:
                raise PeerError(
                    f"the fields of the message {tag!r} are not as expected: {error}",
                    next="see that both brokers run one version",
                ) from error
    raise PeerError(
        "what came is not a message of a link", next="see that a broker of this kind is there"
    )
