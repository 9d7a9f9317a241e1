"""The evidence of several stores: the rows for the table, and the sentences next to it."""

from __future__ import annotations

from attrs import field, frozen

from joinproto.join.lineage import Lineage
from joinproto.join.view import View
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.table import Row


@frozen(kw_only=True)
class Missing:
    """A store that was not supplied, or cannot be read, and its possible evidence.

    `is_member`: of the newest view that may have been active.  `may_know_more`: with others that
    are missing it may have chosen a later view.  `may_have_data`: no supplied store has every
    committed frame, so this one may be the one that has.  `was_older`: by the given stores it
    stopped before others; whether it was started alone after them, only it can tell.  `said`: this
    instead, where there are no views.
    """

    member: str = field(kw_only=False)
    store_id: str = field(kw_only=False)
    is_elector: bool = False
    is_member: bool = False
    may_know_more: bool = False
    may_have_data: bool = False
    was_older: bool = False
    said: str = ""

    @property
    def why(self) -> str:
        """Return its possible effect, in words."""
        if self.said:
            return self.said
        if self.was_older:
            return "it may have been started again after the others stopped, and have run alone"
        if self.may_know_more:
            return "it may know a later view, with frames that were acknowledged there"
        if self.may_have_data:
            return "it may have every committed frame, and no store that is here has"
        return "it may end later, with frames that were never acknowledged"


@frozen(kw_only=True)
class Fork:
    """A store on another branch than the longest: the fork, and the frames of each beyond it."""

    name: str = field(kw_only=False)
    common_number: int = 0
    common_max: int = 0
    common: str | None = None
    one_beyond: tuple[str, ...] = ()
    other_beyond: tuple[str, ...] = ()


@frozen(kw_only=True)
class Place:
    """The relation of a store to the newest chain.  `views_behind`: None if the store is not on it,
    or if not known.
    """

    name: str = field(kw_only=False)
    order: str
    views_behind: int | None = None
    covers: bool


@frozen(kw_only=True)
class Findings:
    """All that a set of stores of at most one cluster shows.

    `latest`: names of those with the most data among those that have every committed frame.
    `pending`: work that a start will complete by itself, in words.  `is_safe`: a restart from
    `latest` loses no frame that was acknowledged; this can be so without a proof that they are the
    latest.  `has_chain`: they are stores of joinproto.
    """

    rows: tuple[Row, ...]
    lines: tuple[str, ...] = ()
    lineage: Lineage = field(factory=Lineage, repr=False)
    active: View | None = None
    covering: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    forks: tuple[Fork, ...] = ()
    places: tuple[Place, ...] = ()
    pending: tuple[str, ...] = ()
    is_safe: bool = False
    has_chain: bool = False


def row_of(candidate: Candidate) -> Row:
    """Return the row of a store before it is compared with others."""
    is_readable = candidate.state.is_readable
    return Row(
        id=candidate.name,
        is_in_use=candidate.state is State.IN_USE,
        is_unknown=candidate.state is State.UNKNOWN,
        is_readable=is_readable,
        has_data=is_readable and candidate.state is not State.EMPTY,
        cluster=candidate.cluster,
    )
