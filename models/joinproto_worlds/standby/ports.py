"""A broker of a story, and what its effects are there: links, disks, a manager, clients.

Source: hot standby, H1 to H10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, evolve, frozen

from joinproto.standby.broker import Mark
from joinproto.standby.events import ViewWritten, Written
from joinproto.standby.messages import Change, Content, Has, Thing, View, Wired
from joinproto.standby.replica_state import ReplicaState, changed, declared, deleted
from joinproto_worlds.standby.story import Manager

if TYPE_CHECKING:
    from joinproto_worlds.standby.played import Played


@frozen
class Act:
    """One step: what happens, to whom, and to or from whom."""

    what: str
    who: str
    other: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.who, self.what, self.other)))


@frozen
class Disk:
    """What lies on the disk of a broker, whether it runs or not; `view`, `stock`: what it kept."""

    view: View = View()
    stock: ReplicaState = Factory(ReplicaState)
    mark: Mark = Mark.CLEAN

    @property
    def read(self) -> ReplicaState:
        """Return its stock as who starts reads it: another object, as it is in another process."""
        return ReplicaState(things={**self.stock.things}, queues={**self.stock.queues})


@frozen
class Ports:
    """Of one broker of a story."""

    it: Played
    name: str

    def send(self, to: str, content: Content) -> None:
        it, name = self.it, self.name
        ends = (name + "?" if it.story.apart and isinstance(content, Wired) else name, to)
        under_way = it.links.get(ends, ())
        if (name, to) not in it.links:
            return
        if isinstance(content, Has) and under_way and isinstance(under_way[-1], Has):
            under_way = under_way[:-1]
        it.links[ends] = (*under_way, content)

    def confirm(self, token: int) -> None:
        self.it.confirmed |= {token}
        self.it.newest = max(self.it.newest, self.it.brokers[self.name].view.generation)

    def write(self, token: int, changes: Sequence[Change]) -> None:
        waiting = self.it.writes.get(self.name, ())
        self.it.writes[self.name] = (*waiting, (token, tuple(changes)))
        if not self.it.story.halfway:
            self.written()

    def written(self) -> None:
        """What was to be written is on the disk, and the machine hears so."""
        waiting = self.it.writes.pop(self.name, ())
        self._append(changes for _, some in waiting for changes in some)
        for token, _ in waiting:
            self.it.tell(self.name, Written(token))

    def write_view(self, view: View) -> None:
        if self.it.story.manager is Manager.BUILT_IN:
            self.it.writing[self.name] = view
        else:
            self.keep_view(view)
            self.it.tell(self.name, ViewWritten(view))

    def turn(self, why: str) -> None:
        self.it.writing.pop(self.name, None)
        self._append(change for _, some in self.it.writes.pop(self.name, ()) for change in some)
        self.it.unlink(self.name)

    def leave(self, broker: str, why: str) -> None:
        self.it.part(self.name, broker)

    def _now(self, **changes: Any) -> None:
        self.it.disks[self.name] = evolve(self.it.disks[self.name], **changes)

    def _append(self, changes: Iterable[Change]) -> None:
        stock = self.it.disks[self.name].stock
        for change in changes:
            stock = changed(self.it.brokers[self.name].who.practice, stock, change)
        self._now(stock=stock)

    def _behind(self) -> ReplicaState:
        """Return the stock on the disk once all that waits for it is there, too."""
        waiting = self.it.writes.get(self.name, ())
        if waiting:
            self._append(change for _, some in waiting for change in some)
            self.it.writes[self.name] = tuple((token, ()) for token, _ in waiting)
        return self.it.disks[self.name].stock

    def keep_view(self, view: View) -> None:
        self._behind()
        self._now(view=view)

    def keep_mark(self, mark: Mark) -> None:
        self._behind()
        self._now(mark=mark)

    def keep(self, changes: Sequence[Change]) -> None:
        self._behind()
        self._append(changes)

    def make(self, thing: Thing) -> None:
        self._now(stock=declared(self._behind(), thing))

    def remove(self, thing: Thing) -> None:
        self._now(stock=deleted(self._behind(), thing))

    def _seen(self, *_: object) -> None:
        """Nothing more is done."""

    answer = serve = _seen
