"""A broker's knowledge of the other brokers, and the conclusions from it.

Each broker sends its report to all others whenever the report changes.  A backup that hears of a
primary opens a link to it; a primary that hears of a younger generation stops serving.

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

    role: Annotated[Role, "the broker's role"] = Role.CONNECTING
    # Earlier versions did not send `standing` and `mark`.
    standing: Annotated[Role, Absent(Role.CONNECTING), "the role that counts at a promotion"] = (
        Role.CONNECTING
    )
    mark: Annotated[Mark | None, Absent(), "the mark of its store when it started"] = None
    view: Annotated[View, "the youngest view that it knows"] = View()
    cluster: Annotated[
        str | None, "the cluster to which its store belongs; null: to no cluster yet"
    ] = None

    @property
    def serves(self) -> bool:
        return self.role in SERVING


def said_by(broker: Broker, cluster: str | None = None) -> PeerReport:
    """Return a broker's report about itself.  `cluster`: the cluster of its store."""
    return PeerReport(
        role=broker.role,
        standing=broker.standing,
        view=broker.view,
        mark=broker.mark,
        cluster=cluster,
    )


@frozen(kw_only=True)
class PeerReports:
    """A broker's knowledge of the others.

    `others`: the last report of each other broker, None without a session with it.  `cluster`: the
    cluster to which our store belongs, None as long as it belongs to none.  `left`: brokers with
    which this broker ended its link; it makes no new link to them until their report changes.
    """

    others: Mapping[str, PeerReport | None]
    cluster: str | None = None
    left: frozenset[str] = frozenset()

    def ours(self) -> dict[str, PeerReport]:
        """Return the reports of the brokers that have a session and may be of our cluster."""
        return {
            name: one
            for name, one in self.others.items()
            if one is not None
            and (None in (one.cluster, self.cluster) or one.cluster == self.cluster)
        }

    def primary(self) -> str | None:
        """Return the other broker that serves, or None.

        Of several, return the one with the youngest view.
        """
        there = {name: one.view.age for name, one in self.ours().items() if one.serves}
        return max(there, key=lambda name: there[name]) if there else None

    def peers(self) -> tuple[Peer, ...]:
        """Return the others' reports in the form that a promotion takes.

        A broker without a session, or of another cluster, has the role None.
        """
        ours = self.ours()
        return tuple(_peer(name, ours.get(name)) for name in self.others)

    def stores(self, me: Broker) -> dict[str, Store | None]:
        """Return the contents of the stores of all brokers, None for a store that was not seen."""
        ours = {**self.ours(), me.who.me: said_by(me)}
        return {name: _store(name, ours.get(name)) for name in (me.who.me, *self.others)}


def _peer(name: str, other: PeerReport | None) -> Peer:
    if other is None:
        return Peer(name=name, role=None)
    # H8: a backup that lost its primary is still better than a broker that has only started.
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
    """Return the knowledge after a report from this broker, or after a new session (`said` None).

    A broker in `left` may be followed again after a new session, or once its role or view changes.
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
    """The conclusion from a report.

    `event`: an event for our own broker.  `problem`: a problem that only an operator can solve, or
    "".  `is_rival`: the problem is a second primary of the same generation.
    """

    event: Superseded | Gone | None = None
    problem: str = ""
    is_rival: bool = False


def learned(me: Broker, around: PeerReports, name: str) -> Learned:
    """Return the conclusion from the last report of the broker `name`."""
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
            why = (
                f"{name} is also primary in generation {mine.generation}: stop one of the two"
                " brokers"
            )
            return Learned(problem=why, is_rival=True)
        return Learned()
    if me.follows == name:
        return Learned() if other.serves else Learned(Gone(name))
    followed = around.others.get(me.follows or "")
    is_younger = followed is not None and other.view.generation > followed.view.generation
    return Learned(Gone(me.follows)) if me.follows and is_younger and other.serves else Learned()


def to_follow(me: Broker, around: PeerReports) -> str | None:
    """Return the primary to which this broker must make a link now, None if there is none."""
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

    Return None if the cluster is not known yet.  `teller`: the broker that this one followed when
    it got the view.  `drawn`: the name that a first primary gives to its cluster.
    """
    if around.cluster is not None:
        return around.cluster
    if view.primary == me.who.me:
        return drawn
    other = around.others.get(teller or view.primary)
    return None if other is None else other.cluster
