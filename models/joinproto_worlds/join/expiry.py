"""The messages of the join worlds that are of use no longer: the reduction that makes them fit."""

from __future__ import annotations

from typing import Any

from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.ids import Name, ViewId
from joinproto.join.messages import Confirm, Confirmed, Heartbeat, Hello, Ready, WantUpdate, Welcome
from joinproto_worlds.join.words import Ask, Cas, Data, FrameMessage, Free, Says


def expiry(
    names: tuple[str, ...],
    votes: bool,
    is_fenced: bool,
    sender: str,
    to: str | None,
    content: Any,
) -> list[tuple[str, int]]:
    """Return the members that can use a message, and the last horizon for each.

    Whatever is about a view's successor changes nothing any more at a store that knows it; a
    message about the view itself, at a store that is frozen.  A message that would be answered is
    of use as long as the asker can use the answer.
    """
    others = [name for name in names if name != sender] if to is None else [to]
    match content:
        case Prepare(parent):
            # Without ballots, a frozen store would say the same again.
            at = 2 * _number(parent)
            return [(sender, at + 1), *[(name, at + votes) for name in others]]
        case Accept(parent):
            at = 2 * _number(parent) + 1
            return [(name, at) for name in (sender, *others)]
        case Promise(parent) | Voted(parent) | Nack(parent):
            at = 2 * _number(parent) + 1
        case Chosen():
            at = 2 * content.views[-1].number - 1
        case Says(view):
            at = 2 * view.number - 1
        case Cas(view):
            return [(sender, 2 * view.number - 1)]
        case Ask(parent):
            return [(sender, 2 * _number(parent) + 1)]
        case Free(parent):
            at = 2 * _number(parent) + 1
        case Hello():
            at = 2 * content.number
            # A sender that froze after it asked can still use the answer.
            return [(name, at + 1) for name in (sender, *others)]
        case Data(view):
            at = 2 * _number(view) + 1
        case Confirm(view):
            # Of use as long as an answer may come, and as it would mean something.
            return [(name, 2 * _number(view)) for name in (sender, *others)]
        case Confirmed(view):
            at = 2 * _number(view)
        case Heartbeat():
            at = 2 * content.number
        case FrameMessage() if not is_fenced:
            return []
        case Ready(view) | Welcome(view) | FrameMessage(view):
            at = 2 * _number(view)
        case WantUpdate(view):
            return [(sender, 2 * _number(view) + 1)]
        case _:
            return []
    return [(name, at) for name in others]


def _number(view: ViewId | None) -> int:
    return 0 if view is None else name_of(view).number


def name_of(view: ViewId) -> Name:
    """Return the id of a view of a searched world, which is its name."""
    assert isinstance(view, Name)
    return view
