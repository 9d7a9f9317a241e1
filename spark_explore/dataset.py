"""The explored states as Parquet, whichever engine explored them.

In a folder, the dataset is written under another name and renamed at the end.  An object store
cannot rename, so `_about.json` is written last there, and files without it are not a dataset.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field, frozen

from joinproto.check.engine.claims.watching import watch
from joinproto.check.engine.expansion.expander import Batch, Expander
from joinproto.check.engine.rows.bits import has_bit
from joinproto.check.engine.runs.paths import move_of, uncounted
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Keys, Rows, SmallInts
from joinproto.check.engine.tables.arrays import Arrays
from joinproto.check.engine.tables.claimed import BreakingObservations
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.steps import said
from spark_explore import parcels
from spark_explore.columns import Columns, columns_of
from spark_explore.forms import leaves, name_of
from spark_explore.frontier import Frontier, exchanged
from spark_explore.keys import padded
from spark_explore.origins import (
    NONE,
    STEPS,
    STUCK,
    Arrivals,
    Item,
    Origins,
    OutgoingSteps,
    OwnerFiles,
    StepNames,
)
from spark_explore.parcels import sent
from spark_explore.places import Folder, Place
from spark_explore.query import ABOUT, EDGES, STATES
from spark_explore.step import Task
from spark_explore.worker_cache import WorkerCache, set_of

ASCENDING = ("id", "parent", "source", "target")
"""Columns whose numbers mostly grow from row to row."""

_PART_ROWS = 1 << 20
_CHUNK_ROWS = 1 << 16


@define
class PartsWriter:
    """Writes tables as files of about a million rows.

    `name`: the beginning of the files' names.  `metadata`: is written to each file.
    """

    place: Place
    name: str
    metadata: Mapping[str, str] = field(factory=dict)
    _tables: list[Any] = field(init=False, factory=list)
    _rows: int = field(init=False, default=0)
    _number: int = field(init=False, default=0)

    def add(self, table: Any) -> None:
        self._tables.append(table)
        self._rows += table.num_rows
        if self._rows >= _PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the remaining rows."""
        if not self._tables:
            return
        whole = pa.concat_tables(self._tables).unify_dictionaries()
        content = pa.BufferOutputStream()
        # A file is one row group, so that columns are encoded once, and readers may skip levels.
        plain = [
            leaf
            for column in whole.schema
            if column.name not in ASCENDING
            for leaf in leaves(column.name, column.type)
        ]
        pq.write_table(
            whole.replace_schema_metadata(self.metadata),
            content,
            compression="zstd",
            row_group_size=_PART_ROWS,
            use_dictionary=plain,
            column_encoding={
                name: "DELTA_BINARY_PACKED" for name in ASCENDING if name in whole.column_names
            },
        )
        # A task that runs again writes the same file under the same name.
        name = f"{self.name}-{self._number}.parquet"
        self.place.write(name, memoryview(content.getvalue()))
        self._tables, self._rows, self._number = [], 0, self._number + 1


def table_of(
    columns: Columns,
    arrays: Arrays,
    shown: list[int],
    rows: Rows,
    level: SmallInts,
    flags: Keys | None,
) -> Any:
    """Return rows as a table; `shown`: the number of observations of each part."""
    watched = arrays.members + (arrays.monitor >= 0)
    wrong = {}
    for name, broken in columns.broken.items():
        if broken:
            breaking = BreakingObservations.of(shown[:watched], broken)
            wrong[name], _ = watch(arrays, breaking, rows, 0, len(rows))
    return columns.table(arrays.layout, rows, level, flags, wrong)


def stuck_in(
    expander: Expander,
    faults: FaultSteps,
    rows: Rows,
    joint: Ints | None,
    note: Callable[[Batch], None] | None = None,
) -> Flags:
    """Return a mask of the stuck rows: no step but a fault changes them.  `note` gets all steps."""
    moves = np.zeros(len(rows), np.bool_)
    expander.quiet = True
    try:
        for batch in expander.successors(lambda: rows, 0, len(rows), joint):
            changes = (batch.rows != rows[batch.source]).any(axis=1)
            changes &= ~faults.of_steps(batch.info)
            if note is not None:
                note(batch)
            moves[batch.source[changes]] = True
    finally:
        expander.quiet = False
        expander.count_up()
    return ~moves


def _with_stuck(table: Any, stuck: Flags, expanded: Flags) -> Any:
    """Return the table with the column `is_stuck`, which is null for rows that were not expanded.

    `stuck`: bool, for each row that is `expanded`.
    """
    values = np.zeros(table.num_rows, np.bool_)
    values[expanded] = stuck
    return table.append_column("is_stuck", pa.array(values, mask=~expanded))


# -- of a local search -------------------------------------------------------------------


def write_local(search: Search, out: Place, *, edges: bool = False) -> None:
    """Write the states of a finished local search to a folder of `out`; with `edges`, its steps."""
    columns, ends = columns_of(search), search.found.levels
    if not edges:
        (out / EDGES).clear()
    with ExitStack() as replacing:
        folder = replacing.enter_context(_Replacing(out / STATES))
        parts, steps = PartsWriter(folder, "part", columns.metadata()), None
        if edges:
            steps = PartsWriter(replacing.enter_context(_Replacing(out / EDGES)), "part")
        uncounted(search, lambda: _write_rows(search, columns, parts, steps))
        for written in filter(None, (parts, steps)):
            written.flush()
        _describe(folder, columns, search, ends[-1])


def _write_rows(
    search: Search, columns: Columns, parts: PartsWriter, edges: PartsWriter | None
) -> None:
    judge, tables, found = search.judge, search.tables, search.found
    faults, ends = FaultSteps.of(tables), found.levels
    # If the search ended early, its last level was not expanded.
    is_open = bool(found.stopped_by) or found.violated

    def ask(info: Ints, sources: Ints) -> list[str]:
        steps = zip(info.tolist(), search.rows()[sources], strict=True)
        return [said(move_of(search, one, row)) for one, row in steps]

    def own_of(begin: int, end: int) -> Origins:
        states, every = search.states, end - begin == search.states.count
        known = states if every and not states.is_direct else set_of(search.rows()[begin:end])
        return Origins(known, np.arange(begin, end), search.begins)

    words, own = StepNames(ask), own_of(0, ends[1] if edges is None else ends[-1])
    for level, (first, end) in enumerate(itertools.pairwise(ends)):
        last = is_open and end == ends[-1]
        following = own
        if edges is None:
            following = own_of(end, end if end == ends[-1] else ends[level + 2])
        for begin in range(first, end, _CHUNK_ROWS):
            rows = np.array(search.rows()[begin : min(begin + _CHUNK_ROWS, end)])
            numbers, world = None, search.world
            if columns.claims or world.together is not None or world.within is not None:
                numbers = judge.number(rows, 0, len(rows))
            flags = None if numbers is None else judge.flags[numbers]
            shown = list(judge.breaking_observations.counts)
            levels = np.full(len(rows), level, np.int32)
            table = table_of(columns, tables, shown, rows, levels, flags)
            # A state outside the world's `within` was not expanded.
            expanded = np.ones(len(rows), np.bool_) if not last else np.zeros(len(rows), np.bool_)
            if search.world.within is not None and flags is not None:
                expanded &= has_bit(flags, judge.within_bit)
            joint = numbers if search.world.together is not None else None
            if joint is not None:
                search.expander.refresh()
                joint = joint[expanded]
            ids = np.arange(begin, begin + len(rows))
            note = partial(_note, following, words, edges, end, ids[expanded])
            stuck = stuck_in(search.expander, faults, rows[expanded], joint, note)
            parts.add(own.with_origin(_with_stuck(table, stuck, expanded), ids, words))
        own = following


def _note(
    own: Origins,
    words: StepNames,
    edges: PartsWriter | None,
    next_level: int,
    ids: Ints,
    batch: Batch,
) -> None:
    """Take in the steps out of the states `ids`; `next_level`: the first id of the next level."""
    source, places = ids[batch.source], own.find(batch.rows)
    target = np.where(places == NONE, NONE, own.ids[places]) if len(own.ids) else places
    if edges is not None:
        kept = (target != NONE) & (target != source)
        _add_edges(edges, words, source[kept], target[kept], batch.info[kept])
    # Only steps to the next level give a parent: other targets may stand for several states.
    own.take(np.where(target < next_level, NONE, places), source, batch.info)


# -- of a search on Spark ----------------------------------------------------------------


@frozen
class Decoding:
    """One job, in which every owner sends its steps, and then writes its states.

    `columns`, `faults`: broadcasts.  `place`: the folder for states; `edges`: the folder for steps,
    or None.  `unexpanded`: the last level of a search that ended early, else -1.
    """

    task: Task
    columns: Any
    faults: Any
    owned: OwnerFiles
    place: Place
    edges: Place | None
    unexpanded: int

    def send(self, owner: int) -> Iterator[Item]:
        """Yield the steps out of an owner's states, each for the owner of its target."""
        task, cache = self.task, self.task.cache()
        cache.catch_up()
        for level, begin, ids, rows in self._chunks(owner, cache, self.owned.levels):
            if level == self.unexpanded:
                continue
            joint = cache.combinations(rows)[0] if cache.tables.shape().joint else None
            steps = OutgoingSteps(cache, ids, rows, task.wide, self.edges is not None)
            stuck = stuck_in(cache.expander, self.faults.value, rows, joint, steps.note)
            yield owner, (STUCK, level, begin, stuck.tobytes())
            parts = steps.by_owner(task.owners)
            for other, content in sent(parts, task.parcels):
                yield other, (STEPS, level, rows.shape[1] + 2, content)

    def write(self, owner: int, items: Iterable[Item]) -> Iterator[int]:
        """Write an owner's states, and yield their number."""
        cache, levels = self.task.cache(), self.owned.levels
        cache.catch_up()
        count = 0

        def ask(info: Ints, _: Ints) -> list[str]:
            # The driver knows the names of joint steps since `send`; other steps need no state.
            return cache.words(info, np.zeros((len(info), cache.tables.layout.words), np.uint64))

        words = StepNames(ask)
        parts = PartsWriter(self.place, f"part-{owner}", self.columns.value.metadata())
        with Arrivals.of(items) as arrived:
            groups = [range(level, level + 1) for level in levels]
            edges = note = None
            if self.edges is not None:
                edges = PartsWriter(self.edges, f"part-{owner}")
                groups, note = [levels], partial(_add_edges, edges, words)
            for group in groups:
                own = self._own(owner, cache, group, arrived, note)
                for level, begin, ids, rows in self._chunks(owner, cache, group):
                    table = self._table(cache, level, rows, arrived.stuck.get((level, begin)))
                    parts.add(own.with_origin(table, ids, words))
                    count += len(rows)
            if edges is not None:
                edges.flush()
        parts.flush()
        yield count

    def _chunks(
        self, owner: int, cache: WorkerCache, levels: range
    ) -> Iterator[tuple[int, int, Ints, Rows]]:
        """Yield an owner's states in chunks: level, first place in the level's file, ids, rows."""
        for level in levels:
            name = self.owned.files[owner][level]
            for begin, rows in self.task.storage.chunks(name, _CHUNK_ROWS) if name else ():
                first = int(self.owned.first[level, owner]) + begin
                ids = np.arange(first, first + len(rows))
                yield level, begin, ids, padded(rows, cache.tables.layout.words)

    def _own(
        self,
        owner: int,
        cache: WorkerCache,
        levels: range,
        arrived: Arrivals,
        note: Callable[[Ints, Ints, Ints], None] | None = None,
    ) -> Origins:
        """Return the states of some levels with their origins; `note` gets all steps to them."""
        none = np.zeros((0, cache.tables.layout.words), np.uint64)
        chunks = [(none[:0, 0].astype(np.int64), none)]
        chunks += [(ids, rows) for _, _, ids, rows in self._chunks(owner, cache, levels)]
        ids, rows = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
        own = Origins(set_of(rows), ids, self.owned.begins)
        for level in range(levels.start - 1, levels.stop if note else levels.stop - 1):
            for targets, source, info in arrived.of_level(level):
                places = own.find(targets)
                own.take(places, source, info)
                if note is not None:
                    # `own` has all states of this owner, so each target has a place.
                    note(source, own.ids[places], info)
        return own

    def _table(self, cache: WorkerCache, level: int, rows: Rows, stuck: Flags | None) -> Any:
        columns: Columns = self.columns.value
        flags = cache.combinations(rows)[1] if columns.claims else None
        levels = np.full(len(rows), level, np.int32)
        table = table_of(columns, cache.tables, cache.tables.shown, rows, levels, flags)
        none = np.zeros(0, np.bool_)
        return _with_stuck(
            table, none if stuck is None else stuck, np.full(len(rows), stuck is not None)
        )


def _add_edges(
    parts: PartsWriter, words: StepNames, source: Ints, target: Ints, info: Ints
) -> None:
    parts.add(words.edges(source, target, info))


def write_frontier(frontier: Frontier, context: Any, out: Place, *, edges: bool = False) -> None:
    """Write the states of a search on Spark to a folder of `out`; with `edges`, also its steps."""
    columns = columns_of(frontier.search)
    shared = context.broadcast(columns)
    faults = context.broadcast(FaultSteps.of(frontier.search.tables))
    task = frontier.task(context)
    files = tuple(share.files for share in frontier.shares)
    owned = OwnerFiles.of(context, task.storage, files)
    if not edges:
        (out / EDGES).clear()
    with ExitStack() as replacing:
        folder = replacing.enter_context(_Replacing(out / STATES))
        steps = replacing.enter_context(_Replacing(out / EDGES)) if edges else None
        unexpanded = -1 if frontier.done else frontier.level
        job = Decoding(task, shared, faults, owned, folder, steps, unexpanded)
        flow = context.parallelize(range(task.owners), task.owners)
        flow = flow.mapPartitionsWithIndex(lambda owner, _: job.send(owner))
        flow = exchanged(flow, task.owners).mapPartitionsWithIndex(job.write)
        _forget(task)
        count = sum(flow.collect())
        _forget(task)
        _describe(folder, columns, frontier.search, count)
    shared.destroy()
    faults.destroy()


def _forget(task: Task) -> None:
    """Remove the files of sent rows, if rows are sent in files."""
    if task.parcels is not None:
        parcels.forget(task.parcels)


def _describe(folder: Place, columns: Columns, search: Search, count: int) -> None:
    with folder.open(next(name for name in folder.names() if name.endswith(".parquet"))) as file:
        schema = pq.read_schema(file)
    kinds = {item.name: name_of(item.type) for item in schema}
    kinds = {"level": kinds["level"], **columns.names, **kinds}
    # The fields of `query.Dataset` without its places.
    said = {
        "world": columns.world,
        "members": columns.members,
        "states": count,
        "columns": kinds,
        "constants": dict(columns.constants),
        "about": dict(columns.about),
    }
    folder.write(ABOUT, json.dumps(said, indent=1).encode())


@define
class _Replacing:
    """Yields a new folder, which replaces the folder `place` at the end.

    In an object store it yields the emptied `place`.
    """

    place: Place
    _new: Place = field(init=False)

    def __enter__(self) -> Place:
        self._new = self.place
        if isinstance(self.place, Folder):
            path = self.place.path
            self._new = Folder(path.with_name(f".{path.name}-{uuid.uuid4().hex}"))
        else:
            self.place.remove([ABOUT])
            self.place.clear()
        self._new.make()
        return self._new

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self._new.clear()
        elif isinstance(self.place, Folder) and isinstance(self._new, Folder):
            path = self.place.path
            old = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
            if path.exists():
                path.replace(old)
            self._new.path.replace(path)
            Folder(old).clear()
