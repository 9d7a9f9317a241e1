"""The rows of the join and rejoin tables, from the statuses of a round.

Source: Clusterer, U4 and U5.
"""

from __future__ import annotations

from collections.abc import Mapping

from joinproto.clusterer.config import Config
from joinproto.clusterer.state import State
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import JOIN, REJOIN, Next, WaitingPeer
from joinproto.machine.tables import Case


def leader(config: Config) -> str:
    """Return who founds: the gospel; with reset the disc node whose name is least."""
    return config.gospel if config.gospel is not None else min(config.disc)


def seen(
    config: Config,
    me: str,
    own: Status,
    statuses: Mapping[str, Status],
    ran: frozenset[str],
) -> tuple[WaitingPeer, ...]:
    """Return all nodes of the config by name; who is not in `statuses` cannot be reached."""
    return tuple(
        WaitingPeer(
            name=name,
            status=own,
            other=False,
            ram=me in config.ram,
            leads=leader(config) == me,
            resets=config.gospel is None,
        )
        if name == me
        else WaitingPeer(
            name=name,
            status=statuses.get(name, Status.UNREACHABLE),
            ran=name in config.disc and name in ran,
        )
        for name in sorted(config.nodes)
    )


def seen_by(state: State, statuses: Mapping[str, Status]) -> tuple[WaitingPeer, ...]:
    """Return all nodes of the config as this one sees them."""
    config = state.config_now.config
    return seen(config, state.who.me, state.status, statuses, state.record.ran)


def choose(status: Status, rows: tuple[WaitingPeer, ...], me: int) -> Case[Next]:
    """Return the case of the join or rejoin table that holds for the node at place `me`."""
    return (JOIN if status is Status.JOINING else REJOIN).choose(rows, me)
