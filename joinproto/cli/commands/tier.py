"""`joinproto check --tier quick`: check every world of a tier, and print one line for each.

Each world must end as the catalogue says: it holds, or a run of the pinned length breaks it.
Every mutant of a world must be violated.  If the checker overlooks a planted mistake, its result
"holds" says nothing about any world.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Annotated, Any, Literal

import click
from attrs import frozen

from joinproto.check import catalogue
from joinproto.check.entry import Entry
from joinproto.check.options import words_of
from joinproto.check.report import Report
from joinproto.cli.show.amounts import count, duration, plural
from joinproto.codec.json_form import Count, Key, Seconds, filled
from joinproto.errors import EnvironmentProblem
from joinproto_worlds import entries

Result = Literal["as-expected", "not-as-expected", "incomplete"]
Expected = Literal["holds", "violated"]


@frozen(kw_only=True)
class TierSearch:
    """The result of one search."""

    world: Annotated[str, "the world's name"]
    mutant: Annotated[str | None, "the mistake that is built in; null: none"]
    members: Annotated[Count, "members of the world"]
    result: Annotated[Literal["holds", "violated", "incomplete"], "the result of the search"]
    expected: Annotated[Expected, "how it must end"]
    distinct: Annotated[Count, "distinct states"]
    generated: Annotated[Count, "steps found"]
    depth: Annotated[Count, "states on the longest of the shortest runs"]
    seconds: Annotated[Seconds, "elapsed time"]
    claim: Annotated[str | None, Key("property"), "the claim that the run found breaks"]
    trace_length: Annotated[Count | None, "steps of that run"]
    trace_length_expected: Annotated[Count | None, "steps that it must have; null: not pinned"]
    stopped_by: Annotated[str, "the limit that ended it early, or empty"]

    @property
    def as_expected(self) -> Annotated[bool, "whether result and steps are as expected"]:
        return not self.difference

    @property
    def words(self) -> str:
        """Return the world and its mutant as a person types them."""
        return _words(self.world, self.mutant)

    @property
    def difference(self) -> str:
        """Return how the result differs from the expected one; "" if it does not."""
        if self.result == "incomplete":
            return f"stopped by {self.stopped_by}"
        if self.result != self.expected:
            return f"expected: {self.expected}"
        wanted = self.trace_length_expected
        if wanted is not None and wanted != self.trace_length:
            return f"expected: {plural(wanted, 'step')}"
        return ""

    def line(self, width: int) -> str:
        """Return the line that is printed; `width`: columns for the world."""
        found = f"{count(self.distinct)} distinct, depth {self.depth}"
        if self.trace_length is not None:
            found += f", {plural(self.trace_length, 'step')}"
        verdict = "undetermined" if self.result == "incomplete" else self.result
        text = (
            f"{'WRONG' if self.difference else 'ok':5}  {self.words.ljust(width)}"
            f"  {verdict:12}  {found}, {duration(self.seconds)}"
        )
        return f"{text}; {self.difference}" if self.difference else text


def _ended(item: Entry, mutant: str | None, report: Report) -> TierSearch:
    trace = report.trace
    return filled(
        TierSearch,
        report,
        world=item.name,
        mutant=mutant,
        expected="violated" if mutant else item.expected,
        claim=None if trace is None else trace.property,
        trace_length=None if trace is None else len(trace.steps),
        trace_length_expected=None if mutant else item.steps,
    )


@frozen(kw_only=True)
class Tier:
    """`joinproto check --tier quick --json`"""

    tier: Annotated[Literal["quick", "long"], "the tier"]
    result: Annotated[Result, "the result of all searches together"]
    seconds: Annotated[Seconds, "elapsed time"]
    worlds: Annotated[tuple[TierSearch, ...], "every world, each followed by its mutants"]

    @property
    def code(self) -> int:
        return {"as-expected": 0, "not-as-expected": 1, "incomplete": 3}[self.result]


Row = tuple[Entry, str | None]
"""A world, and the name of its mutant; None for the world without a mistake."""


def _rows(tier: str) -> Iterator[Row]:
    for item in entries.ENTRIES:
        if item.tier == tier:
            yield item, None
            yield from ((item, mutant) for mutant in item.mutants)


def run_tier(
    tier: Literal["quick", "long"],
    search: Callable[[Sequence[Row]], Iterator[Report]],
    *,
    as_json: bool,
) -> Tier:
    """Search every world of `tier`, and return the results.

    `search`: yields the reports of all rows, in order.  Unless `as_json`, each line is printed
    when its report comes.
    """
    began = time.perf_counter()
    rows = list(_rows(tier))
    width = max((len(_words(item.name, mutant)) for item, mutant in rows), default=0)
    endings = []
    if not as_json:
        fail = sum(mutant is not None or item.expected == "violated" for item, mutant in rows)
        click.echo(
            f"{plural(len(rows), 'world')}, and {fail} of them must fail:"
            " they have a mistake built in, or show a known hole.\n“ok”: the world ended as it"
            " must.\n"
        )
    for (item, mutant), report in zip(rows, search(rows), strict=True):
        ending = _ended(item, mutant, report)
        endings.append(ending)
        if not as_json:
            click.echo(ending.line(width))
    wrong = [ending for ending in endings if ending.difference]
    # If limits ended all of these searches, no world is known to be wrong.
    is_stopped = all(ending.result == "incomplete" for ending in wrong)
    result: Result = "incomplete" if is_stopped else "not-as-expected"
    seconds = time.perf_counter() - began
    if not as_json:
        click.echo()
        click.echo(_verdict(endings, wrong, seconds))
    return Tier(
        tier=tier,
        result=result if wrong else "as-expected",
        seconds=seconds,
        worlds=tuple(endings),
    )


def _words(world: str, mutant: str | None) -> str:
    return " ".join([world, *words_of({"mutant": mutant} if mutant else {})])


def _verdict(endings: list[TierSearch], wrong: list[TierSearch], seconds: float) -> str:
    if not wrong:
        return f"{count(len(endings))} searched, all as expected, {duration(seconds)}"
    names = ", ".join(ending.words for ending in wrong)
    return f"{len(wrong)} of {len(endings)} not as expected: {names}"


# -- the searches --------------------------------------------------------------------------------


def search_one(row: Row, **how: Any) -> Report:
    """Search the world of a row; `how`: further arguments of `joinproto.check.check`."""
    from joinproto.check.check import check as search_world

    item, mutant = row
    loaded = catalogue.load(item.name, {"mutant": mutant} if mutant else {})
    return search_world(loaded.world, **how)


def side_by_side(rows: Sequence[Row], count: int, limits: Mapping[str, Any]) -> Iterator[Report]:
    """Search worlds, one in each of `count` processes; yield reports in order of `rows`.

    The memory limit is for all processes together.
    """
    most = limits["memory_max_bytes"]
    search = partial(
        search_one, workers=1, **{**limits, "memory_max_bytes": most and most // count}
    )
    # A forked process has the compiled loops and the catalogue already.  Ctrl-C reaches all
    # processes; the forked ones ignore it, and this process handles it.
    context, ignore = multiprocessing.get_context("fork"), (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(count, context, signal.signal, ignore) as pool:
        try:
            yield from pool.map(search, rows)
        except BrokenProcessPool as error:
            raise EnvironmentProblem(
                "a search process was ended from outside, perhaps by a lack of memory",
                next="search in one process: add --workers 1",
            ) from error
        except BaseException:
            # No one needs the results of searches that still run.
            for process in multiprocessing.active_children():
                process.kill()
            raise
