"""The note as rules for verdicts: joining if a member is active, otherwise initialization."""

from collections.abc import Sequence

from joinproto.machine.sets import A
from joinproto.machine.tables import Case
from joinproto.machine.terms import ALWAYS
from joinproto.machine.verdict import NEW, RuleSet
from joinproto.machine.vocabulary import Phase, Signature, Status, Store
from joinproto.reference.effects import Action
from joinproto.reference.note.initialization import initialization
from joinproto.reference.note.joining import joining
from joinproto.reference.note.readings import AS_WRITTEN, Readings

GOES_ON = (Phase.ACTIVE, Phase.READY, Phase.UPDATING)


def initial_signature(
    members: Sequence[Status], cases: Sequence[Case[Phase] | None]
) -> Signature | None:
    """Return the initial signature of the running cluster, or of the one that starts.

    `NEW` if a new cluster is founded; None if no cluster runs or starts, or if the
    signature is unknown or not the same in all active members.
    """
    running = {status.initial for status in members if status.active and status.initial is not None}
    if any(status.active for status in members):
        # The note does not speak of active members of two clusters, so there is no answer.
        return running.pop() if len(running) == 1 else None
    taken = [case for case in cases if case is not None and case.outcome in GOES_ON]
    if any(Action.SET_INITIAL in case.effects for case in taken):
        return NEW
    clean = [status.initial for status in members if status.store is Store.CLEAN]
    return clean[0] if taken and clean else None


def note_rules(readings: Readings = AS_WRITTEN) -> RuleSet:
    """Return the note's rules under one reading."""
    return RuleSet(
        "note",
        ((~A.is_empty, joining(readings)), (ALWAYS, initialization(readings))),
        initial_signature,
    )
