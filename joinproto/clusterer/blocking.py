"""Which peers a node waits for, by the case of its table.

Source: Clusterer, U4: wait, without end, and say for which nodes.
"""

from __future__ import annotations

from joinproto.clusterer.config import Config
from joinproto.clusterer.polling import leader
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import Next, WaitingPeer
from joinproto.machine.tables import Case


def blockers(
    config: Config, seen: tuple[WaitingPeer, ...], case: Case[Next], awaited: frozenset[str] | None
) -> frozenset[str]:
    """Return which peers a node waits for.  `awaited`: those with maybe newer data (rejoining)."""
    others = [one for one in seen if one.other]
    match case.name:
        case "a node is unreachable" | "a node is not joining":
            return frozenset(one.name for one in others if one.status is not Status.JOINING)
        case "another is first":
            return frozenset({leader(config)})
        case "a ram node":
            return frozenset(one.name for one in others if one.name in config.disc)
        case "a later one is away":
            away = Status.UNREACHABLE
            return frozenset(one.name for one in others if one.ran and one.status is away)
    return awaited or frozenset()
