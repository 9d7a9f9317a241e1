"""The chain of views on the disk of a broker with a built-in manager.  No I/O.

    chain/frames.log        one frame for each view, as in any log of `joinproto/log`

Source: hot standby, H2, H4, H10.
"""

from __future__ import annotations

from joinproto.codec import json_text
from joinproto.codec.json_form import encoded, read
from joinproto.durable.journal.records import BASE_MAGIC, base_of, parsed
from joinproto.log.entry import Entry
from joinproto.standby.chain import follows
from joinproto.standby.messages import View

FOLDER = "chain"
FRAMES = f"{FOLDER}/frames.log"


def packed(view: View) -> bytes:
    """Return a view as bytes: the body of a frame, or the state of the log."""
    return json_text.ascii_line(encoded(view))


def unpacked(data: bytes) -> View:
    """Return the view from which `packed` made these bytes; raises `Malformed`."""
    view: View = read(View, json_text.parsed(data, "view"))
    return view


def last_view(data: bytes) -> View | None:
    """Return the last view in the undamaged beginning of the bytes of `FRAMES`.

    None if their base is damaged.

    This view may not be in the logs of a majority.  Even so its primary had every message confirmed
    before: a new primary was a member of the view before, and takes in no other broker.
    """
    chain, at = View(), 0
    try:
        if data.startswith(BASE_MAGIC):
            base = base_of(lambda place, length: data[place : place + length])
            if isinstance(base, str):
                return None
            chain, at = unpacked(data[base.state_at : base.size]), base.size
        while found := parsed(data[at:]):
            frame, length, _ = found
            view = unpacked(Entry.of(frame.data).body)
            chain, at = view if follows(chain, view) else chain, at + length
    except ValueError:
        return chain
    return chain
