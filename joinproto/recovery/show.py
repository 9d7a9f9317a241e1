"""How it looks on a terminal at three in the morning.

Colour is never the only sign: whatever is coloured carries a mark or a word, too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click
from attrs import frozen

from joinproto.core.chain.ids import short
from joinproto.core.pick.pick import group
from joinproto.core.pick.table import Verdict
from joinproto.recovery.found import Found, State
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.verification import Verification

WIDTH = 100

_COLOURS = {
    Verdict.PROVEN: "green",
    Verdict.TIE: "green",
    Verdict.CLEAN: "green",
    Verdict.UNPROVEN: "yellow",
    Verdict.IN_USE: "yellow",
}


@frozen
class _Line:
    """One line of the table; `differs`: which cells are not as in the latest store."""

    cells: tuple[str, ...]
    sign: str = " "


HEAD = ("member", "state", "cluster", "views", "tip", "ready in", "position", "store")


def say(text: str) -> None:
    """Print a line, whatever is in it: names come from disks and from other machines."""
    click.echo(clean(text))


def clean(text: str) -> str:
    """Return `text` without what a terminal obeys."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


# -- one store ------------------------------------------------------------------------------


def store_text(found: Found) -> str:
    """Return everything that one store says."""
    kind = "unknown format" if found.format is None else found.format.value
    lines = [f"{found.name}: {found.state.value} ({kind})"]
    if found.raw.in_use:
        lines.append(f"  in use by {found.raw.in_use}: what follows may change")
    lines += [f"  ! {problem}" for problem in found.problems]
    width = max((len(fact.name) for fact in found.facts), default=0)
    lines += [f"  {fact.name.ljust(width)}  {fact.value}" for fact in found.facts]
    return clean("\n".join(lines))


# -- many -----------------------------------------------------------------------------------


def table(stores: Sequence[Found], latest: Sequence[str] = ()) -> str:
    """Return one line for each store.  `>`: the latest, `!`: something is wrong with it.

    A cell that is not as in the latest store, or the one with most views, ends in `*`.
    """
    like = _model(stores, latest)
    rows = [_Line(tuple(HEAD))]
    for found in stores:
        cells = _cells(found)
        if like is not None:
            # The name and the place are always different.
            marks = [
                False,
                *(mine != its for mine, its in zip(cells[1:-1], like[1:-1], strict=True)),
            ]
            marks.append(False)
            cells = tuple(
                f"{cell}*" if differs else cell for cell, differs in zip(cells, marks, strict=True)
            )
        sign = ">" if found.name in latest else "!" if found.problems else " "
        rows.append(_Line(cells, sign))
    widths = [max(len(row.cells[at]) for row in rows) for at in range(len(HEAD))]
    lines = [f"{row.sign} {'  '.join(map(str.ljust, row.cells, widths))}".rstrip() for row in rows]
    signs = [("*", "differs from the newest"), (">", "the latest"), ("!", "has a problem, below")]
    text = "\n".join(lines)
    used = [f"{sign} {about}" for sign, about in signs if sign in text[len(lines[0]) :]]
    return clean("\n".join([*lines, *([f"  ({'; '.join(used)})"] if used else [])]))


def _model(stores: Sequence[Found], latest: Sequence[str]) -> tuple[str, ...] | None:
    chosen = [found for found in stores if found.name in latest]
    chosen = chosen or [found for found in stores if found.record is not None]
    if not chosen or len(stores) < 2:
        return None
    return _cells(max(chosen, key=_length))


def _length(found: Found) -> int:
    return 0 if found.record is None else found.record.lineage.length


def _cells(found: Found) -> tuple[str, ...]:
    record = found.record
    position = "-" if found.seq is None else str(found.seq)
    views, tip, ready = "-", "-", "-"
    if record is not None:
        views = str(record.lineage.length)
        tip = "-" if record.tip is None else f"{record.tip.kind.name} {short(record.tip.id)}"
        number = None if record.held is None else record.lineage.number_of(record.held)
        ready = "-" if record.held is None else str(number or "?")
        if record.position is not None:
            number = record.lineage.number_of(record.position.view)
            position = f"{record.position.seq} in {number or '?'}"
        if record.update_unfinished:
            position = "unfinished"
    elif found.last_view is not None:
        last = found.last_view
        tip = " ".join(sorted(name[:12] for name in last.members))
        views = "-" if last.number is None else str(last.number)
    return (
        found.member or "?",
        found.state.value,
        short(found.cluster) if found.cluster else "-",
        views,
        tip,
        ready,
        position,
        found.name,
    )


def judgement_text(judgement: Judgement) -> str:
    """Return the verdict with all that a person needs to act on it."""
    colour = _COLOURS.get(judgement.verdict, "red")
    verdict = click.style(judgement.verdict.value.upper(), fg=colour, bold=True)
    parts = [table(judgement.stores, judgement.pick.latest)]
    plain = f"{judgement.verdict.value.upper()}: {clean(judgement.sentence)}"
    parts.append(f"{verdict}{_wrapped(plain)[len(judgement.verdict.value) :]}")
    parts += _list("evidence", judgement.evidence)
    parts += _list(
        "missing", [f"{item.member}{_of(item.store_id)}: {item.why}" for item in judgement.missing]
    )
    parts += _list("not examined", judgement.not_examined)
    parts.append(f"next: {clean(judgement.next)}")
    return "\n\n".join(parts)


def verification_text(found: Verification) -> str:
    """Return what running members say, with the answer first."""
    word = found.word.upper()
    colour = "green" if found.code == 0 else "yellow" if found.code == 5 else "red"
    plain = _wrapped(f"{word}: {clean(found.sentence)}")
    parts = [f"{click.style(word, fg=colour, bold=True)}{plain[len(word) :]}"]
    parts += _list("evidence", found.evidence)
    parts += _list("missing", [f"{name}: {why}" for name, why in found.missing])
    parts += _list("not examined", found.not_examined)
    parts.append(f"next: {clean(found.next)}")
    return "\n\n".join(parts)


def _of(store_id: str) -> str:
    return f" (store {store_id})" if store_id else ""


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield clean("\n".join([heading, *map(_item, lines)]))


def _item(line: str) -> str:
    return _wrapped(line, "  - ", "    ")


def _wrapped(text: str, first: str = "", indent: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def comparison_text(stores: Sequence[Found], judgement: Judgement) -> str:
    """Return how the stores stand to each other: clusters, chains, who is how far behind."""
    parts = [table(stores, judgement.pick.latest)]
    for each in group([found.candidate for found in stores]):
        members = [found for found in stores if found.name in each.names]
        if each.cluster is None:
            for state in State:
                names = [found.name for found in members if found.state is state]
                parts += _list(f"{state.value}, of no cluster that is known", names)
            continue
        name = next((found.cluster_name for found in members if found.cluster_name), "")
        parts += _list(
            f"cluster {name} {short(each.cluster)}: {len(members)} store"
            f"{'s' if len(members) > 1 else ''}",
            [f"{found.member or '?'} ({found.name})" for found in members],
        )
    findings = judgement.pick.findings
    lines = []
    for place in findings.places:
        behind = place.views_behind
        if behind is None:
            lines.append(f"{place.name}: {place.order}")
        elif behind:
            views = f"{behind} view{'s' if behind > 1 else ''}"
            lines.append(f"{place.name}: {views} behind the newest")
        else:
            lines.append(f"{place.name}: knows the newest view")
    parts += _list("chains", lines)
    for fork in findings.forks:
        common = "no view" if fork.common is None else f"view {fork.common_number} ({fork.common})"
        parts += _list(
            f"{fork.name} and the longest chain have {common} in common",
            [
                *(f"only there: {view}" for view in fork.one_beyond),
                *(f"only in the longest: {view}" for view in fork.other_beyond),
            ],
        )
    parts += _list("evidence", judgement.evidence)
    return "\n\n".join(parts)
