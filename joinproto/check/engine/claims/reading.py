"""Answers kept by the values read: a function of a view is called once for equal values that it
reads.

A function that reads only `view["p1"]` gives the same answer in all states in which p1 shows the
same.  So each function gets a tree.  An inner node names the part of the view that the function
reads next and has one branch for each observation of that part; a leaf is the answer.  Where the
tree has no answer yet, the function is called with a view that records reads (`ReadView`), and the
reads become a path in the tree.

This is right because the answer of a function of a view depends only on its reads.  Two views that
agree on all that one call has read lead to the same answer.  If a function reads more than its
answer needs, the tree is larger, and the answers are still right.

A function that reads almost everything gains nothing by a tree.  Its tree is given up, and it is
called for each combination (`CALLS_PER_ANSWER`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field
from numba import njit

from joinproto.check.engine.shapes import Flags, Ints, SmallInts, Table
from joinproto.check.engine.tables.growing import Growing
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.view import NO_DISKS, View

_UNKNOWN = -1
"""No answer is known yet.  A number from 0 on is a node; -2 - n stands for the answer n."""

CHECK_AFTER = 4_096
"""Whether a tree is of use is checked after this many calls of its function."""

CALLS_PER_ANSWER = 0.5
"""A tree is given up if it needed more calls per answer than this since the last check."""

BRANCHES_MAX = 1 << 22
"""The most branches of all trees together: 16 MiB.  A tree that would need more is given up."""


class ReadView(View):
    """The view of one combination, which records reads.

    `numbers`: the numbers of the observations, by part.  `read`: the parts that were read, each
    once, in the order of their first use.  Each value is made once, as in a `View`, so a function
    that changes a value sees the change until its call ends.
    """

    __slots__ = ("_held", "_numbers", "_tables", "read")

    def __init__(self, tables: Tables, numbers: Sequence[int]) -> None:
        self._names = tables.names
        self._tables = tables
        self._numbers = numbers
        self._up = None
        self._held: dict[Hashable, Any] = {}
        self.read: dict[int, None] = {}

    def __reduce__(self) -> Any:
        # A copy holds all values, and records no reads.
        names = self._names
        disks = () if self.disk is NO_DISKS else tuple(map(self.disk.__getitem__, names))
        return View, (names, self._shown, disks, self.monitor, self.split, self._links)

    def _shown_by(self, part: int) -> Any:
        self.read.setdefault(part)
        if part not in self._held:
            self._held[part] = self._tables.shown[part][self._numbers[part]].shown
        return self._held[part]

    def __getitem__(self, name: str) -> Any:
        member = self._tables.number_of.get(name)
        # An unknown name raises the same error as in a view.
        return super().__getitem__(name) if member is None else self._shown_by(member)

    @property
    def _shown(self) -> tuple[Any, ...]:  # type: ignore[override]
        return tuple(self._shown_by(member) for member in range(len(self._names)))

    @property
    def disk(self) -> Mapping[str, Any]:  # type: ignore[override]
        if self._tables.world.show_disk is None:
            return NO_DISKS
        if "disk" not in self._held:
            disks = map(self._disk_of, range(len(self._names)))
            self._held["disk"] = dict(zip(self._names, disks, strict=True))
        return self._held["disk"]

    def _disk_of(self, member: int) -> Any:
        self.read.setdefault(member)
        return self._tables.shown[member][self._numbers[member]].disk

    @property
    def monitor(self) -> Any:
        return self._shown_by(self._tables.monitor) if self._tables.monitor >= 0 else None

    @property
    def split(self) -> Any:  # type: ignore[override]
        part = self._tables.env_field
        self.read.setdefault(part)
        return self._tables.shown[part].values[self._numbers[part]][0]

    @property
    def _links(self) -> Any:  # type: ignore[override]
        if "links" not in self._held:
            self._held["links"] = links_of(self._tables, self._shown_by)
        return self._held["links"]


def view_of(tables: Tables, numbers: Sequence[int]) -> View:
    """Return the view of the observations with these numbers, by part."""
    seen = [tables.shown[member][numbers[member]] for member in range(tables.members)]
    disks = () if tables.world.show_disk is None else tuple(item.disk for item in seen)

    def shown_by(part: int) -> Any:
        return tables.shown[part][numbers[part]].shown

    monitor = shown_by(tables.monitor) if tables.monitor >= 0 else None
    split = tables.shown[tables.env_field].values[numbers[tables.env_field]][0]
    shown = tuple(item.shown for item in seen)
    return View(tables.names, shown, disks, monitor, split, links_of(tables, shown_by))


def copy_of(view: View) -> View:
    """Return a view of the same values, with dicts of its own."""
    links = None if view._links is None else dict(view._links)
    disks = (*view.disk.values(),)
    return View(view._names, view._shown, disks, view.monitor, view.split, links)


def links_of(tables: Tables, shown_by: Callable[[int], Any]) -> dict[tuple[str, str], Any] | None:
    """Return the messages under way by (sender, addressee); None if the world shows no links."""
    if not tables.world.show_links:
        return None
    links = {}
    for queue in range(tables.queue_count):
        held = shown_by(tables.queue_field + queue)
        if held:
            sender, to = divmod(queue, tables.members)
            links[tables.names[sender], tables.names[to]] = held
    return links


class _NoTree(Exception):
    """A function gains nothing by a tree, or its tree would be too large."""


@define
class ViewFunction:
    """One function of a view.  `call` returns its answer, a number from 0 on.

    `is_tree`: whether its answers are kept in a tree.  `calls`, `answers`: how many there were
    since the last check of the tree's use.  `begin`: from this combination on it has no tree.
    """

    call: Callable[[View], int]
    is_tree: bool = True
    calls: int = 0
    answers: int = 0
    begin: int = field(init=False, default=0)


class Readings:
    """The trees of several functions of views, and their answers for combinations.

    `_roots`: int64 (function,).  `_node_part`, `_node_first`, `_node_room`: int64 (node,), the part
    that a node reads, its first branch, and for how many observations it has branches.
    `_branches`: int32.  A root or a branch is a node, an answer, or `_UNKNOWN`.
    """

    def __init__(self, tables: Tables, functions: Sequence[Callable[[View], int]]) -> None:
        self.tables = tables
        self.functions = [ViewFunction(call) for call in functions]
        self.calls = 0
        self._roots: Ints = np.full(len(functions), _UNKNOWN, np.int64)
        self._node_part, self._node_first = Growing(np.int64), Growing(np.int64)
        self._node_room = Growing(np.int64)
        self._branches: SmallInts = np.full(1 << 10, _UNKNOWN, np.int32)
        self._used = 0

    def answers(self, shown: Table, go_on: Callable[[], None]) -> Table:
        """Return the answers of all functions: int64 (combination, function).

        `shown`: the numbers of the combinations' observations, int64 (combination, part).
        `go_on`: called now and then; it may raise.
        """
        found = np.empty((len(shown), len(self.functions)), np.int64)
        for asked in self.functions:
            asked.begin = 0 if not asked.is_tree else len(shown)
        at = which = 0
        while True:
            at, which = self._walk(shown, found, at, which)
            if at >= len(shown):
                break
            self._count(go_on)
            self._grow(which, shown[at].tolist(), at)
        self._ask_without_trees(shown, found, go_on)
        for asked in self.functions:
            asked.answers += len(shown)
        return found

    def _walk(self, shown: Table, found: Table, at: int, which: int) -> tuple[int, int]:
        arrays = (self._node_part.array, self._node_first.array, self._node_room.array)
        trees = np.array([asked.is_tree for asked in self.functions], np.bool_)
        at, which = _walk(shown, found, at, which, self._roots, trees, *arrays, self._branches)
        return int(at), int(which)

    def _count(self, go_on: Callable[[], None]) -> None:
        self.calls += 1
        if self.calls % 64 == 0:
            go_on()

    def _ask_without_trees(self, shown: Table, found: Table, go_on: Callable[[], None]) -> None:
        late = [one for one in enumerate(self.functions) if one[1].begin < len(shown)]
        if not late:
            return
        fixed = self._are_fixed(shown)
        first = min(asked.begin for _, asked in late)
        for at, numbers in enumerate(shown[first:].tolist(), start=first):
            self._count(go_on)
            view = view_of(self.tables, numbers) if fixed else None
            for number, asked in late:
                if at >= asked.begin:
                    # A new view for each call, because a function may change its view.
                    own = view_of(self.tables, numbers) if view is None else copy_of(view)
                    found[at, number] = asked.call(own)

    def _are_fixed(self, shown: Table) -> bool:
        """Return whether all values in the views of these combinations are immutable."""
        parts = zip(self.tables.shown, shown.T, strict=False)
        return all(part[number].is_fixed for part, own in parts for number in np.unique(own))

    # -- a tree grows --------------------------------------------------------------------

    def _grow(self, which: int, numbers: Sequence[int], at: int) -> None:
        """Call a function for combination `at`, and add the answer to its tree."""
        asked = self.functions[which]
        view = ReadView(self.tables, numbers)
        answer = asked.call(view)
        asked.calls += 1
        try:
            if asked.calls >= CHECK_AFTER and asked.calls > CALLS_PER_ANSWER * (asked.answers + at):
                raise _NoTree
            self._keep(which, [(part, numbers[part]) for part in view.read], answer)
        except _NoTree:
            asked.is_tree, asked.begin = False, at
        else:
            if asked.calls >= CHECK_AFTER:
                asked.calls, asked.answers = 0, -at

    def _keep(self, which: int, path: Sequence[tuple[int, int]], answer: int) -> None:
        """Add a path of the reads, with the answer at its end; raises `_NoTree`."""
        place = -1  # the place of the branch that continues the path; -1: the root
        for part, number in path:
            node = self._node_at(which, place)
            if node == _UNKNOWN:
                node = self._new_node(part)
                self._set(which, place, node)
            elif node < 0 or self._node_part.array[node] != part:
                # The function reads in another order now, as when it iterates over a set.
                raise _NoTree
            self._make_room(node, number)
            place = int(self._node_first.array[node]) + number
        if self._node_at(which, place) != _UNKNOWN:
            raise _NoTree
        self._set(which, place, -2 - answer)

    def _node_at(self, which: int, place: int) -> int:
        return int(self._roots[which] if place < 0 else self._branches[place])

    def _set(self, which: int, place: int, value: int) -> None:
        if place < 0:
            self._roots[which] = value
        else:
            self._branches[place] = value

    def _new_node(self, part: int) -> int:
        count = len(self.tables.shown[part])
        room = count + count // 2 + 1
        self._node_first.append(self._room_for(room))
        self._node_part.append(part)
        self._node_room.append(room)
        return self._node_part.count - 1

    def _make_room(self, node: int, number: int) -> None:
        """Make room for the branch of an observation in a node."""
        room, before = int(self._node_room.array[node]), int(self._node_first.array[node])
        if number >= room:
            first = self._room_for(2 * number)
            self._branches[first : first + room] = self._branches[before : before + room]
            self._node_first.array[node], self._node_room.array[node] = first, 2 * number

    def _room_for(self, count: int) -> int:
        """Return the place of the first of `count` new branches; raises `_NoTree` if too many."""
        first, used = self._used, self._used + count
        if used > BRANCHES_MAX:
            raise _NoTree
        self._used = used
        if used > len(self._branches):
            grown = np.full(2 * used, _UNKNOWN, np.int32)
            grown[:first] = self._branches[:first]
            self._branches = grown
        return first


@njit(cache=True)
def _walk(
    shown: Table,
    found: Table,
    at: Any,
    which: Any,
    roots: Ints,
    trees: Flags,
    node_part: Ints,
    node_first: Ints,
    node_room: Ints,
    branches: SmallInts,
) -> Any:
    """Write the answers that the trees have into `found`, from (at, which) on.

    `shown`: int64 (combination, part); `found`: int64 (combination, function).  `trees`: bool
    (function,), whether a function has a tree; the rest as in `Readings`.

    Return the first (combination, function) without an answer; (len(shown), 0) if there is none.
    """
    while at < len(shown):
        while which < len(roots):
            node = roots[which]
            while node >= 0:
                number = shown[at, node_part[node]]
                if number < node_room[node]:
                    node = np.int64(branches[node_first[node] + number])
                else:
                    node = np.int64(-1)
            if trees[which]:
                if node == -1:
                    return at, which
                found[at, which] = -2 - node
            which += 1
        which = 0
        at += 1
    return at, which
