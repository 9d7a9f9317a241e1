"""What a backup does: it says what it has, and does what its primary did, in the same order.

Source: hot standby, H2, H4, H5, H6, H9.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from attrs import define

from joinproto.errors import PeerError
from joinproto.standby.broker import Mark, Role
from joinproto.standby.keeping.form import Deed, NotKept, Put, deed_of
from joinproto.standby.replicates import Level
from joinproto.standby.serving.bodies import is_durable
from joinproto.standby.serving.peers import Envelope

if TYPE_CHECKING:
    from joinproto.standby.serving.core import Core

log = logging.getLogger("joinproto.standby")

IDS_IN_ONE = 5_000


@define(eq=False)
class BackupSide:
    """One that follows `primary`, from now on until their session ends."""

    core: Core
    primary: str
    _done: int = 0
    _acked: int = -1
    _is_led: bool = False

    def __attrs_post_init__(self) -> None:
        """Say what is here; then the primary says what follows."""
        core = self.core
        peers, kept = core.peers, core.kept
        # What the former primary did in this turn is on the disk before it is said to be here.
        core.contents.write()
        peers.send(self.primary, "follow", {"whole": core.role is Role.BACKUP})
        for queue in core.contents.queues.values():
            declared = queue.declared
            if declared.level is Level.NONE:
                continue
            ids = [put.id for put in queue.in_order]
            for first in range(0, max(1, len(ids)), IDS_IN_ONE):
                facts = {
                    "queue": declared.queue,
                    "identity": declared.identity,
                    "ids": ids[first : first + IDS_IN_ONE],
                }
                peers.send(self.primary, "has", facts)
        end = {"generation": kept.generation, "cluster": kept.cluster}
        peers.send(self.primary, "followed", end)

    def parted(self) -> None:
        """The session is gone: it stays what it was (H8)."""
        self.core.contents.write()
        if self.core.role is Role.CATCHUP:
            log.info("lost its primary while it caught up")

    def heard(self, envelope: Envelope) -> None:
        """The primary says something."""
        facts = envelope.facts
        match envelope.kind:
            case "lead":
                self._led(envelope)
            case "deed" if self._is_led:
                if envelope.body:
                    self._do(envelope.body)
                self._done = int(facts["n"])
                self.core.touched()
            case "copy" if self._is_led:
                self._do(envelope.body)
                self.core.touched()
            case "level" if self._is_led:
                self._done, self._acked = int(facts["n"]), -1
                self.core.touched()
            case "counted" if self._is_led:
                self.core.contents.write()
                self.core.keep(caught_up=True, dropped=False, view=tuple(facts["view"]))
                self.core.mark = Mark.CLEAN
                self.core.become(Role.BACKUP)
            case "foreign":
                log.error(
                    "the primary is of cluster %s, this store of %s: nothing is copied",
                    facts["cluster"],
                    self.core.kept.cluster,
                )

    def turn(self) -> None:
        """What was done is on the disk: say so."""
        if self._is_led and self._done != self._acked:
            self._acked = self._done
            self.core.peers.send(self.primary, "ack", {"n": self._done})

    def _led(self, envelope: Envelope) -> None:
        core, facts = self.core, envelope.facts
        if int(facts["generation"]) < core.kept.generation:
            core.peers.end(self.primary)
            return
        counted = bool(facts["counted"])
        kept = core.kept
        # Whoever is not counted any more was up to date once, and the primary went on without it.
        core.keep(
            cluster=facts["cluster"],
            generation=int(facts["generation"]),
            primary=False,
            caught_up=counted,
            dropped=not counted and kept.caught_up,
            view=tuple(facts["view"]),
        )
        self._is_led, self._done, self._acked = True, int(facts["n"]), int(facts["n"])
        core.become(Role.BACKUP if counted else Role.CATCHUP)

    def _do(self, data: bytes) -> None:
        try:
            deed: Deed = deed_of(data)
        except NotKept as error:
            raise PeerError(
                f"{self.primary} sent {error}", next="run the same version on all brokers"
            ) from error
        durable = isinstance(deed, Put) and is_durable(deed.body)
        self.core.contents.do(deed, durable=durable)
