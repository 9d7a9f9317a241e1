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

SEARCHES_MAX = 100
REMARKS_MAX = 30
_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})")


@frozen
class SweepSearch:
    """One search."""

    options: Annotated[Mapping[str, Any], "the world's options in this search"]
    result: Annotated[Literal["holds", "violated", "incomplete"], "the result of all claims"]
    distinct: Annotated[Count, "distinct states"]
    generated: Annotated[Count, "steps found"]
    depth: Annotated[Count, "states on the longest of the shortest runs"]
    broken: Annotated[tuple[str, ...], "claims that do not hold, or are not reached"]
    seconds: Annotated[Seconds, "elapsed time without compiling"]
    stopped_by: Annotated[str, "the limit that ended it early, or empty"]
    beyond: Annotated[Count, "states in which the world's `within` allows no step"]
    reductions: Annotated[tuple[str, ...], "such as symmetry; empty: every state was visited"]
    not_exercised: Annotated[tuple[str, ...], "as in `check WORLD --json`"]
    notes: Annotated[tuple[str, ...], "other remarks on the search"]


@frozen
class Sweep:
    """`joinproto check WORLD --set NAME=1..5 --json`"""

    world: Annotated[str, "the world's name"]
    searches: Annotated[tuple[SweepSearch, ...], "a search for each value, in order"]
    left: Annotated[
        tuple[Mapping[str, Any], ...], "the options of searches that Ctrl-C prevented"
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
            next=f"write --set {name}={last}..{first}",
        )
    if last - first >= SEARCHES_MAX:
        raise UsageProblem(
            f"--set {name}={value} asks for {last - first + 1:,} searches",
            next=f"give at most {SEARCHES_MAX} values at once",
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
            f"--set {name}={value} has an empty value",
            next=f"write it as in --set {name}={EACH}1,4,9",
        )
    return [TypedText(one.strip()) for one in found]


def options_of_each(
    options: Mapping[str, Any], is_text: Callable[[str], bool]
) -> list[dict[str, Any]] | None:
    """Return the options of each search; None if every option has one value.

    `is_text`: whether a parameter takes a text; such a parameter takes `1..5` as a text.
    """
    found = {name: _values(name, value, is_text) for name, value in options.items()}
    if all(values is None for values in found.values()):
        return None
    values = [[options[name]] if each is None else each for name, each in found.items()]
    if (runs := math.prod(map(len, values))) > SEARCHES_MAX:
        raise UsageProblem(
            f"these values ask for {runs:,} searches",
            next=f"give values for at most {SEARCHES_MAX} searches at once",
        )
    return [dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*values)]


def row_of(options: Mapping[str, Any], report: Report) -> SweepSearch:
    """Return the row of one search."""
    fails = [item.name for item in report.properties if item.result in ("violated", "not-reached")]
    idle = tuple(not_exercised(report))
    own = {"options": dict(options), "broken": tuple(fails), "not_exercised": idle}
    return filled(SweepSearch, report, **own)


def table_of(found: Sweep) -> str:
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


def typed_options(options: Mapping[str, Any]) -> str:
    """Return the options of a search as a person types them."""
    return " ".join(words_of(options))


def _remarks(found: Sweep) -> Iterator[str]:
    """Yield each remark of the searches once, with the searches that have it."""
    searches: dict[str, list[str]] = {}
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
            searches.setdefault(remark, []).append(typed_options(item.options))
    in_order = sorted(searches, key=lambda remark: not remark.startswith("note: "))
    for remark in in_order[:REMARKS_MAX]:
        is_of_all = len(searches[remark]) == len(found.searches)
        yield remark if is_of_all else f"{remark}  ({', '.join(searches[remark])})"
    if len(in_order) > REMARKS_MAX:
        yield f"and {count(len(in_order) - REMARKS_MAX)} more; --json lists all"
    if found.left:
        yield f"not searched: {', '.join(map(typed_options, found.left))}"
