"""What a primary does: publish, confirm, and lead those that follow it.

Each deed goes to each backup that follows, in order.  What was there before is copied beside it,
the last message of a queue first (H5), as long as the connection takes it; what a client takes
meanwhile is not copied any more.

Source: hot standby, H4, H5, H6, H8, H9.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from secrets import token_hex
from typing import TYPE_CHECKING

from attrs import define, field

from joinproto.standby.broker import Variant
from joinproto.standby.catch_up import Message, catch_up
from joinproto.standby.keeping.form import Declared, Deed, Deleted, Put, Taken, as_bytes
from joinproto.standby.replicates import Level
from joinproto.standby.serving.following import Following
from joinproto.standby.serving.peers import Envelope
from joinproto.standby.serving.queues import Held, LiveQueue

if TYPE_CHECKING:
    from joinproto.standby.serving.core import Core

log = logging.getLogger("joinproto.standby")

UNSENT_BYTES_MAX = 1 << 20
"""No more is copied while a connection has so much to send."""
COPY_AT_ONCE = 200


@define
class Asked:
    """What a backup said that it has, as it comes in.

    `is_whole`: it was up to date, and did not end since.  `queues`: identity and messages of each.
    """

    is_whole: bool
    queues: dict[str, tuple[str, list[str]]] = field(factory=dict)


@define(eq=False)
class PrimarySide:
    """One generation of a primary."""

    core: Core
    expected: tuple[str, ...]
    following: Following = field(init=False)
    live: dict[str, LiveQueue] = field(factory=dict)
    _asked: dict[str, Asked] = field(factory=dict)
    _to_copy: dict[str, deque[tuple[str, str]]] = field(factory=dict)
    _last: dict[str, int] = field(factory=dict)
    _made: int = 0

    def __attrs_post_init__(self) -> None:
        """Serve what is there; somebody may have had each message before."""
        self.following = Following.expecting(self.expected, self.core.now())
        for name, queue in self.core.contents.queues.items():
            live = self.live[name] = LiveQueue(name)
            for put in queue.in_order:
                live.offer(Held(put.id, put.position, put.body, is_redelivered=True))
            self._last[name] = max((put.position for put in queue.messages.values()), default=0)

    def close(self) -> None:
        """Serve nobody any more."""
        for live in self.live.values():
            live.is_gone = True

    @property
    def to_copy(self) -> int:
        """How many messages are still to be copied."""
        return sum(map(len, self._to_copy.values()))

    # -- clients ---------------------------------------------------------------------------

    def declare(self, name: str, *, durable: bool, level: Level | None = None) -> LiveQueue:
        """Make a queue."""
        found = self.core.decide_level(name, durable=durable, level=level)
        self._do(Declared(name, token_hex(8), durable, found))
        self.live[name] = LiveQueue(name)
        self._last[name] = 0
        return self.live[name]

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        """Put a message at the back."""
        core = self.core
        self._last[queue] += 1
        self._made += 1
        name = f"{core.kept.generation}.{core.settings.broker}.{self._made}"
        put = Put(queue, name, self._last[queue], body)
        self._do(put, durable=durable)
        live = self.live[queue]

        def confirmed() -> None:
            core.counts["confirmed"] += 1
            done("")
            live.offer(Held(put.id, put.position, put.body))

        self.following.add(confirmed)

    def take(self, queue: str, name: str, done: Callable[[], None]) -> None:
        """Remove a message."""
        found = self.core.contents.queues.get(queue)
        if found is None or name not in found.messages:
            done()
            return
        self._do(Taken(queue, name))

        def confirmed() -> None:
            self.core.counts["acknowledged"] += 1
            done()

        self.following.add(confirmed)

    def _do(self, deed: Deed, *, durable: bool = False) -> None:
        core = self.core
        level = self._level(deed)
        core.contents.do(deed, durable=durable)
        self.following.number += 1
        if self._replicates(deed, level):
            data = as_bytes(deed)
            for name in self.following.backups:
                core.peers.send(name, "deed", {"n": self.following.number}, data)
        else:
            for name in self.following.backups:
                core.peers.send(name, "deed", {"n": self.following.number})
        core.touched()

    def _level(self, deed: Deed) -> Level:
        if isinstance(deed, Declared):
            return deed.level
        found = self.core.contents.queues.get(deed.queue)
        return Level.NONE if found is None else found.declared.level

    def _replicates(self, deed: Deed, level: Level) -> bool:
        if isinstance(deed, Declared | Deleted):
            return level is not Level.NONE
        return level is Level.ALL

    # -- turns -----------------------------------------------------------------------------

    def turn(self) -> None:
        """All that was done is on the disk: confirm what the backups have, too."""
        self.following.durable = self.following.number
        self._copy()
        self._count()
        self.following.confirm()
        if not self.following.waits_for:
            self.core.settled()

    def tick(self, now: float, patience: float) -> None:
        """Give up those that are away for too long, durably, before anything else is confirmed."""
        gone = self.following.given_up(now, patience)
        if gone:
            log.warning("goes on without %s", ", ".join(sorted(gone)))
            self._set_counted(self.following.counted - gone)
            for name in gone:
                del self.following.away[name]
        if gone or any(self._to_copy.values()):
            self.core.touched()

    def _set_counted(self, names: Iterable[str]) -> None:
        """Have these, and only these, count as up to date; on the disk, then said to all."""
        view = tuple(sorted(names))
        self.core.keep(view=view)
        self.following.counted = set(view)
        self.core.say("view", generation=self.core.kept.generation, view=view)
        for name in view:
            if name in self.following.backups:
                self.core.peers.send(name, "counted", {"view": view})

    def _count(self) -> None:
        """Count those that have caught up."""
        level = {name for name, one in self.following.backups.items() if one.is_level}
        if level - self.following.counted:
            self._set_counted(self.following.counted | level)

    # -- backups ---------------------------------------------------------------------------

    def parted(self, name: str) -> None:
        """A session is gone."""
        self._asked.pop(name, None)
        self._to_copy.pop(name, None)
        self.following.parted(name, self.core.now())

    def heard(self, name: str, envelope: Envelope) -> None:
        """A backup says something."""
        facts = envelope.facts
        match envelope.kind:
            case "follow":
                self.parted(name)
                self._asked[name] = Asked(bool(facts["whole"]))
            case "has" if name in self._asked:
                queues = self._asked[name].queues
                _, ids = queues.setdefault(facts["queue"], (facts["identity"], []))
                ids += facts["ids"]
            case "followed" if name in self._asked:
                self._lead(name, self._asked.pop(name), facts["generation"], facts["cluster"])
            case "ack" if name in self.following.backups:
                self.following.backups[name].acked = int(facts["n"])
                self.core.touched()

    def _lead(self, name: str, asked: Asked, generation: int, cluster: str | None) -> None:
        core, peers = self.core, self.core.peers
        kept = core.kept
        if generation > kept.generation:
            core.step_down(f"{name} knows of generation {generation}")
            return
        if cluster not in (None, kept.cluster):
            log.error("%s has a store of another cluster: %s", name, cluster)
            peers.send(name, "foreign", {"cluster": kept.cluster})
            return
        if not asked.is_whole and name in self.following.counted:
            # It ended in between, and lost at least what was in its memory only.
            self._set_counted(self.following.counted - {name})
        counts = self.following.follows(name)
        peers.send(
            name,
            "lead",
            {
                "generation": kept.generation,
                "cluster": kept.cluster,
                "n": self.following.number,
                "counted": counts,
                "view": sorted(self.following.counted),
            },
        )
        to_copy: deque[tuple[str, str]] = deque()
        for queue in list(core.contents.queues.values()):
            if queue.declared.level is Level.NONE:
                continue
            declared = queue.declared
            peers.send(name, "copy", {}, as_bytes(declared))
            if declared.level is not Level.ALL:
                continue
            identity, ids = asked.queues.get(declared.queue, (declared.identity, []))
            found = catch_up(
                Variant.OURS,
                [Message(id=put.id, sequence=put.position) for put in queue.in_order],
                [Message(id=one, sequence=at) for at, one in enumerate(ids)],
                same_queue=identity == declared.identity,
            )
            for drop in () if found.replaced else found.drops:
                peers.send(name, "copy", {}, as_bytes(Taken(declared.queue, drop)))
            to_copy += [(declared.queue, one) for one in found.sends]
        for queue_name, (identity, _) in asked.queues.items():
            if queue_name not in core.contents.queues:
                peers.send(name, "copy", {}, as_bytes(Deleted(queue_name, identity)))
        self._to_copy[name] = to_copy
        log.info("%s follows, %d messages to copy", name, len(to_copy))
        core.touched()

    def _copy(self) -> None:
        """Copy more of what was there before, as far as connections take it."""
        for name, to_copy in list(self._to_copy.items()):
            backup = self.following.backups[name]
            for _ in range(COPY_AT_ONCE):
                if not to_copy or self.core.peers.unsent(name) > UNSENT_BYTES_MAX:
                    break
                queue, message = to_copy.popleft()
                found = self.core.contents.queues.get(queue)
                put = None if found is None else found.messages.get(message)
                if put is not None:
                    self.core.peers.send(name, "copy", {}, as_bytes(put))
            backup.to_copy = len(to_copy)
            if not to_copy:
                del self._to_copy[name]
                self.core.peers.send(name, "level", {"n": self.following.level(name)})
        if self._to_copy:
            self.core.again()
