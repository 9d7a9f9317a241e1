"""A broker of a story, and what its effects are there: links, disks, a manager, clients.

Source: hot standby, H1 to H10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, frozen

from joinproto.standby.broker import Mark
from joinproto.standby.events import ViewWritten, Written
from joinproto.standby.messages import Change, Content, Has, Thing, View, Wired
from joinproto.standby.stock import Stock, changed, declared, deleted
from joinproto_worlds.standby.story import Manager

if TYPE_CHECKING:
    from joinproto_worlds.standby.played import Played


@frozen
class Act:
    """One step: what happens, to whom, and to or from whom.

    `after`: it dies when it has done so many effects; 0: it does not.  `arrives`: what it had sent.
    """

    what: str
    who: str
    other: str = ""
    after: int = 0
    arrives: bool = False

    def __str__(self) -> str:
        dies = f", and dies after {self.after} of its effects" if self.after else ""
        arrives = "; what it sent arrives" if self.arrives else ""
        return " ".join(filter(None, (self.who, self.what, self.other))) + dies + arrives


@frozen
class Disk:
    """What a stopped broker has."""

    view: View
    stock: Stock
    mark: Mark


@define
class Dying:
    """A broker that dies after `left` more effects; `kept`: what its disk has by then."""

    name: str
    kept: Disk
    left: int
    is_dead: bool = False


EFFECTS_MAX = 6
"""No step in these stories has more effects."""
WHOLE = ("dies", "stops in order", "is cut off", "is back in the network", "is marked clean")


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
        self.keep(changes)
        self.it._do(self.name, Written(token))

    def write_view(self, view: View) -> None:
        if self.it.story.manager is Manager.BUILT_IN:
            self.it.writing[self.name] = view
        else:
            self._keeps(view=view)
            self.it._do(self.name, ViewWritten(view))

    def turn(self, why: str) -> None:
        self.it.writing.pop(self.name, None)
        self.it._unlink(self.name)

    def leave(self, broker: str, why: str) -> None:
        self.it._part(self.name, broker)

    def _keeps(self, **changes: Any) -> None:
        """Have it on the disk of a broker that is about to die; else it has what the broker has."""
        dying = self.it.dying
        if dying is not None and dying.name == self.name:
            dying.kept = evolve(dying.kept, **changes)

    @property
    def _stock(self) -> Stock:
        dying = self.it.dying
        return Stock() if dying is None else dying.kept.stock

    def keep_view(self, view: View) -> None:
        self._keeps(view=view)

    def keep_mark(self, mark: Mark) -> None:
        self._keeps(mark=mark)

    def keep(self, changes: Sequence[Change]) -> None:
        stock = self._stock
        for change in changes:
            stock = changed(self.it.brokers[self.name].who.practice, stock, change)
        self._keeps(stock=stock)

    def make(self, thing: Thing) -> None:
        self._keeps(stock=declared(self._stock, thing))

    def remove(self, thing: Thing) -> None:
        self._keeps(stock=deleted(self._stock, thing))

    def _seen(self, *_: object) -> None:
        """Nothing more is done."""

    answer = serve = _seen
