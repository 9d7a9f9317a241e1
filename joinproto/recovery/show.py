"""The output on a terminal, for an operator at three in the morning.

Colour is never the only sign: coloured text has a mark or a word with the same meaning.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

import click

from joinproto.join.ids import short
from joinproto.pick.candidate import shown_name
from joinproto.pick.findings import ChainPlace
from joinproto.pick.pick import group
from joinproto.pick.table import Verdict
from joinproto.recovery.found import Found, State
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.verification import Verification

WIDTH = 80

_COLOURS = {
    Verdict.PROVEN: "green",
    Verdict.TIE: "green",
    Verdict.CLEAN: "green",
    Verdict.UNPROVEN: "yellow",
    Verdict.IN_USE: "yellow",
}


HEAD = ("member", "state", "cluster", "views", "tip", "ready in", "position", "store")
ALWAYS_SHOWN = ("member", "state", "store")
CLUSTER = HEAD.index("cluster")


def say(text: str) -> None:
    """Print a line without its control characters: names come from disks and other machines."""
    click.echo(clean(text))


def clean(text: str) -> str:
    """Return `text` with "?" for each character that cannot be printed, except newlines."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


# -- one store ------------------------------------------------------------------------------


def store_text(found: Found) -> str:
    """Return the text about one store, with all its facts."""
    kind = "unknown format" if found.format is None else found.format.value
    lines = [f"{found.name}: {found.state.value} ({kind})"]
    if found.raw.in_use:
        lines.append(f"  in use by {found.raw.in_use}: the facts below may change")
    lines += [wrapped(f"! {problem}", "  ", "    ") for problem in found.problems]
    width = max((len(fact.name) for fact in found.facts), default=0)
    indent = " " * (width + 4)
    lines += [wrapped(fact.value, f"  {fact.name.ljust(width)}  ", indent) for fact in found.facts]
    return clean("\n".join(lines))


# -- several stores -------------------------------------------------------------------------


def table(stores: Sequence[Found], latest: Sequence[str] = ()) -> str:
    """Return one line for each store.  `>`: the latest, `!`: it has a problem.

    A cell that differs from the latest store, or else from the store with most views, ends in `*`.
    Columns without any value are left out.  If a line is too long, each store's path is on a second
    line.
    """
    like = _reference_cells(stores, latest)
    rows = [HEAD, *(_marked(_cells(found), like) for found in stores)]
    columns = [at for at, head in enumerate(HEAD) if _is_shown(at, head, rows, stores)]
    rows = [tuple(row[at] for at in columns) for row in rows]
    signs = [" ", *(_sign(found, latest) for found in stores)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    has_room = 2 + sum(widths) + 2 * (len(widths) - 1) <= WIDTH
    lines = []
    for sign, row in zip(signs, rows, strict=True):
        *cells, place = row
        line = f"{sign} {'  '.join(map(str.ljust, cells, widths))}"
        if has_room:
            lines.append(f"{line}  {place}".rstrip())
            continue
        lines.append(line.rstrip())
        if sign + place != f" {HEAD[-1]}" or row is not rows[0]:
            lines.append(f"{' ' * (widths[0] + 4)}{place}")
    meanings = [("*", "differs from the newest"), (">", "latest"), ("!", "has a problem, below")]
    text = "\n".join(lines)
    used = [f"{sign} {about}" for sign, about in meanings if sign in text[len(lines[0]) :]]
    return clean("\n".join([*lines, *([f"  ({'; '.join(used)})"] if used else [])]))


def _sign(found: Found, latest: Sequence[str]) -> str:
    return ">" if found.name in latest else "!" if found.problems else " "


def _marked(cells: tuple[str, ...], like: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the cells of a store, with `*` after those that differ from `like`."""
    if like is None:
        return cells
    name, *between, place = cells
    # The name and the place always differ.
    marked = [
        f"{mine}*" if mine not in (its, "-") else mine
        for mine, its in zip(between, like[1:-1], strict=True)
    ]
    return (name, *marked, place)


def _is_shown(at: int, head: str, rows: Sequence[tuple[str, ...]], stores: Sequence[Found]) -> bool:
    if at == CLUSTER:
        return len({found.cluster for found in stores if found.cluster}) > 1
    return head in ALWAYS_SHOWN or any(row[at] != "-" for row in rows[1:])


def _reference_cells(stores: Sequence[Found], latest: Sequence[str]) -> tuple[str, ...] | None:
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
    elif found.raft_log is not None and found.raft_log.member:
        tip = f"{found.raft_log.last_index} of term {found.raft_log.last_term}"
        position = f"committed {found.raft_log.commit}"
    elif found.last_view is not None:
        last = found.last_view
        tip = " ".join(sorted(map(shown_name, last.members)))
        views = "-" if last.number is None else str(last.number)
    return (
        shown_name(found.member) or "?",
        found.state.value,
        short(found.cluster) if found.cluster else "-",
        views,
        tip,
        ready,
        position,
        found.name,
    )


def judgement_text(judgement: Judgement, *, is_brief: bool = False) -> str:
    """Return the verdict with all that a person needs to act on it.

    `is_brief`: without the evidence, the facts not examined, and the next step.
    """
    colour = _COLOURS.get(judgement.verdict, "red")
    verdict = click.style(judgement.verdict.value.upper(), fg=colour, bold=True)
    parts = [table(judgement.stores, judgement.pick.latest)]
    plain = f"{judgement.verdict.value.upper()}: {clean(judgement.sentence)}"
    parts.append(f"{verdict}{wrapped(plain)[len(judgement.verdict.value) :]}")
    if judgement.unused:
        parts.append("\n".join(map(warning_text, judgement.unused)))
    missing = [
        f"{item.member}{_store_suffix(item.store_id)}: {item.why}" for item in judgement.missing
    ]
    if is_brief:
        parts += _list("missing", missing)
    else:
        parts.append(next_text(judgement.next))
        parts += _list("missing", missing)
        parts += _list("evidence", judgement.evidence)
        parts += _list("not examined", judgement.not_examined)
    return "\n\n".join(parts)


def warning_text(text: str) -> str:
    """Return the warning about an option that has no effect."""
    return wrapped(f"warning: {clean(text)}", "", "         ")


_QUOTED = r"\$'(?:\\.|[^'\\])*'|'[^']*'"
_WORD = rf"(?:{_QUOTED}|[^\s;,()']|[,;](?=[^\s]))+"
_PROGRAMS = r"(?:rabbitmqctl|etcdctl|etcdutl|etcd(?= --)|pg_rewind)"
_COMMAND = re.compile(rf"joinproto recover .*?(?=;|   \(|$)|(?<![\w./-]){_PROGRAMS}(?: {_WORD})*")
"""A command in a text: `recover` up to a semicolon, others up to a mark outside of quotes."""
_NO_BREAK = "\N{NO-BREAK SPACE}"


def next_text(after: str) -> str:
    """Return the lines of the next step; a command in it is not broken, so it can be copied."""
    line = f"next: {clean(after)}"
    if after.startswith("joinproto "):
        return line
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), line)
    return wrapped(whole, "", "      ").replace(_NO_BREAK, " ")


def verification_text(found: Verification) -> str:
    """Return the text of a verification, with the answer first."""
    word = found.word.upper()
    colour = "green" if found.code == 0 else "yellow" if found.code == 5 else "red"
    plain = wrapped(f"{word}: {clean(found.sentence)}")
    parts = [f"{click.style(word, fg=colour, bold=True)}{plain[len(word) :]}"]
    parts.append(next_text(found.next))
    parts += _list("missing", [f"{name}: {why}" for name, why in found.missing])
    parts += _list("evidence", found.evidence)
    parts += _list("not examined", found.not_examined)
    return "\n\n".join(parts)


def _store_suffix(store_id: str) -> str:
    return f" (store {store_id})" if store_id else ""


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield clean("\n".join([heading, *map(_item, lines)]))


def _item(line: str) -> str:
    return wrapped(line, "  - ", "    ")


def wrapped(text: str, first: str = "", indent: str = "") -> str:
    """Return the text in lines of `WIDTH` characters; a longer word is not broken."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _order(place: ChainPlace) -> str:
    behind = place.views_behind
    if behind is None:
        return place.order
    return f"{_count(behind, 'view')} behind the newest" if behind else "knows the newest view"


def _frames(place: ChainPlace, behind: int) -> str:
    """Return how many frames are missing; "" for none, or if committed frames may be missing."""
    return f", {_count(behind, 'frame')} behind the latest" if place.covers and behind > 0 else ""


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


def comparison_text(stores: Sequence[Found], judgement: Judgement) -> str:
    """Return how the stores compare: clusters, chains, and how far each store is behind."""
    parts = [judgement_text(judgement, is_brief=True)]
    for each in group([found.candidate for found in stores]):
        members = [found for found in stores if found.name in each.names]
        if each.cluster is None:
            for state in State:
                names = [found.name for found in members if found.state is state]
                parts += _list(f"{state.value}, of no cluster that is known", names)
            continue
        name = next((found.cluster_name for found in members if found.cluster_name), "")
        parts += _list(
            f"cluster {name} ({short(each.cluster)}): {len(members)} store"
            f"{'s' if len(members) > 1 else ''}",
            [f"{shown_name(found.member) or '?'} ({found.name})" for found in members],
        )
    findings = judgement.pick.findings
    seqs = {found.name: found.seq or 0 for found in stores}
    most = max((seqs.get(name, 0) for name in findings.latest), default=0)
    lines = [
        f"{place.name}: {_order(place)}{_frames(place, most - seqs.get(place.name, 0))}"
        for place in findings.places
    ]
    parts += _list("how far each store is", lines)
    for fork in findings.forks:
        common = "no view" if fork.common is None else f"view {fork.common_number} ({fork.common})"
        parts += _list(
            f"{fork.name} and the longest chain have {common} in common",
            [
                *(f"only in {fork.name}: {view}" for view in fork.own_after),
                *(f"only in the longest chain: {view}" for view in fork.longest_after),
            ],
        )
    parts += _list("evidence", judgement.evidence)
    return "\n\n".join(parts)
