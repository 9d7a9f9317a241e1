"""The record of a store, as one value, and facts derived from it.

No record says that its store is clean: this is derived from the record.  So no crash between two
writes can leave a store that says that it is clean, and is not.

Source: join protocol, 3.2 and 3.3; rules S1, S2, I3, R3.
"""

from __future__ import annotations

from attrs import evolve, field, frozen

from joinproto.codec.malformed import (
    Verbatim,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.join.ids import ViewId, short
from joinproto.join.lineage import VIEWS_KEPT, Lineage, follow, verify_position
from joinproto.join.view import Kind, Position, View, verify_successor
from joinproto.machine.vocabulary import Store as StoreState


@frozen(order=True)
class Ballot:
    """An attempt to choose the tip's successor.

    `round`: from 1; larger rounds are later.  `store_id`: the id of the proposer's store; a new
    disk has another id, so no two proposers or disks share a ballot.
    """

    round: int
    store_id: str

    def __attrs_post_init__(self) -> None:
        require_int("round", self.round, at_least=1)
        require_text("store_id of a ballot", self.store_id)


@frozen
class Accepted:
    """The view that a store accepted as the tip's successor, and the ballot in which it did."""

    ballot: Ballot
    view: View


@frozen(kw_only=True)
class StoreRecord:
    """The record of a store, which is written as one.

    `store_id`: drawn at random when the store is made.  `transient`: kept in memory only,
    and gone with the process (T).  `held`: the newest view it was ready in.  `position`: the
    last frame it has.  `update_unfinished`: an update into it was begun and has not ended, so
    its position is void.  `promised`, `accepted`: about the tip's successor.  `mark`:
    the tip from which the operator permits a restart after total failure (R3).
    """

    store_id: str
    transient: bool = False
    lineage: Lineage = field(factory=Lineage)
    held: ViewId | None = None
    position: Position | None = None
    update_unfinished: bool = False
    promised: Ballot | None = None
    accepted: Accepted | None = None
    mark: ViewId | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a record that no correct member writes; the lineage is verified already."""
        require_text("store_id", self.store_id)
        require_type("transient", self.transient, bool)
        require_type("lineage", self.lineage, Lineage)
        require_type("position", self.position, Position, or_none=True)
        require_type("update_unfinished", self.update_unfinished, bool)
        require_type("promised", self.promised, Ballot, or_none=True)
        require_type("accepted", self.accepted, Accepted, or_none=True)

        tip = self.lineage.tip
        verify_position("position of a store", self.position, self.lineage)
        if tip is None:
            unfinished = self.update_unfinished
            require("update_unfinished of an empty store", not unfinished, True, "False")
        _require_on_chain("held", self.held, self.lineage)
        _require_on_chain("mark", self.mark, self.lineage)
        if self.accepted is not None:
            is_promised = self.promised is not None and self.accepted.ballot <= self.promised
            require("promised", is_promised, self.promised, f"{self.accepted.ballot} or later")
            view = self.accepted.view
            if tip is None:
                require("accepted", view.kind is Kind.FOUND, Verbatim(str(view)), "a FOUND")
            else:
                verify_successor(tip, view)

    @property
    def tip(self) -> View | None:
        """Return the last view it knows; knowing it is not having its data."""
        return self.lineage.tip

    @property
    def state(self) -> StoreState:
        """Return the note's set to which the store belongs: T, E, C or D."""
        if self.transient:
            return StoreState.NONE
        if self.tip is None:
            return StoreState.EMPTY
        has_all = self.position == self.tip.position and not self.update_unfinished
        return StoreState.CLEAN if has_all and not self.tip.is_open else StoreState.DIRTY

    @property
    def is_marked(self) -> bool:
        """Return whether the operator's mark counts: it names the tip, not an older view."""
        return self.tip is not None and self.mark == self.tip.id

    def learn(self, lineage: Lineage, *, keep: int = VIEWS_KEPT) -> StoreRecord:
        """Return the record after it has learned where the chain continues.

        Promise, acceptance and mark are about the former tip, so they are dropped.  Raises
        `Malformed` unless this chain continues there.
        """
        known = follow(self.lineage, lineage, keep=keep)
        if known == self.lineage:
            return self
        return evolve(self, lineage=known, promised=None, accepted=None, mark=None)


def _require_on_chain(what: str, view_id: ViewId | None, lineage: Lineage) -> None:
    if view_id is None or lineage.number_of(view_id) is not None:
        return
    require(what, lineage.forgotten > 0, Verbatim(short(view_id)), "a view on this store's chain")
