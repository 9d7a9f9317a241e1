"""`joinproto decide`: what becomes of each member of a given set.

Exit code 0 whatever the verdict; 2 where the input cannot be judged.
"""

import json
from typing import BinaryIO

import click

from joinproto.core.chain.rules import ChainRules
from joinproto.core.verdict import MemberVerdict, Verdict
from joinproto.core.verdict import decide as verdict_of
from joinproto.decide_json import read_members, verdict_as_json
from joinproto.errors import UsageProblem
from joinproto.rulesets import RULESETS

EXAMPLE = """\b
Example:
  echo '{"wait_for": 2, "members": [
    {"id": "a", "store": "clean", "initial": "X", "final": "F"},
    {"id": "b", "store": "empty"}]}' | joinproto decide -
"""


@click.command(epilog=EXAMPLE)
@click.argument("file", type=click.File("rb"))
@click.option("--rules", default="note", show_default=True, help=f"One of: {', '.join(RULESETS)}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def decide(file: BinaryIO, rules: str, as_json: bool) -> int:
    """Judge a set of members, as it is at one moment.

    FILE holds a JSON object with the members (- is standard input): their stores, their
    signatures, who is active; for the chain's rules also their views.  Printed is, for each,
    whether it waits, is active, gets an update and from whom, or aborts; and by which rule.
    """
    if rules not in RULESETS:
        raise UsageProblem(f"there are no rules {rules!r}", next="rules: " + ", ".join(RULESETS))
    asked = RULESETS[rules]
    members = read_members(file.read(), for_chain=isinstance(asked, ChainRules))
    verdict = verdict_of(asked, members)
    if as_json:
        click.echo(json.dumps(verdict_as_json(verdict)))
    else:
        click.echo(_as_text(verdict))
    return 0


def _as_text(verdict: Verdict) -> str:
    lines = [("member", "outcome", "from", "rule", "because")]
    lines += [_line(member) for member in verdict.outcomes]
    widths = [max(len(line[at]) for line in lines) for at in range(4)]
    signature = "nobody has one" if verdict.initial is None else _printable(verdict.initial)
    return "\n".join(
        [
            f"rules: {verdict.rules}; initial signature: {signature}",
            "",
            *("  ".join([*map(str.ljust, line, widths), line[4]]).rstrip() for line in lines),
        ]
    )


def _line(member: MemberVerdict) -> tuple[str, str, str, str, str]:
    because = member.case or "it is active already"
    return (
        _printable(member.id),
        member.outcome.value,
        ", ".join(map(_printable, member.sources)),
        member.rule or "",
        because if member.reason is None else f"{because} ({member.reason.value})",
    )


def _printable(name: str | int) -> str:
    """Return a name as a terminal may show it: no control characters, no broken text."""
    text = str(name)
    return text if text.isprintable() else json.dumps(text)
