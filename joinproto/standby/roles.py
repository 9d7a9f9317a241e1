"""The roles of a broker as a state machine: its tables map events to roles.

Source: hot standby, H1 to H3, H8.
"""

from __future__ import annotations

from functools import cache

from attrs import frozen

from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members
from joinproto.standby.broker import Mark, Role


@frozen(kw_only=True)
class Facts:
    """The facts about a broker by which the tables choose.

    `member`: it is in the youngest view that it knows; `lacks`: it has not caught up with all
    queues.  `was_backup`: its role on this link was backup until now.  `waits`: expected backups
    have not caught up.

    Facts about a broker that stops: `dirty`: its store was dirty at the start, and it has been
    neither backup nor primary since; `copying`: it may have only a part of the primary's messages;
    `in_order`: it was told to stop; `untouched`: it still has the role that it had at its start.
    """

    member: bool = False
    lacks: bool = False
    was_backup: bool = False
    waits: bool = False
    dirty: bool = False
    copying: bool = False
    in_order: bool = True
    untouched: bool = False


FACTS = Members("R", Facts)
_is = FACTS.fact

CONNECTING, CATCHUP, BACKUP = Role.CONNECTING, Role.CATCHUP, Role.BACKUP
RECOVERING, PRIMARY, STOPPED = Role.RECOVERING, Role.PRIMARY, Role.STOPPED
SERVING = (RECOVERING, PRIMARY)
FOLLOWING = (CONNECTING, CATCHUP, BACKUP)


def _table(name: str, *cases: Case[Role]) -> Table[Role]:
    return Table(f"standby-{name}", "hot standby, H1", cases)


STARTED = _table("started", Case("H1", "it starts", ALWAYS, CONNECTING))
WIRED = _table("wired", Case("H1", "a primary has sent its wiring", ALWAYS, CATCHUP))
LOOKED = _table(
    "looked",
    Case("H4", "not up to date, by the view", _is("not in the view", member=False), CATCHUP),
    # A queue that is declared again is caught up a moment later, and lacks no confirmed message.
    Case("H5", "it was one already", _is("it was a backup", was_backup=True), BACKUP),
    Case("H5", "queues are missing", _is("it lacks messages of a queue", lacks=True), CATCHUP),
    Case("H5", "it has all", ALWAYS, BACKUP),
)
LOST = _table("lost", Case("H8", "its primary is gone", ALWAYS, CONNECTING))
PROMOTED = _table(
    "promoted",
    Case("H8", "backups are expected", _is("it waits for backups", waits=True), RECOVERING),
    Case("H8", "no backup is expected", ALWAYS, PRIMARY),
)
TURNED = _table("turned", Case("H2", "it is primary no more", ALWAYS, CONNECTING))
ENDED = _table("ended", Case("H1", "it stops", ALWAYS, STOPPED))
MARKED = Table(
    "standby-marked",
    "hot standby, H10",
    (
        # An orderly stop does not repair a store that is dirty or half copied.
        Case("H10", "it was dirty", _is("its store is dirty", dirty=True), Mark.DIRTY),
        Case("H10", "half a copy", _is("it catches up", copying=True), Mark.DIRTY),
        Case("H10", "in order", _is("it ends in order", in_order=True), Mark.CLEAN),
        Case("H10", "it only started", _is("nothing has happened", untouched=True), Mark.CLEAN),
        Case("H10", "it fails", ALWAYS, Mark.DIRTY),
    ),
)
"""The mark that a broker leaves on its disk when it stops."""


@cache
def machine() -> StateMachine[Role]:
    """Return the state machine, which all brokers share."""
    return StateMachine(
        "standby",
        Role,
        (
            Arrow("start", (STOPPED,), STARTED),
            Arrow("wired", FOLLOWING, WIRED),
            Arrow("look", (CATCHUP, BACKUP), LOOKED),
            Arrow("lost", FOLLOWING, LOST),
            Arrow("promoted", (*FOLLOWING, *SERVING), PROMOTED),
            Arrow("turned", SERVING, TURNED),
            Arrow("stop", tuple(Role), ENDED),
        ),
    )
