"""A page about a policy, for a reviewer of the change that adds it: rule, run and advice.

`joinproto policy check POLICY --report FILE` writes it as Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from joinproto.check.report import Report
from joinproto.cli.show.amounts import count, plural
from joinproto.recovery.policy.asked import Answers
from joinproto_worlds.policy.worlds import WORLDS

SOURCE_LINES_MAX = 80
LANGUAGES = {".py": "python", ".sh": "sh", ".c": "c", ".go": "go", ".rb": "ruby"}

COMPILED = (".c", ".go", ".rs")
"""Endings of sources: the source of a compiled program may lie next to it."""

HARMS = {
    "no acknowledged write is lost": (
        "The founder lacks a write that was acknowledged to a client.  The other nodes take the"
        " founder's data when they join, so the write is gone."
    ),
    "one cluster serves": (
        "Another node still serves when the founder begins.  Two clusters take writes from then"
        " on, and the writes of one of them are lost."
    ),
    "no acknowledged frame is lost": (
        "The power fails here, everywhere at once.  For some of the stores that are left the policy"
        " chooses one that lacks a frame that was acknowledged to a client."
    ),
}
PICK = """\
Or let a program choose that no run defeats; it ends with 0 only where the latest store is proven:

```sh
joinproto recover pick --json{nodes} a.info b.info c.info > verdict.json &&
    jq -r '.stores[] | select(.name == $latest).host' \\
        --arg latest "$(jq -r '.latest[0]' verdict.json)" verdict.json
```"""


def policy_page(target: str, command: str, world: str, *, report: Report, answers: Answers) -> str:
    """Return the page.

    `target`: the policy as typed.  `command`: the command that checks it again.
    """
    blocks = [
        f"# {Path(target).name if Path(target).is_file() else target}",
        _verdict(world, report),
        *_rule(target),
        *_run(world, report),
        *_answer_counts(answers),
        *_instead(target, world, report=report, answers=answers),
        f"Checked by `{command}`.",
    ]
    return "\n\n".join(blocks) + "\n"


def _broken(report: Report) -> str:
    return next((item.name for item in report.properties if item.result == "violated"), "")


def _verdict(world: str, report: Report) -> str:
    broken = _broken(report)
    if broken and report.trace is not None:
        steps = plural(len(report.trace.steps), "step")
        return f"**A run of {steps} defeats it** on `{world}`: “{broken}” is violated."
    if report.result == "incomplete":
        return f"**Undetermined**: the search of `{world}` was stopped at a limit."
    if any(item.result == "not-reached" for item in report.properties):
        return f"**It never founds the cluster** on `{world}`, so it does no harm and no good."
    return f"**It does no harm** in any of {count(report.distinct)} states of `{world}`."


def _rule(target: str) -> Iterator[str]:
    path = Path(target)
    yield "## The rule"
    if not path.is_file():
        yield f"`{target}`"
        return
    sources = [one for suffix in COMPILED if (one := path.with_suffix(suffix)).is_file()]
    path = sources[0] if sources and not path.suffix else path
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines or len(lines) > SOURCE_LINES_MAX:
        yield f"A program, in `{target}`."
        return
    yield "\n".join([f"```{LANGUAGES.get(path.suffix, '')}", *lines, "```"])


def _run(world: str, report: Report) -> Iterator[str]:
    broken = _broken(report)
    if not broken or report.trace is None:
        return
    yield "## The shortest run that defeats it"
    yield WORLDS[world].begins
    yield "\n".join(f"{at}. {step.label}" for at, step in enumerate(report.trace.steps, start=1))
    yield HARMS[broken]


def _answer_counts(answers: Answers) -> Iterator[str]:
    yield "## Questions and answers"
    rows = [f"| {answer} | {number:,} |" for answer, number in sorted(answers.answers.items())]
    yield "\n".join(["| question and answer | questions |", "|---|---|", *rows])


def _instead(target: str, world: str, *, report: Report, answers: Answers) -> Iterator[str]:
    found = list(_lessons(report, answers))
    if found:
        yield "## What to write instead"
        yield "\n".join(f"* {one}" for one in found)
        if target != "pick":
            # Galera's files, unlike the files of other systems, do not have the number of nodes.
            yield PICK.replace("{nodes}", " --nodes 3" if world == "galera" else "")


def _lessons(report: Report, answers: Answers) -> Iterator[str]:
    broken, last = _broken(report), _last(report)
    if answers.unknown_as_absent or "does not answer" in last:
        yield (
            "Wait while a node is in `unknown`.  A node that does not answer is not a node without"
            " data: it may still serve, or have more than the others."
        )
    if "asked by" in last:
        yield (
            "Do not found a cluster from a node's own facts.  They say how this node ended, and"
            " nothing about what the others did afterwards."
        )
    if "asked to remove" in last:
        yield (
            "Do not remove a node with its disk before another node is known to have all its data."
            "  A node's silence says nothing about its data."
        )
    if broken == "no acknowledged write is lost":
        yield (
            "Compare histories, and not numbers alone.  A higher number may belong to another"
            " history; a mark or a place in a list says how a node ended, not that no other node"
            " went on.  `history` in a store has the hash of its last write-sets by their numbers:"
            " one store is ahead of another only where both have the same hash under one number."
        )
    if broken == "no acknowledged frame is lost":
        yield (
            "Compare views, and not numbers alone.  A store that a later view left behind lacks the"
            " frames that this view acknowledged, and the frame with the highest number may never"
            " have been acknowledged."
        )
    if answers.too_careful:
        yield (
            f"It chose no node in {plural(answers.too_careful, 'question')} in which a node would"
            " have been right in every run of this size.  Say in the rule who decides then."
        )


def _last(report: Report) -> str:
    steps: Sequence[object] = () if report.trace is None else report.trace.steps
    return "" if not steps or report.trace is None else report.trace.steps[-1].label
