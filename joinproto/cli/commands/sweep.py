"""Search a world for each value in `--set counts=1..5` or `--set counts=each:1,4,9`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from attrs import frozen

from joinproto.check.options import EACH, TypedText, words_of
from joinproto.check.report import Report
from joinproto.cli.show.amounts import aligned, count, duration, plural
from joinproto.cli.show.findings import not_exercised
from joinproto.cli.show.pieces import visible
from joinproto.codec.json_form import Count, Seconds, filled
from joinproto.errors import UsageProblem

RUNS_MOST = 100
TOLD_MOST = 30
_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})")


@frozen
class SweepSearch:
    """One search."""

    options: Annotated[Mapping[str, Any], "the world's options in it"]
    result: Annotated[Literal["holds", "violated", "incomplete"], "of all claims together"]
    distinct: Annotated[Count, "distinct states"]
    generated: Annotated[Count, "steps found"]
    depth: Annotated[Count, "states on the longest of the shortest runs"]
    broken: Annotated[tuple[str, ...], "claims that do not hold, or are not reached"]
    seconds: Annotated[Seconds, "of the clock, without compiling"]
    stopped_by: Annotated[str, "the limit that ended it early, or empty"]
    beyond: Annotated[Count, "states from which the world's `within` lets no step be taken"]
    reductions: Annotated[tuple[str, ...], "such as symmetry; empty: every state was visited"]
    not_exercised: Annotated[tuple[str, ...], "as `check` has them"]
    notes: Annotated[tuple[str, ...], "what else there is to know"]


@frozen
class Sweep:
    """`joinproto check WORLD --set NAME=1..5 --json`"""

    world: Annotated[str, "its name"]
    searches: Annotated[tuple[SweepSearch, ...], "one for each value, in order"]
    left: Annotated[
        tuple[Mapping[str, Any], ...], "the options of searches that Ctrl-C came before"
    ] = ()


def _values(name: str, value: Any, is_text: Callable[[str], bool]) -> list[Any] | None:
    """Return the values of a swept parameter; None if the parameter has one value."""
    if not isinstance(value, TypedText):
        return None
    if value.strip().startswith(EACH):
        return _listed(name, value)
    found = _RANGE.fullmatch(value.strip())
    if found is None or is_text(name):
        return None
    first, last = map(int, found.groups())
    if first > last:
        raise UsageProblem(
            f"--set {name}={value} goes from {first} down to {last}",
            next=f"--set {name}={last}..{first}",
        )
    if last - first >= RUNS_MOST:
        raise UsageProblem(
            f"--set {name}={value} asks for {last - first + 1:,} searches",
            next=f"at most {RUNS_MOST} at once",
        )
    return [TypedText(number) for number in range(first, last + 1)]


def _listed(name: str, value: str) -> list[Any]:
    """Return the values between commas; a comma inside brackets belongs to a value."""
    found, depth = [""], 0
    for sign in value.strip().removeprefix(EACH):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += sign
    if not all(map(str.strip, found)):
        raise UsageProblem(
            f"--set {name}={value} has an empty value", next=f"--set {name}={EACH}1,4,9"
        )
    return [TypedText(one.strip()) for one in found]


def swept(
    options: Mapping[str, Any], is_text: Callable[[str], bool]
) -> list[dict[str, Any]] | None:
    """Return the options of each search; None if nothing is swept.

    `is_text`: whether a parameter takes a text; it then takes `1..5` as a text.
    """
    found = {name: _values(name, value, is_text) for name, value in options.items()}
    if all(values is None for values in found.values()):
        return None
    values = [[options[name]] if each is None else each for name, each in found.items()]
    if (runs := math.prod(map(len, values))) > RUNS_MOST:
        raise UsageProblem(
            f"these values ask for {runs:,} searches", next=f"at most {RUNS_MOST} at once"
        )
    return [dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*values)]


def row(options: Mapping[str, Any], report: Report) -> SweepSearch:
    """Return the row of one search."""
    fails = [item.name for item in report.properties if item.result in ("violated", "not-reached")]
    idle = tuple(not_exercised(report))
    own = {"options": dict(options), "broken": tuple(fails), "not_exercised": idle}
    return filled(SweepSearch, report, **own)


def text(found: Sweep) -> str:
    """Return the searches as a table: a column for each option, then the result."""
    options = list(found.searches[0].options)
    heads = [*options, "result", "states", "steps", "depth", "time", "broken"]
    rows = [
        [
            *(str(item.options[name]) for name in options),
            "undetermined" if item.result == "incomplete" else item.result,
            count(item.distinct),
            count(item.generated),
            str(item.depth),
            duration(item.seconds),
            "; ".join(item.broken),
        ]
        for item in found.searches
    ]
    return "\n".join(
        [found.world, *(f"  {line}" for line in aligned([heads, *rows])), *_remarks(found)]
    )


def named(options: Mapping[str, Any]) -> str:
    """Return the options of a search as a person types them."""
    return " ".join(words_of(options))


def _remarks(found: Sweep) -> Iterator[str]:
    """Yield each remark of the searches once, with the searches that have it."""
    told: dict[str, list[str]] = {}
    for item in found.searches:
        remarks = [f"reduction: {how}" for how in item.reductions]
        if item.stopped_by:
            remarks.append(f"stopped: {item.stopped_by}")
        if item.beyond:
            remarks.append(
                f"bound: {plural(item.beyond, 'state')} beyond it: judged, no step taken"
            )
        remarks += [f"not exercised: {what}" for what in item.not_exercised]
        for remark in (*remarks, *(f"note: {visible(note)}" for note in item.notes)):
            told.setdefault(remark, []).append(named(item.options))
    notes = sorted(told, key=lambda remark: not remark.startswith("note: "))
    for remark in notes[:TOLD_MOST]:
        which = "" if len(told[remark]) == len(found.searches) else f"  ({', '.join(told[remark])})"
        yield f"{remark}{which}"
    if len(notes) > TOLD_MOST:
        yield f"and {count(len(notes) - TOLD_MOST)} more; --json lists all"
    if found.left:
        yield f"not searched: {', '.join(map(named, found.left))}"
