"""The origin of each state: the step to it from the state with the least id.

A state's `id` is its number in the search.  Its parent is the first state of the level before that
leads to it, so a shortest run to a state can be read backwards, parent by parent.  If several
states were taken for one (`--symmetry`, a world's `same`), a step may lead to another state than
the one that was kept; then the parent is unknown.

On Spark this takes one exchange.  Each owner expands its states and sends every step to the owner
of the state that it leads to.  Of all steps into a state that owner keeps the step from the least
id, which is in the level before.  Rows that arrive are kept in files until their level is handled.
If all steps are to be written, an owner holds all its states in memory (50 bytes and a row for
each), and writes each step that arrives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from joinproto.check.engine.expansion.expander import Batch
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.shapes import Flags, Ints, Rows
from joinproto.check.engine.tables import kernel
from spark_explore.keys import keys_of, owners_of, padded
from spark_explore.parcels import Parcel, received
from spark_explore.storage import Storage
from spark_explore.worker_cache import WorkerCache

STEPS, STUCK = "steps", "stuck"
NONE = -1
Item = tuple[int, tuple[Any, ...]]
"""(owner, (STEPS, level, words, Content)) or (owner, (STUCK, level, begin, bytes))."""

_LATER = np.int64(np.iinfo(np.int64).max)
_KIND = 15


@frozen
class OwnerFiles:
    """The level files of all owners.

    `files[owner][level]`: "" if there is none.  `first[level, owner]`: int64, the id of the first
    state in that file.  `count`: the number of all states.
    """

    files: tuple[tuple[str, ...], ...]
    first: Ints
    count: int

    @property
    def levels(self) -> range:
        return range(len(self.first))

    @property
    def begins(self) -> int:
        """Return the number of states in the first level, which have no parent."""
        return int(self.first[1, 0]) if len(self.first) > 1 else self.count

    @classmethod
    def of(cls, context: Any, storage: Storage, files: tuple[tuple[str, ...], ...]) -> OwnerFiles:
        """Number the states, level by level, and in each level owner by owner."""

        def count(names: tuple[str, ...]) -> list[int]:
            return [len(storage.load(name)) if name else 0 for name in names]

        counts = np.array(context.parallelize(files, len(files)).map(count).collect(), np.int64)
        by_level = counts.T.reshape(-1)
        first = np.cumsum(by_level) - by_level
        return cls(files, first.reshape(counts.T.shape), int(by_level.sum()))


@define
class OutgoingSteps:
    """Steps out of some states of a level, to be sent to the owners of their targets.

    `ids`: the states' ids; batches number the states from 0.  `every`: keep all steps; otherwise
    one step to each target.
    """

    cache: WorkerCache
    ids: Ints
    rows: Rows
    wide: bool
    every: bool
    _found: list[Rows] = field(init=False, factory=list)

    def note(self, batch: Batch) -> None:
        joint = (batch.info & _KIND) == kernel.TOGETHER
        if joint.any():
            # The name of a joint step depends also on the state, so the driver is asked now.
            info, at = np.unique(batch.info[joint], return_index=True)
            self.cache.words(info, self.rows[batch.source[joint][at]])
        more = np.stack([self.ids[batch.source], batch.info], axis=1).view(np.uint64)
        changes = (batch.rows != self.rows[batch.source]).any(axis=1)
        self._found.append(np.concatenate([batch.rows, more], axis=1)[changes])

    def by_owner(self, owners: int) -> Iterator[tuple[int, Rows]]:
        """Yield each owner with its rows; the last two words of a row are source and step."""
        if not self._found:
            return
        every = np.concatenate(self._found)
        keys = keys_of(every[:, :-2], wide=self.wide)
        order = np.lexsort((every[:, -1], every[:, -2], keys))
        every, keys = every[order], keys[order]
        if not self.every:
            keep = np.ones(len(every), np.bool_)
            keep[1:] = (every[1:, :-2] != every[:-1, :-2]).any(axis=1)
            every, keys = every[keep], keys[keep]
        owner = owners_of(keys, owners)
        for number in np.unique(owner).tolist():
            yield number, every[owner == number]


@define
class Arrivals:
    """The items that have arrived.

    `steps[level]`: words in a row, and the parcel.  `stuck[level, begin]`: flags of a chunk.
    """

    steps: dict[int, list[tuple[int, Parcel]]] = field(factory=dict)
    stuck: dict[tuple[int, int], Flags] = field(factory=dict)

    @classmethod
    @contextmanager
    def of(cls, items: Iterable[Item]) -> Iterator[Arrivals]:
        """Yield the items as `Arrivals`; a temporary file holds rows that came through Spark."""
        with ExitStack() as stack:
            found, file = cls(), stack.enter_context(tempfile.NamedTemporaryFile(prefix="steps-"))
            for _, (kind, level, number, content) in items:
                if kind == STUCK:
                    found.stuck[level, number] = np.frombuffer(content, np.bool_)
                    continue
                place = content
                if not isinstance(content, Parcel):
                    rows = received(content, number)
                    place = Parcel(file.name, file.tell(), rows.nbytes)
                    file.write(np.ascontiguousarray(rows).data)
                found.steps.setdefault(level, []).append((number, place))
            file.flush()
            yield found

    def of_level(self, level: int) -> Iterator[tuple[Rows, Ints, Ints]]:
        """Yield the steps out of a level: target rows, source ids, and which steps they are."""
        for words, parcel in self.steps.get(level, ()):
            rows = received(parcel, words)
            ends = rows[:, -2:].view(np.int64)
            yield rows[:, :-2], ends[:, 0], ends[:, 1]


@define
class Origins:
    """Some states in the order of their ids, with the origin of each.

    `states`: their rows, each at the place of its id.  `begins`: states with smaller ids have no
    parent.  `parent`, `info`: for each state, source and kind of the least step to it so far.
    """

    states: RowSet
    ids: Ints
    begins: int
    parent: Ints = field(init=False)
    info: Ints = field(init=False)

    def __attrs_post_init__(self) -> None:
        count = len(self.ids)
        self.parent, self.info = np.full(count, _LATER), np.zeros(count, np.int64)

    def find(self, rows: Rows) -> Ints:
        """Return the place of each row, or `NONE`."""
        # Loops are compiled for arrays that are writable and contiguous.
        wanted = np.array(padded(rows, self.states.words), order="C")
        return self.states.find(wanted, len(wanted))

    def take(self, places: Ints, source: Ints, info: Ints) -> None:
        """Take in steps to the states at `places`."""
        order = np.lexsort((info, source, places))
        order = order[np.searchsorted(places[order], 0) :]
        places, source, info = places[order], source[order], info[order]
        first = source < self.parent[places]
        first[1:] &= places[1:] != places[:-1]
        self.parent[places[first]], self.info[places[first]] = source[first], info[first]

    def with_origin(self, table: Any, ids: Ints, words: StepNames) -> Any:
        """Return `table` with columns `id`, `parent`, `step`; its states have consecutive `ids`."""
        at = slice(begin := int(np.searchsorted(self.ids, ids[0])), begin + len(ids))
        known = (self.parent[at] != _LATER) & (ids >= self.begins)
        number = np.zeros(len(ids), np.int32)
        number[known] = np.arange(known.sum())
        step = words.of(self.info[at][known], self.parent[at][known])
        columns = {
            "id": pa.array(ids),
            "parent": pa.array(self.parent[at], mask=~known),
            "step": step.take(pa.array(number, mask=~known)),
        }
        for name, values in columns.items():
            table = table.append_column(name, values)
        return table


@define
class StepNames:
    """Names of steps, each of which is asked for once.

    `ask`: returns the names of kinds of steps, each given with the id of a state that has one.
    """

    ask: Callable[[Ints, Ints], Iterable[str]]
    _known: dict[int, str] = field(init=False, factory=dict)

    def of(self, info: Ints, sources: Ints) -> Any:
        """Return the names of steps as an Arrow array."""
        kinds, first, of = np.unique(info, return_index=True, return_inverse=True)
        new = np.array([kind not in self._known for kind in kinds.tolist()], np.bool_)
        if new.any():
            named = self.ask(kinds[new], sources[first[new]])
            self._known.update(zip(kinds[new].tolist(), named, strict=True))
        texts = pa.array([self._known[kind] for kind in kinds.tolist()], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(of, pa.int32()), texts)

    def edges(self, source: Ints, target: Ints, info: Ints) -> Any:
        columns = [pa.array(source), pa.array(target), self.of(info, source)]
        return pa.table(columns, names=["source", "target", "step"])
