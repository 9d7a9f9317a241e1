"""Short ways to judge a picture of members, and to read a verdict."""

from joinproto.machine.verdict import RuleSet, Verdict, decide
from joinproto.reference.note.rules import note_rules
from joinproto.reference.qpid.rules import QPID_RULES
from tests.machine.pictures import members


def judge(picture: str, wait_for: int = 1, rules: RuleSet | None = None) -> Verdict:
    """Return the verdict, by the note's rules unless others are given."""
    return decide(note_rules() if rules is None else rules, members(picture, wait_for))


def qpid(picture: str, wait_for: int = 1) -> Verdict:
    """Return the verdict by Qpid's rules."""
    return judge(picture, wait_for, QPID_RULES)


def short(verdict: Verdict) -> str:
    """Return outcome, rule and sources of each member: "active I8; update I7 from a"."""
    return "; ".join(
        f"{it.outcome.value} {it.rule or '-'}"
        + (f" from {','.join(it.sources)}" if it.sources else "")
        for it in verdict.outcomes
    )


def reasons(verdict: Verdict) -> set[str | None]:
    """Return the reasons of all members, None for a member without one."""
    return {None if it.reason is None else it.reason.value for it in verdict.outcomes}
