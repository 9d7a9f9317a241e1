"""Who the service runs with, kept on disk as it changes; after its own end that stays as it is.

Source: Clusterer, U5.
"""

from __future__ import annotations

from attrs import Factory, define, evolve

from joinproto.apps.clusterer.keeping.members import Members, MembersFile
from joinproto.apps.clusterer.keeping.stored import Kept
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import AskStatus, Down, NewConfig, Receive, Record

DOUBTFUL = (
    "its service was not stopped in order. If the others were not, as in a power cut, nobody knows"
    " whose data are the newest: the node that starts first may lack what another one has"
    " acknowledged, and the others give that up. Compare the data directories before the nodes"
    " start (`joinproto recover pick`), and start the node with the latest first"
)

LOOKS = (
    "its service was not stopped in order. Before one starts first, the nodes compare what is"
    " defined on each (queues, exchanges, users, policies), not the messages: who lacks something"
    " lets another one go first"
)


@define
class Memory:
    """`now`: what the file has.  All that changes it raises `StoreWriteFailed`.

    `boots`: while the service boots, who runs, as far as others have said; else None.
    """

    file: MembersFile
    now: Members = Factory(Members)
    boots: set[str] | None = None

    def load(self) -> None:
        """Read the file; raises `StoreError`."""
        self.now = self.file.load()

    def keep(self, members: Members) -> None:
        if members != self.now:
            self.file.keep(members)
            self.now = members

    @property
    def record(self) -> Record:
        """Return what a round is told."""
        return Record(members=frozenset(self.now.members), ran=frozenset(self.now.ran))

    def with_stored(self, kept: Kept | None) -> Record:
        """Return what a start is told: all that is on the disk."""
        return evolve(
            self.record,
            stored=None if kept is None else kept.held,
            identity=None if kept is None else kept.identity,
            blank=self.now.given_up,
        )

    def saw(self, event: object, config: Config) -> None:
        """Note what an event says of others; the service runs with `config`."""
        match event:
            case Receive(sender, NewConfig(held, achieved)):
                self._note(sender, runs=achieved and held.config == config)
            case Receive(sender, AskStatus()) | Down(sender):
                self._note(sender, runs=False)

    def _note(self, node: str, *, runs: bool) -> None:
        if self.boots is not None:
            (self.boots.add if runs else self.boots.discard)(node)
            return
        ran, members = {*self.now.ran} - {node}, {*self.now.members}
        if runs:
            ran, members = ran | {node}, members | {node}
        self.keep(evolve(self.now, ran=tuple(sorted(ran)), members=tuple(sorted(members))))

    def stopped(self) -> None:
        """The service was stopped in order: who ran then is known."""
        self.keep(evolve(self.now, stopped=True))

    def doubt(self, *, looks: bool) -> str:
        """Return what an operator should know before the service boots, "" where there is nothing.

        It ended with others, or before them, and none of them knows.  `looks`: the service can tell
        what lies on its disk.
        """
        if self.now.stopped is not False or self.now.given_up or len(self.now.ran) < 2:
            return ""
        return LOOKS if looks else DOUBTFUL

    def only(self, nodes: frozenset[str]) -> frozenset[str]:
        """Drop who is not among these; return them."""
        before = self.now
        members = tuple(sorted(nodes.intersection(before.members)))
        self.keep(
            evolve(before, members=members, ran=tuple(sorted(nodes.intersection(before.ran))))
        )
        return frozenset(before.members) - nodes

    def booted(self, me: str, former: set[str], forget: frozenset[str]) -> None:
        """The service runs beside those that said so before and while it booted; its data count."""
        ran = {me, *(self.boots or ())}
        members = (former | ran) - forget
        self.boots = None
        self.keep(Members(members=tuple(sorted(members)), ran=tuple(sorted(ran)), stopped=False))
