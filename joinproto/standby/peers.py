"""A broker's knowledge of the others, and facts derived from it.

Each broker sends each other its report whenever that changes.  A backup that hears of a primary
makes a link to it; a primary that hears of a younger generation no longer serves.

Source: hot standby, H2, H3, H8 to H10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import Absent
from joinproto.machine.values import evolve
from joinproto.standby.broker import Mark, Role, Store
from joinproto.standby.chain import seen
from joinproto.standby.events import Gone, Superseded
from joinproto.standby.machine import Broker
from joinproto.standby.messages import View
from joinproto.standby.promote import Peer

SERVING = (Role.PRIMARY, Role.RECOVERING)


@frozen(kw_only=True)
class PeerReport:
    """A broker's report about itself."""

    role: Annotated[Role, "what it is"] = Role.CONNECTING
    # Earlier versions did not say these two.
    standing: Annotated[Role, Absent(Role.CONNECTING), "what it is promoted as"] = Role.CONNECTING
    mark: Annotated[Mark | None, Absent(), "of its store when it started"] = None
    view: Annotated[View, "the youngest that it knows"] = View()
    cluster: Annotated[str | None, "to which its store belongs; null: to none yet"] = None

    @property
    def serves(self) -> bool:
        return self.role in SERVING


def said_by(broker: Broker, cluster: str | None = None) -> PeerReport:
    """Return a broker's report about itself; `cluster`: the one that its store belongs to."""
    return PeerReport(
        role=broker.role,
        standing=broker.standing,
        view=broker.view,
        mark=broker.mark,
        cluster=cluster,
    )


@frozen(kw_only=True)
class PeerReports:
    """`others`: each other broker's last report; None if there is no session with it.

    `cluster`: to which our store belongs; None means to none yet.  `left`: brokers to which there
    is no link until they say something new.
    """

    others: Mapping[str, PeerReport | None]
    cluster: str | None = None
    left: frozenset[str] = frozenset()

    def ours(self) -> dict[str, PeerReport]:
        """Return those that are there, of our cluster, or of none yet."""
        return {
            name: one
            for name, one in self.others.items()
            if one is not None
            and (None in (one.cluster, self.cluster) or one.cluster == self.cluster)
        }

    def primary(self) -> str | None:
        """Return the other broker that serves, as far as it is known."""
        there = {name: one.view.age for name, one in self.ours().items() if one.serves}
        return max(there, key=lambda name: there[name]) if there else None

    def peers(self) -> tuple[Peer, ...]:
        """Return the others' reports in the form for a promotion; one that is away has none."""
        ours = self.ours()
        return tuple(_peer(name, ours.get(name)) for name in self.others)

    def stores(self, me: Broker) -> dict[str, Store | None]:
        """Return the contents of the stores of all brokers, None for one that was not seen."""
        ours = {**self.ours(), me.who.me: said_by(me)}
        return {name: _store(name, ours.get(name)) for name in (me.who.me, *self.others)}


def _peer(name: str, other: PeerReport | None) -> Peer:
    if other is None:
        return Peer(name=name, role=None)
    # H8: a backup that lost its primary is still better than one that has only just started.
    lost = other.role is Role.CONNECTING and other.standing is Role.BACKUP
    return Peer(
        name=name,
        role=other.standing if lost else other.role,
        generation=other.view.generation,
        number=other.view.number,
        was_primary=other.view.primary == name,
        lost=lost,
    )


def _store(name: str, one: PeerReport | None) -> Store | None:
    if one is None or one.mark is None:
        return None
    return seen(name, one.role, one.standing, one.mark, one.view)


# -- conclusions ----------------------------------------------------------------------------------


def met(around: PeerReports, name: str, said: PeerReport | None = None) -> PeerReports:
    """Return the knowledge after a new session with this broker, or a report from it.

    One that was left may be followed again once it says something new.
    """
    before = around.others[name]
    now = said or PeerReport()
    is_new = said is None or before is None or (before.role, before.view) != (now.role, now.view)
    left = around.left - {name} if is_new else around.left
    return evolve(around, others={**around.others, name: now}, left=left)


def parted(around: PeerReports, name: str) -> PeerReports:
    """Return the knowledge after the end of the session with this broker."""
    return evolve(around, others={**around.others, name: None})


@frozen
class Learned:
    """`event`: for our machine; `problem`: one that only a person can solve."""

    event: Superseded | Gone | None = None
    problem: str = ""
    is_rival: bool = False


def learned(me: Broker, around: PeerReports, name: str) -> Learned:
    """Return the facts that follow from this broker's last report."""
    ours = around.ours()
    if name not in ours:
        other = around.others[name]
        cluster = None if other is None else other.cluster
        return Learned(problem=f"{name} has a store of another cluster: {cluster}")
    other, mine = ours[name], me.view
    if me.serves and other.serves:
        if other.view.generation > mine.generation:
            return Learned(Superseded(other.view))
        if other.view.generation == mine.generation:
            # Each may have confirmed messages that the other lacks: only an operator can choose.
            why = f"{name} is primary in generation {mine.generation}, too: stop one of both"
            return Learned(problem=why, is_rival=True)
        return Learned()
    if me.follows == name:
        return Learned() if other.serves else Learned(Gone(name))
    followed = around.others.get(me.follows or "")
    is_younger = followed is not None and other.view.generation > followed.view.generation
    return Learned(Gone(me.follows)) if me.follows and is_younger and other.serves else Learned()


def to_follow(me: Broker, around: PeerReports) -> str | None:
    """Return the primary to which this broker makes a link now; None means to none."""
    if me.serves or me.follows is not None:
        return None
    fits = [
        (other.view.age, name)
        for name, other in around.ours().items()
        if other.serves and name not in around.left and other.view.generation >= me.view.generation
    ]
    return max(fits)[1] if fits else None


def cluster_of(
    me: Broker, around: PeerReports, view: View, teller: str | None, *, drawn: str
) -> str | None:
    """Return the cluster to which our store belongs once it keeps this view.

    `teller`: the broker this one followed when it heard of it; `drawn`: a first primary's name for
    it.
    """
    if around.cluster is not None:
        return around.cluster
    if view.primary == me.who.me:
        return drawn
    other = around.others.get(teller or view.primary)
    return None if other is None else other.cluster
