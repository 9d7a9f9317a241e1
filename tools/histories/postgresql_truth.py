"""Compare our reader with PostgreSQL's own programs: where directories diverge, where logs end.

`pg_rewind --dry-run` says where two copies that were stopped in order diverge ("servers diverged at
WAL location ...", "no rewind required").  `pg_waldump` says where the last record of an unchanged
directory ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import permutations
from pathlib import Path

from attrs import frozen

from joinproto.errors import EnvironmentProblem
from joinproto.recovery.foreign.postgresql import (
    STOPPED,
    Control,
    common_log,
    control_of,
    lsn,
)
from joinproto.recovery.gather import gather, read

DIVERGED = re.compile(r"servers diverged at WAL location ([0-9A-F]+/[0-9A-F]+) on timeline (\d+)")
ENDS = re.compile(r"error in WAL record at [0-9A-F/]+: .* at ([0-9A-F]+/[0-9A-F]+)")
PAGE_BYTES, HEAD_BYTES = 8192, (24, 40)
Run = Callable[..., str]


def contradictions(
    stores: Mapping[str, Path],
    copies: Mapping[str, Path],
    promoted: Collection[str],
    run: Run,
    rows_of: Callable[[Path], object],
) -> Iterator[str]:
    """Yield the facts of our reader that PostgreSQL contradicts.

    `copies`: a copy of each directory.  `promoted`: the servers that were promoted.  `run` runs a
    program of PostgreSQL and returns its output.  `rows_of` starts a server on a copy, reads its
    rows and stops it; it returns None if the server does not start.  It is called for each copy
    that was not stopped in order.
    """
    controls: dict[str, Control] = {}
    for name, store in stores.items():
        control = control_of(read(gather(store, host="h")))
        if control is None:
            yield f"{name} cannot be read: {'; '.join(read(gather(store, host='h')).problems)}"
        else:
            controls[name] = control
    for name, control in controls.items():
        yield from _ends(stores[name], name, control, run)
    is_stopped = {}
    for name, copy in copies.items():
        state = run("pg_controldata", str(copy)).partition("cluster state:")[2]
        is_stopped[name] = "shut down" in state.splitlines()[0]
        if not is_stopped[name] and rows_of(copy) is None:
            raise EnvironmentProblem(
                f"a copy of {name} does not start alone",
                next=f"read the server's log, {copy.name}.log",
            )
    for target, source in permutations(sorted(controls), 2):
        ours = _ours(controls[target], controls[source])
        pair = _Pair(target, source, stores, copies, promoted)
        theirs = pair.said(run, is_target_stopped=is_stopped[target])
        if ours != theirs:
            yield f"{target} {source}: {ours}, but pg_rewind says {theirs}"


def _ends(store: Path, name: str, control: Control, run: Run) -> Iterator[str]:
    """Yield a contradiction if `pg_waldump`, from the checkpoint on, finds another end of the log.

    If the log ends at the start of a page, the two may differ by the length of the page's header.
    """
    words = ("-p", str(store / "pg_wal"), "-t", str(control.timeline))
    said = run("pg_waldump", *words, "-s", lsn(control.checkpoint), check=False)
    found = ENDS.search(said)
    if found is None:
        return  # the files of an earlier timeline have the checkpoint
    gap = _number(found[1]) - control.end
    is_head = not control.end % PAGE_BYTES and gap in HEAD_BYTES
    if gap and not is_head:
        yield f"{name}: the log ends at {lsn(control.end)}, but pg_waldump says {found[1]}"


def _ours(mine: Control, theirs: Control) -> str:
    """Return our reader's verdict on two directories, in the form of `pg_rewind`."""
    found = common_log(mine, theirs)
    if found is None:
        return "no common ancestor"
    if mine.timeline == theirs.timeline and found.timeline == mine.timeline:
        return "same timeline"
    needed = ", no rewind required" if found.mine <= 0 and mine.state in STOPPED else ""
    return f"{lsn(found.left or found.at)} on timeline {found.timeline}{needed}"


@frozen
class _Pair:
    target: str
    source: str
    stores: Mapping[str, Path]
    copies: Mapping[str, Path]
    promoted: Collection[str]

    def said(self, run: Run, *, is_target_stopped: bool) -> str:
        """Return the verdict of `pg_rewind` on two directories."""
        said = run(
            *("pg_rewind", "--dry-run", "--target-pgdata", str(self.copies[self.target])),
            *("--source-pgdata", str(self.copies[self.source])),
            check=False,
        )
        found = DIVERGED.search(said)
        if "same timeline" in said:
            # pg_rewind does not notice that each was promoted independently; the files say where.
            both = {self.target, self.source} <= {*self.promoted}
            left = [self._left(one) for one in (self.target, self.source)] if both else []
            return f"{min(left, key=_number)} on timeline 1" if both else "same timeline"
        if found is None:
            return f"something else: {said[-300:]}"
        # The copy of a killed server writes a checkpoint when it is stopped, so its log is longer.
        is_none = is_target_stopped and "no rewind required" in said
        needed = ", no rewind required" if is_none else ""
        return f"{found[1]} on timeline {found[2]}{needed}"

    def _left(self, name: str) -> str:
        """Return the place where a server, promoted once, left the first timeline."""
        history = self.stores[name] / "pg_wal" / "00000002.history"
        return history.read_text("ascii").split()[1]


def _number(place: str) -> int:
    high, _, low = place.partition("/")
    return int(high, 16) << 32 | int(low, 16)
