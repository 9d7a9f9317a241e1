"""The plan of a member of the join worlds: its possible actions, and duties its host neglects."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from attrs import frozen

from joinproto.check.events import Maybe
from joinproto.join.config import Config
from joinproto.join.ids import by_content
from joinproto.join.state import Setup
from joinproto.join.store import StoreRecord
from joinproto_worlds.join.words import Found, Lost


class HostLapse(Enum):
    """A duty of the host that can be left out, so that a search shows its purpose.

    The numbers are those of the duties in the guide for embedding.
    """

    PERSIST_FIRST = "sends-before-persisting"  # duty 1
    NO_BACKUP = "disk-restored"  # duty 5: an old record, which lacks the latest promises
    TRANSIENT_ID = "transient-keeps-its-id"  # duty 7
    FRAME_DURABLE = "told-before-durable"  # duty 10
    ALL_HAVE_IT = "acknowledged-early"  # duty 11: half of the members are enough
    UPDATE_DURABLE = "update-not-durable"  # duty 13
    SAME_MOMENT = "feeds-more-than-it-says"  # duty 14
    ONE_CONFIG = "electors-differ"  # duty 20
    SETS_ONCE = "register-forgets"  # duty 21


@frozen(cache_hash=True)
class Plan:
    """The constant part of a member.

    `views`, `frames`: the most views of the chain, and the most frames written in all its views.
    `rounds`: the most rounds of ballots.  `proposes`, `suspects`, `leaves`, `closes`: whether the
    member may propose, suspect a peer, leave, or close the cluster.  `forgets`: its disk may be
    emptied.  `greets`: it says hello when it starts, as over a new connection.  `hears`: its
    connections come and go; it asks a question over each new one, up to number `questions`.
    `reads`: a client reads at it, once.  `beats`: it sends heartbeats.  `is_cut`: it does not
    reach all others.  `steps`: in an update its host cuts and appends frame by frame; other hosts
    receive all data first, and then switch to it.
    `is_patient`, `hurries`: it waits for all answers, except after the views with these numbers.
    `lasts`: its wish to close the cluster outlives every view that leaves it out; otherwise the
    first such view ends the wish.  `mutation`: a rule that is left out; `lapses`: duties that its
    host neglects.
    """

    config: Config
    record: StoreRecord
    peers: frozenset[str]
    views: int
    frames: int
    proposes: bool = True
    suspects: bool = True
    leaves: bool = False
    closes: bool = True
    forgets: bool = False
    greets: bool = False
    hears: bool = False
    questions: int = 0
    reads: bool = False
    beats: bool = False
    is_cut: bool = False
    steps: bool = False
    is_patient: bool = False
    lasts: bool = False
    hurries: tuple[int, ...] = ()
    rounds: int = 1
    mutation: str | None = None
    lapses: frozenset[HostLapse] = frozenset()

    @property
    def setup(self) -> Setup:
        return Setup(self.config, digest=by_content)

    def links(self, in_reach: frozenset[str], asked: int) -> Iterator[Maybe]:
        """Yield the connections that may be lost or found, after this many questions."""
        for peer in sorted(self.peers):
            if peer in in_reach:
                yield Maybe(Lost(peer))
            elif asked < self.questions:
                yield Maybe(Found(peer))

    def __str__(self) -> str:
        return self.config.member
