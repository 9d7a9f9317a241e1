"""Qpid's member as a state machine: the table for each event in each phase."""

from functools import cache

from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.vocabulary import Phase
from joinproto.reference.qpid.starting import STARTING, UPDATED, WAITING_FOR_UPDATE
from joinproto.reference.qpid.store_status import (
    LOADING,
    MARKING,
    OTHERS_CHANGE,
    RUNNING,
    SHUTDOWN,
    STOPPING,
)

ALIVE = (Phase.INITIALIZING, Phase.JOINING, Phase.ACTIVE)
ENDED = (Phase.STOPPED, Phase.ABORTED)


def qpid_arrows() -> tuple[Arrow[Phase], ...]:
    """Return the arrows of Qpid's member."""
    return (
        Arrow("start", ENDED, LOADING),
        Arrow("agreed", (Phase.INITIALIZING,), STARTING),
        Arrow("agreed", (Phase.JOINING,), WAITING_FOR_UPDATE),
        Arrow("agreed", (Phase.ACTIVE,), OTHERS_CHANGE),
        Arrow("update_done", (Phase.JOINING,), UPDATED),
        Arrow("client_write", (Phase.ACTIVE,), RUNNING),
        Arrow("orderly_shutdown", ALIVE, SHUTDOWN),
        Arrow("leave", ALIVE, STOPPING),
        Arrow("mark_clean", ENDED, MARKING),
    )


@cache
def qpid_machine() -> StateMachine[Phase]:
    """Return the machine that all members share."""
    return StateMachine("qpid", Phase, qpid_arrows())
