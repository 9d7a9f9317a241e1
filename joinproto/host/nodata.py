"""A service without data: it learns the active members and their order, and replicates no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define

from joinproto.host.ports import EventLoop, Work
from joinproto.join.inputs import UpdateDone
from joinproto.join.messages import Closing, ServeUpdate, StartUpdate
from joinproto.join.view import View


@define
class NoData:
    """A `Service` and a `StateTransfer`; calls `opened` and `closed` as it opens and closes."""

    opened: Callable[[View, bool], None] = lambda view, is_sequencer: None
    closed: Callable[[Closing], None] = lambda why: None
    _loop: EventLoop | None = None
    _updates: int = 0

    def attach(self, loop: EventLoop) -> None:
        self._loop = loop

    def open(self, view: View, *, is_sequencer: bool) -> None:
        self.opened(view, is_sequencer)

    def close(self, why: Closing) -> None:
        self.closed(why)

    def hear(self, peer: str, data: bytes) -> None:
        pass

    def peer_up(self, peer: str) -> None:
        pass

    def peer_down(self, peer: str) -> None:
        pass

    def learned(self, view: View) -> None:
        pass

    def start_update(self, update: StartUpdate) -> None:
        self._updates += 1

    def serve_update(self, update: ServeUpdate) -> None:
        pass

    def work(self) -> Iterator[Work]:
        """There is no frame, so every update is complete when it begins."""
        if self._updates and self._loop is not None:
            self._updates = 0
            self._loop.tell(UpdateDone(None))
        yield from ()

    @property
    def deadline(self) -> float | None:
        return None
