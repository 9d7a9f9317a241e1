"""Messages that no member can use any more: dropping them keeps the join worlds small enough."""

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
    """Return the members that can use a message, and the last horizon (`Node.horizon`) for each.

    A message about a view's successor does not change a store that knows the successor, and a
    message about the view itself does not change a store that is frozen.  A message that is
    answered is of use as long as its sender can use the answer.

    `votes`: members choose views by votes.  `is_fenced`: frames of earlier views are refused.
    """
    others = [name for name in names if name != sender] if to is None else [to]
    match content:
        case Prepare(parent):
            # With an outside register there are no ballots, so a frozen store would repeat itself.
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
            # The question is of use as long as its answer could still change a member.
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
    """Return the name of a view: in a searched world its id is its name."""
    assert isinstance(view, Name)
    return view
