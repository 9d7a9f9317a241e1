"""Two shapes of cases and tables that the note and Qpid share."""

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition
from joinproto.machine.vocabulary import Phase, Reason
from joinproto.reference.effects import Action


def aborts(label: str, name: str, when: Condition, reason: Reason, *before: Action) -> Case[Phase]:
    """Return a case in which a member aborts; `before`: its effects before it aborts."""
    return Case(label, name, when, Phase.ABORTED, (*before, Action.ABORT), reason=reason)


def always(
    table: str, source: str, label: str, name: str, outcome: Phase, *effects: Action
) -> Table[Phase]:
    """Return a table of a single case, which always holds."""
    return Table(table, source, (Case(label, name, ALWAYS, outcome, effects),))
