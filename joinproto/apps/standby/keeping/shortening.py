"""Shortens a broker's journal: a snapshot of its queues replaces the frames so far.

First the queues are written to `frames.floor`.  Then the shorter journal is written to another
file, which replaces the journal.

The work is done in pieces, with appends between them: a store of a million messages takes seconds,
and a broker that stood still for so long would lose its sessions.  A crash leaves the whole
journal, or the shorter one (`joinproto/log/snapshot.py`, `joinproto/log/dropping.py`).

Source: recovery, "The metadata on disk".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from joinproto.apps.standby.keeping.form import Action, Queues, actions_of, as_bytes
from joinproto.durable.filesystem import remove
from joinproto.durable.journal.journal import Journal
from joinproto.durable.journal.records import Run
from joinproto.log.dropping import dropping
from joinproto.log.keeper import LEFTOVERS
from joinproto.log.snapshot import FILE, FLOOR, making

KIND = "standby queues"
LENGTH_BYTES = 4
ACTIONS_A_PIECE = 1_000
"""The number of actions whose sizes are added up in one piece of work."""


def shortening(journal: Journal, queues: Queues) -> Iterator[Callable[[], None]]:
    """Return the pieces of work that shorten the journal.

    If the queues do not fit into a quarter of the journal, the work ends early and changes nothing.
    `queues`: the queues after the journal's last frame.  Both may change before the first piece.
    """
    # Runs and actions are read now, so that they belong to the same last frame.
    return _pieces(journal, journal.runs, actions_of(queues))


def _pieces(
    journal: Journal, runs: Sequence[Run], actions: list[Action]
) -> Iterator[Callable[[], None]]:
    left = journal.size // 4
    for first in range(0, len(actions), ACTIONS_A_PIECE):
        some = actions[first : first + ACTIONS_A_PIECE]
        left -= sum(len(as_bytes(action)) + LENGTH_BYTES for action in some)
        if left < 0:
            return
        yield lambda: None
    if not runs:
        return
    made: list[bool] = []
    state = (_framed(as_bytes(action)) for action in actions)
    yield from making(
        journal, runs, KIND, state, is_floor=True, when_made=lambda: made.append(True)
    )
    if made:
        yield from dropping(journal, lambda: None)
    # The shorter journal begins with the snapshot, so a second copy is of no use.
    clear(journal)


def clear(journal: Journal) -> None:
    """Remove the snapshot, and leftovers of a process that ended while it shortened."""
    remove(journal.files, journal.folder, FILE, FLOOR, *LEFTOVERS)


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data
