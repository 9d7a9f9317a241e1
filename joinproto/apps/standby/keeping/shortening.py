"""Making a broker's journal shorter: its queues as they are now stand for the frames so far.

    frames.floor        the queues; then the shorter journal is written next to it, and takes
    its place

In pieces, with appends between them: a store of a million messages takes seconds, in which a
broker that stood still would lose its sessions.  A crash leaves the whole journal, or the shorter
one (`joinproto/log/snapshot.py`, `joinproto/log/dropping.py`).

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
AT_ONCE = 1_000
"""Messages that are measured in a piece."""


def shortening(journal: Journal, queues: Queues) -> Iterator[Callable[[], None]]:
    """Return the pieces of work, if a quarter of the journal would say the same.

    `queues`: as they are behind the journal's last frame; both may change before the first piece.
    """
    # Both now: frames after these queues are not in the snapshot of the runs.
    return _pieces(journal, journal.runs, actions_of(queues))


def _pieces(
    journal: Journal, runs: Sequence[Run], actions: list[Action]
) -> Iterator[Callable[[], None]]:
    left = journal.size // 4
    for first in range(0, len(actions), AT_ONCE):
        some = actions[first : first + AT_ONCE]
        left -= sum(len(as_bytes(action)) + LENGTH_BYTES for action in some)
        if left < 0:
            return
        yield lambda: None
    if not runs:
        return
    made: list[bool] = []
    state = (_framed(as_bytes(action)) for action in actions)
    yield from making(journal, runs, KIND, state, is_floor=True, made=lambda: made.append(True))
    if made:
        yield from dropping(journal, lambda: None)
    # The journal begins with it: a second copy is of no use.
    clear(journal)


def clear(journal: Journal) -> None:
    """Remove leftovers of a process that ended in the middle."""
    remove(journal.files, journal.folder, FILE, FLOOR, *LEFTOVERS)


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data
