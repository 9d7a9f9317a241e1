"""The register of the view chain: the successor of each view in a key of etcd or Consul.

`chosen` performs the effect `CompareAndSet`, and `successor` performs `ReadRegister`.  The result
None means that no answer came: the member asks again, or closes in time.  Source: join protocol,
3.7.
"""

from __future__ import annotations

import logging

from attrs import define

from joinproto.apps.discovery.perform import Exchange, perform
from joinproto.codec.malformed import Malformed
from joinproto.discovery.answers import Failed
from joinproto.discovery.register import Register, RegisterValue
from joinproto.join.choice_messages import Chosen
from joinproto.join.ids import ViewId
from joinproto.join.messages import NoSuccessor
from joinproto.join.view import View
from joinproto.join.wire import decode, encode

log = logging.getLogger(__name__)
FOUNDING = "founding"
"""The key of a cluster's first view, which has no parent."""


@define(eq=False)
class Successors:
    """The register of the view chain.  `failed`: why there was no answer the last time."""

    register: Register
    exchange: Exchange
    failed: str | None = None

    async def chosen(self, parent: ViewId | None, view: View) -> View | None:
        """Set `view` as the successor of `parent` if there is none yet.

        Return the successor that the register then holds, or None without an answer.
        """
        text = encode(Chosen(parent, (view,))).decode()
        present = await perform(self.register.set_once(_name(parent), text), self.exchange)
        found = self._view(parent, present)
        return None if isinstance(found, NoSuccessor) else found

    async def successor(self, parent: ViewId) -> View | NoSuccessor | None:
        """Return the successor of `parent`; None without an answer."""
        present = await perform(self.register.read(_name(parent)), self.exchange)
        return self._view(parent, present)

    def _view(
        self, parent: ViewId | None, present: RegisterValue | Failed
    ) -> View | NoSuccessor | None:
        if isinstance(present, Failed):
            if present.why != self.failed:
                log.warning("the register gave no answer: %s", present.why)
            self.failed = present.why
            return None
        self.failed = None
        if present.value is None:
            return NoSuccessor()
        try:
            message = decode(present.value.encode())
        except Malformed as error:
            log.error("the register holds a value that no member wrote: %s", error)
            return None
        if isinstance(message, Chosen) and message.parent == parent and len(message.views) == 1:
            return message.views[0]
        log.error("the register holds a value that is not the successor of %s", parent)
        return None


def _name(parent: ViewId | None) -> str:
    return FOUNDING if parent is None else str(parent)
