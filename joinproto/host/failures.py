"""Errors that a driver's block raises when a member fails."""

from __future__ import annotations

from joinproto.errors import JoinprotoError
from joinproto.join.messages import Abort, Waiting
from joinproto.join.phases import Phase
from joinproto.machine.vocabulary import Reason


def advice_for(reason: Reason | None) -> str:
    """Return the advice to an operator about a member that waits for this reason."""
    if reason is Reason.NO_CLEAN_STORE:
        return "if no better store comes: stop all members, then run `joinproto recover pick`"
    if reason is Reason.STORE_WENT_BACK:
        return _ADVICE_IF_WENT_BACK
    return "check which members are up, and whether they reach each other"


ASKS_OPERATOR = (Reason.NO_CLEAN_STORE, Reason.STORE_WENT_BACK)
"""The reasons for which members wait until an operator has looked at their stores."""

_ADVICE_IF_WENT_BACK = (
    "put the newest directory of that member back, or give the member an empty one: the others"
    " update it; if too few members are left for that: stop all members, then run"
    " `joinproto recover pick`"
)


class NotActive(JoinprotoError):
    """The member does not serve clients: it is not active yet, or has ended."""

    default_code = 3

    @classmethod
    def because(cls, phase: Phase, waiting: Waiting | None, seconds: float | None) -> NotActive:
        """Return the error of a member that is in this phase after this many seconds."""
        why = "" if waiting is None else f"; {waiting.label}: {waiting.case}"
        reason = waiting.reason if waiting is not None else None
        return cls(f"not active after {seconds} s: {phase.value}{why}", next=advice_for(reason))


class Aborted(JoinprotoError):
    """The member must not run as it is; a restart does not help."""

    default_code = 5

    def __init__(self, message: str, *, next: str, abort: Abort) -> None:
        super().__init__(message, next=next)
        self.abort = abort

    @classmethod
    def because(cls, member: str, abort: Abort) -> Aborted:
        """Return the error for the member's last report."""
        after = (
            "compare the stores with `joinproto recover pick`"
            if abort.needs_recovery
            else _ADVICE.get(abort.reason.value, "compare the configurations and the stores")
        )
        message = (
            f"{member} must not run: {abort.reason.value}\n  found {abort.found}, expected"
            f" {abort.expected}"
        )
        return cls(message, next=after, abort=abort)


_ADVICE = {
    "wrong-store": "this store is of another cluster, or of another branch: check the path;"
    " `joinproto recover compare` shows both; give the member an empty directory to join anew",
    "store-went-back": _ADVICE_IF_WENT_BACK,
    "options-differ": "give all members the same options and the same wait_for",
}


def only_one(error: BaseException) -> BaseException:
    """Return the failure inside nested groups: the first `JoinprotoError`, or the only error.

    A group with several errors that are none of ours is returned as it is.
    """
    while isinstance(error, BaseExceptionGroup):
        known = [one for one in error.exceptions if isinstance(one, JoinprotoError)]
        if known:
            return known[0]
        if any(one is not error.exceptions[0] for one in error.exceptions):
            break
        error = error.exceptions[0]
    return error
