"""`joinproto decide`: the outcome for each member of a given set.

The exit code is 0 for any verdict, and 2 if the input cannot be judged.
"""

from typing import Annotated, BinaryIO

import click
from attrs import frozen

from joinproto.cli.decide_input import read_members
from joinproto.cli.options import AS_JSON, INPUT, option
from joinproto.cli.show.amounts import aligned
from joinproto.cli.show.pieces import visible
from joinproto.codec.json_form import Key, filled, printed
from joinproto.errors import UsageProblem
from joinproto.join.rules import ChainRules
from joinproto.machine.verdict import MemberVerdict, Outcome, Verdict
from joinproto.machine.verdict import decide as verdict_of
from joinproto.machine.vocabulary import Reason
from joinproto.rulesets import RULESETS

EXAMPLE = """\b
Example:
  echo '{"wait_for": 2, "members": [
    {"id": "a", "store": "clean", "initial": "X", "final": "F"},
    {"id": "b", "store": "empty"}]}' | joinproto decide -
"""


@frozen(kw_only=True)
class MemberOutcome:
    """The outcome of one member."""

    id: Annotated[str, "the member's name"]
    outcome: Annotated[Outcome, "the member's action; `unaffected`: it is active already"]
    sources: Annotated[tuple[str, ...], Key("from"), "members it may get the state from"]
    reason: Annotated[Reason | None, "why it aborts or waits; null: it does not"]
    rule: Annotated[str | None, "the rule that decided; null: no rule was asked"]


@frozen
class Decided:
    """`joinproto decide FILE --json`"""

    rules: Annotated[str, "the rules that were asked"]
    initial: Annotated[str | None, "the initial signature afterwards; null: no member has one"]
    outcomes: Annotated[tuple[MemberOutcome, ...], "every member, in the order of the input"]


@click.command(epilog=EXAMPLE)
@INPUT
@option("--rules", f"One of: {', '.join(RULESETS)}.", usual="note")
@AS_JSON
def decide(file: BinaryIO, rules: str, as_json: bool) -> int:
    """Judge a set of members, as it is at one moment.

    FILE holds a JSON object with the members (- is standard input): their stores, their
    signatures, which are active; for the chain's rules also their views.  For each member the
    command prints whether it waits, is active, aborts or gets an update, from which members, and
    by which rule.
    """
    if rules not in RULESETS:
        raise UsageProblem(
            f"there are no rules {rules!r}", next="give one of " + ", ".join(RULESETS)
        )
    asked = RULESETS[rules]
    members = read_members(file.read(), for_chain=isinstance(asked, ChainRules))
    verdict = verdict_of(asked, members)
    click.echo(printed(_decided(verdict)) if as_json else _as_text(verdict))
    return 0


def _decided(verdict: Verdict) -> Decided:
    initial = None if verdict.initial is None else str(verdict.initial)
    return Decided(
        verdict.rules, initial, tuple(filled(MemberOutcome, one) for one in verdict.outcomes)
    )


def _as_text(verdict: Verdict) -> str:
    lines = [("member", "outcome", "from", "rule", "because")]
    lines += [_line(member) for member in verdict.outcomes]
    signature = "no member has one" if verdict.initial is None else visible(str(verdict.initial))
    return "\n".join(
        [
            f"rules: {verdict.rules}; initial signature: {signature}",
            "",
            *aligned(lines),
        ]
    )


def _line(member: MemberVerdict) -> tuple[str, str, str, str, str]:
    because = member.case or "it is active already"
    return (
        visible(member.id),
        member.outcome.value,
        ", ".join(map(visible, member.sources)),
        member.rule or "",
        because if member.reason is None else f"{because} ({member.reason.value})",
    )
