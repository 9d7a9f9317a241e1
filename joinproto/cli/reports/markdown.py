"""Markdown for a pull request: a table of claims, and each run as a Mermaid diagram and a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from joinproto.check.report import Trace
from joinproto.cli.reports.verdicts import CheckEnd, Failed, Finding
from joinproto.cli.show import findings
from joinproto.cli.show.pieces import visible
from joinproto.cli.show.story import Moment, Story, story_of
from joinproto.cli.show.words import (
    closing,
    cycle_ends,
    event_line,
    headline,
    in_one_line,
    sentence,
)

DRAWN_MAX = 100
"""The most steps in a diagram: Mermaid refuses long texts, and the table has all steps."""


def markdown(outcomes: Sequence[CheckEnd]) -> str:
    """Return the report of these searches."""
    return "\n\n".join("\n".join(_world(outcome)) for outcome in outcomes) + "\n"


def _world(outcome: CheckEnd) -> Iterator[str]:
    if isinstance(outcome, Failed):
        yield from (f"## {_escaped(outcome.name)}: UNDETERMINED", "", _escaped(outcome.why))
        return
    report, found = outcome.report, list(outcome.findings())
    yield f"## {_escaped(outcome.name)}: {findings.result(report).text}"
    yield ""
    if report.about:
        yield from (_escaped(report.about), "")
    yield from _table(
        ("claim", "kind", "verdict"),
        (
            (
                item.name,
                "—" if item.claim is None else item.claim.kind,
                f"{_sign(item)} {item.words}",
            )
            for item in found
        ),
    )
    facts = [f"{fact.heading} {fact.text}" for fact in findings.costs(report)]
    yield from ("", _escaped("; ".join(facts)))
    for item in found:
        if item.claim is not None and item.claim.trace is not None:
            yield ""
            yield from _run(item.claim.trace)


def _sign(item: Finding) -> str:
    if item.verdict == "undetermined":
        return "?"
    return "✓" if item.is_as_expected else "✗"


def _run(trace: Trace) -> Iterator[str]:
    story = story_of(trace)
    yield from (f"### {_escaped(headline(trace))}", "", "```mermaid", *_diagram(story), "```", "")
    yield from _table(
        ("step", "event", "changes"),
        (
            (str(moment.number), sentence(moment, story).text, in_one_line(moment))
            for moment in story.moments[1:]
        ),
    )
    end = cycle_ends(story)
    last = [*([end] if end is not None else []), *closing(story)]
    for line in last:
        yield from ("", _escaped(line.text))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    """Return `text` so that Markdown shows it as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&$@])", r"\\\1", " ".join(visible(text).split()))


# -- the diagram ------------------------------------------------------------------------


def _diagram(story: Story) -> Iterator[str]:
    lives = {name: f"p{number}" for number, name in enumerate(story.lifelines)}
    yield "sequenceDiagram"
    for name, short in lives.items():
        yield f"    participant {short} as {_mermaid(name)}"
    loops = story.loop_at is not None and not story.stops
    for moment in story.moments[1 : DRAWN_MAX + 1]:
        if loops and moment.number - 1 == story.loop_at:
            yield "    loop for ever"
        yield f"    {_drawn(moment, story, lives)}"
    left = len(story.trace.steps) - DRAWN_MAX
    if left > 0:
        yield f"    {_note(list(lives.values()), f'and {left} more steps: see the table')}"
    if loops and story.loop_at is not None and story.loop_at < DRAWN_MAX:
        yield "    end"


def _drawn(moment: Moment, story: Story, lives: dict[str, str]) -> str:
    step = moment.step
    assert step is not None
    message, number = step.message, f"{moment.number}. "
    if (
        message is not None
        and step.member in lives
        and message.sender in lives
        and not moment.crashes
    ):
        arrow = f"{lives[message.sender]}->>{lives[step.member]}"
        return f"{arrow}: {_mermaid(number + visible(message.content))}"
    touched = [lives[name] for name in lives if name in moment.changed or name == step.member]
    over = touched if moment.is_joint else [lives[step.member]] if step.member in lives else []
    words = event_line(moment, story) if len(over) == 1 else sentence(moment, story)
    return _note(over or list(lives.values()), number + words.text)


def _note(over: Sequence[str], words: str) -> str:
    return f"Note over {','.join(dict.fromkeys((over[0], over[-1])))}: {_mermaid(words)}"


def _mermaid(text: str) -> str:
    """Return `text` with the special characters of Mermaid and HTML as character codes."""
    return re.sub(r"[#;:<>&\"%{}\\`*_$]", lambda found: f"#{ord(found.group())};", visible(text))
