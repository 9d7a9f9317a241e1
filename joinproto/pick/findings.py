"""The evidence of several stores: the rows for the verdict table, and sentences for people."""

from __future__ import annotations

from attrs import field, frozen

from joinproto.join.lineage import Lineage
from joinproto.join.view import View
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.table import StoreRow


@frozen(kw_only=True)
class MissingStore:
    """A store that was not supplied, or cannot be read, and why it matters.

    `is_elector`: its member is an elector of the newest view.  `is_member`: its member is in the
    newest view that may have been active.  `may_know_more`: its member may have chosen a later
    view, together with the members of other missing stores.  `may_have_data`: no supplied store has
    every committed frame, so this store may have them.  `was_older`: by the given stores its member
    stopped before others, but only the store itself can tell whether its member was started alone
    later.  `text`: replaces the text of `why`, for brokers without views.
    """

    member: str = field(kw_only=False)
    store_id: str = field(kw_only=False)
    is_elector: bool = False
    is_member: bool = False
    may_know_more: bool = False
    may_have_data: bool = False
    was_older: bool = False
    text: str = ""

    @property
    def why(self) -> str:
        """Return why the missing store matters, in words."""
        if self.text:
            return self.text
        if self.was_older:
            return "it may have been started again after the others stopped, and have run alone"
        if self.may_know_more:
            return "it may know a later view, with frames that were acknowledged there"
        if self.may_have_data:
            return "it may have every committed frame, and no store here has them"
        return "it may have more frames, which were never acknowledged"


@frozen(kw_only=True)
class StoreFork:
    """A store that is not on the longest branch: the fork, and the views of each branch after it.

    `common_number`, `common`: number and short id of the last common view.  `common_max`: the
    highest number that this view can have, if the views between were forgotten.  `own_after`,
    `longest_after`: the later views, or data, of this store and of the longest branch.
    """

    name: str = field(kw_only=False)
    common_number: int = 0
    common_max: int = 0
    common: str | None = None
    own_after: tuple[str, ...] = ()
    longest_after: tuple[str, ...] = ()


@frozen(kw_only=True)
class ChainPlace:
    """The relation of a store to the newest chain.

    `order`: the relation of its data to the newest data.  `covers`: it has every committed frame.
    `views_behind`: None if unknown, or if the store is not on the chain.
    """

    name: str = field(kw_only=False)
    order: str
    views_behind: int | None = None
    covers: bool


@frozen(kw_only=True)
class Findings:
    """All that a set of stores of at most one cluster shows.

    `lines`: the evidence, in words.  `active`: the newest view in which clients may have been
    served.  `covering`: names of the stores that have every committed frame.  `latest`: the
    covering stores with the most data.
    `clean`: the stores with all data of a cluster that was stopped in order.  `pending`: work that
    a start completes, in words.  `is_safe`: a restart from `latest` loses no acknowledged frame;
    this can hold without a proof that `latest` is right.  `has_chain`: the stores are joinproto's.
    """

    rows: tuple[StoreRow, ...]
    lines: tuple[str, ...] = ()
    lineage: Lineage = field(factory=Lineage, repr=False)
    active: View | None = None
    covering: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    missing: tuple[MissingStore, ...] = ()
    forks: tuple[StoreFork, ...] = ()
    places: tuple[ChainPlace, ...] = ()
    pending: tuple[str, ...] = ()
    is_safe: bool = False
    has_chain: bool = False


def row_of(candidate: Candidate) -> StoreRow:
    """Return the row of a store before it is compared with others."""
    is_readable = candidate.state.is_readable
    return StoreRow(
        id=candidate.name,
        is_in_use=candidate.state is State.IN_USE,
        is_unknown=candidate.state is State.UNKNOWN,
        is_readable=is_readable,
        has_data=is_readable and candidate.state is not State.EMPTY,
        cluster=candidate.cluster,
    )
