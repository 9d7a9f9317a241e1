"""Given members as views of one chain, with defaults for facts that are not given.

See `rules.py`, which asks the shipped tables about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import TypeAlias

from attrs import asdict, define, field, frozen

from joinproto.join.answers import Answer
from joinproto.join.lineage import Lineage
from joinproto.join.view import Kind, Position, Seat, View
from joinproto.machine.vocabulary import Options, Signature, Status, Store

# The frame number where a store's data ends if that is not given; no given number is so large.
SOMEWHERE = 2**62


@frozen
class GivenPosition:
    """A position as given: the view's name, and the number of the frame, 0 for no frame."""

    view: str
    seq: int


@frozen
class ChainStatus(Status):
    """A status with the fields for these rules alone.

    `lineage`: names of views, the oldest first, the tip last; empty if not given.  The initial
    signature, and the final signature of a clean store, are added if they are left out.
    `position`: None with `has_position` means no frame.  `electors`: ids of all members that may
    vote, the absent ones too; None means all given members.
    """

    lineage: tuple[str, ...] = field(default=(), kw_only=True)
    position: GivenPosition | None = field(default=None, kw_only=True)
    has_position: bool = field(default=False, kw_only=True)
    electors: tuple[str, ...] | None = field(default=None, kw_only=True)


def as_chain_status(status: Status) -> ChainStatus:
    """Return the status as a `ChainStatus`; fields that are not given have their defaults."""
    if isinstance(status, ChainStatus):
        return status
    return ChainStatus(**asdict(status, recurse=False))


Path: TypeAlias = tuple[Signature | None, ...]
"""Names of views from the founding on; None means the running view, which has no name."""


@define(eq=False)
class HypotheticalView:
    """The given members, with the path of each store.

    `closes`: for the id of each CLOSE, the position where it starts.
    """

    members: tuple[ChainStatus, ...]
    paths: tuple[Path, ...]
    closes: dict[str, Position | None]

    @classmethod
    def of(cls, given: tuple[Status, ...]) -> HypotheticalView:
        """Return the members with their paths, given or by default as `rules.py` says."""
        members = tuple(map(as_chain_status, given))
        told = tuple(map(given_path, members))
        paths = tuple(
            path or _default_path(status, told) for status, path in zip(members, told, strict=True)
        )
        found = cls(members, paths, {})
        found._find_closes()
        return found

    def _find_closes(self) -> None:
        ends: dict[str, list[tuple[int, int]]] = {}
        for at, (status, path) in enumerate(zip(self.members, self.paths, strict=True)):
            final = status.final
            if final is None or final not in path[1:]:
                continue
            number = _index_of(path, final) + 1
            ids = ids_of(path[:number])
            self.closes.setdefault(ids[-1], Position(ids[-2], SOMEWHERE))
            if status.store is Store.CLEAN and status.has_position:
                ends.setdefault(ids[-1], []).append((_age(path, status), at))
        for close, told in ends.items():
            # If two stores give different ends, the store with less data is not clean (S2).
            _, at = max(told, key=lambda item: (item[0], _seq(self.members[item[1]])))
            self.closes[close] = _given_position(self.members[at], self.paths[at])

    def seat(self, at: int) -> Seat:
        """Return the member's seat; seats are ordered as the members are."""
        return Seat(f"{at:08}", f"{at:08}")

    def seats_of(self, view_id: str) -> frozenset[Seat]:
        """Return the seats whose stores know this view."""
        return frozenset(
            self.seat(at) for at, path in enumerate(self.paths) if view_id in ids_of(path)
        )

    def is_closed(self, path: Path) -> bool:
        """Return whether the last view of this path is a CLOSE."""
        return ids_of(path)[-1] in self.closes

    @lru_cache(maxsize=64)  # noqa: B019  a few views in all
    def lineage(
        self, path: Path, *, electors: frozenset[Seat], options: str, seats: frozenset[Seat] | None
    ) -> Lineage:
        """Return the lineage of a path.

        `seats`: the members of each view; None means the members whose stores know the view.
        """
        ids = ids_of(path)
        views: list[View] = []
        for number, view_id in enumerate(ids, start=1):
            parent = views[-1] if views else None
            members = self.seats_of(view_id) if seats is None else seats
            kind = _kind(parent, view_id in self.closes)
            position: Position | None = None
            if kind is Kind.CLOSE:
                position = self.closes[view_id]
            elif parent is not None and kind is Kind.RESTART:
                position = parent.position
            elif parent is not None:
                position = Position(parent.id, SOMEWHERE + number)
            views.append(
                View(
                    id=view_id,
                    parent=None if parent is None else parent.id,
                    number=number,
                    kind=kind,
                    members=members | electors if parent is None else members,
                    electors=electors,
                    position=position,
                    activated=kind in (Kind.CHANGE, Kind.CLOSE),
                    wait_for=1,
                    options_digest=options,
                    cluster_name="cluster",
                    nonce="-",
                    time=0,
                )
            )
        return Lineage(tuple(views), ids[0] if ids else None)

    def answer(self, at: int, tip: View | None) -> Answer:
        """Return the member's answer to a ballot about `tip`."""
        status, path = self.members[at], self.paths[at]
        ids = ids_of(path)
        held = next((view_id for view_id in reversed(ids) if view_id not in self.closes), None)
        position: Position | None = None
        unfinished = False
        if status.has_position:
            position = _given_position(status, path)
        elif status.store is Store.CLEAN:
            position = self.closes[ids[-1]]
        elif held is not None:
            # The store is dirty, and may lack frames before the CLOSE.
            position = Position(held, SOMEWHERE)
            unfinished = tip is not None and not tip.is_open
        return Answer(
            seat=self.seat(at),
            transient=status.store is Store.NONE,
            held=held,
            position=position,
            update_unfinished=unfinished,
            options=digest_of(status.options, status.wait_for),
        )


@lru_cache(maxsize=256)
def ids_of(path: Path) -> tuple[str, ...]:
    """Return the ids of the views on this path, each made of all names up to its view."""
    found: list[str] = []
    for name in path:
        parent = found[-1] if found else ""
        found.append(_hash(f"{parent} {name!r}"))
    return tuple(found)


def digest_of(options: Options, wait_for: int) -> str:
    """Return the digest of the options and N, which must be the same in all members (I2)."""
    return _hash(f"{options!r} {wait_for}")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _kind(parent: View | None, is_close: bool) -> Kind:
    if parent is None:
        return Kind.FOUND
    if is_close:
        return Kind.CLOSE
    return Kind.CHANGE if parent.is_open else Kind.RESTART


def given_path(status: ChainStatus) -> Path:
    names: Path = status.lineage
    if not names or status.initial is None:
        return ()
    path = names if names[0] == status.initial else (status.initial, *names)
    is_whole = len(path) > 1 and path[-1] == status.final
    return path if status.store is not Store.CLEAN or is_whole else (*path, status.final)


def _default_path(status: Status, told: Iterable[Path]) -> Path:
    if status.initial is None:
        return ()
    if status.final is None:
        return (status.initial,)
    for path in told:
        if path and path[0] == status.initial and status.final in path[1:]:
            return path[: _index_of(path, status.final) + 1]
    return (status.initial, status.final)


def _given_position(status: ChainStatus, path: Path) -> Position | None:
    at = status.position
    if at is None or at.seq == 0:
        return None
    if at.view in path:
        return Position(ids_of(path)[_index_of(path, at.view)], at.seq)
    return Position(_hash(f"a view elsewhere: {at.view!r}"), at.seq)


def _index_of(path: Path, name: Signature) -> int:
    return len(path) - 1 - path[::-1].index(name)


def _age(path: Path, status: ChainStatus) -> int:
    """Return the number of the view in which the given position lies, 0 for none."""
    at = status.position
    return 0 if at is None or at.view not in path else _index_of(path, at.view) + 1


def _seq(status: ChainStatus) -> int:
    return 0 if status.position is None else status.position.seq
