"""The verdict on a given set of members: the outcome for each of them.

The verdict depends only on this set and the rules; `joinproto decide` prints it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from attrs import field, frozen

from joinproto.errors import MisuseError
from joinproto.machine.compiled import holds, members_of
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import Condition
from joinproto.machine.vocabulary import Phase, Reason, Signature, Status

NEW: Final = "new"
"""The initial signature of a cluster that is being founded, before a member has chosen one."""


class Outcome(Enum):
    """The outcome of one member."""

    WAIT = "wait"
    ACTIVE = "active"  # from its own store, or as a founder
    UPDATE = "update"  # it gets the state from another member and is then active
    ABORT = "abort"
    UNAFFECTED = "unaffected"  # active already


OUTCOME_OF = {
    Phase.INITIALIZING: Outcome.WAIT,
    Phase.READY: Outcome.ACTIVE,
    Phase.ACTIVE: Outcome.ACTIVE,
    Phase.UPDATING: Outcome.UPDATE,
    Phase.JOINING: Outcome.UPDATE,
    Phase.ABORTED: Outcome.ABORT,
}


@frozen
class RuleSet:
    """A set of rules: the first of `tables` whose condition holds decides.

    `initial` gets the members and the case of each (None: it is active already), and returns the
    initial signature that the cluster has afterwards.
    """

    name: str
    tables: tuple[tuple[Condition, Table[Phase]], ...]
    initial: Callable[[Sequence[Status], Sequence[Case[Phase] | None]], Signature | None]

    def choose(self, members: Sequence[Status], me: int) -> Case[Phase] | None:
        """Return the case that the member at place `me` takes; None if it is already active."""
        if members[me].active:
            return None
        for when, table in self.tables:
            if holds(when, members, me):
                return table.choose(members, me)
        raise MisuseError(
            f"rules {self.name}: no table's condition holds",
            next="give the last table the condition ALWAYS",
        )


@frozen
class MemberVerdict:
    """The outcome of the member `id`.

    `sources`: the members from which it may get the state.  `rule`, `case`: the label and the name
    of the case that it took; both None for a member that is not affected.
    """

    id: str
    outcome: Outcome
    sources: tuple[str, ...] = ()
    reason: Reason | None = None
    rule: str | None = None
    case: str | None = field(default=None, eq=False)


@frozen
class Verdict:
    """The outcomes of all members.

    `initial`: the cluster's initial signature afterwards, None if it has none.
    """

    rules: str
    initial: Signature | None
    outcomes: tuple[MemberVerdict, ...]


def decide(rules: RuleSet, members: Sequence[Status]) -> Verdict:
    """Return the verdict on `members`, whose ids must differ; the outcomes are in their order."""
    cases = [rules.choose(members, me) for me in range(len(members))]
    outcomes = tuple(_member_verdict(members, me, case) for me, case in enumerate(cases))
    return Verdict(rules.name, rules.initial(members, cases), outcomes)


def _member_verdict(members: Sequence[Status], me: int, case: Case[Phase] | None) -> MemberVerdict:
    if case is None:
        return MemberVerdict(members[me].id, Outcome.UNAFFECTED)
    sources = [] if case.updates_from is None else members_of(case.updates_from, members, me)
    return MemberVerdict(
        members[me].id,
        OUTCOME_OF[case.outcome],
        tuple(members[at].id for at in sources),
        case.reason,
        case.label,
        case.name,
    )
