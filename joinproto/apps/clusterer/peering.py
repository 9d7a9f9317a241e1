"""Asking all other nodes at once what their services say; who is late says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from attrs import Factory, define

from joinproto.apps.clusterer.wire import AskService, ServiceTold


@define
class Peering:
    """`send`: to a node, a message."""

    send: Callable[[str, Any], None]
    _numbers: count[int] = Factory(lambda: count(1))
    _open: dict[str, asyncio.Future[ServiceTold | None]] = Factory(dict)
    _number: int = 0

    async def ask(self, nodes: frozenset[str], seconds: float) -> dict[str, ServiceTold]:
        """Return what was answered within so many seconds, by node."""
        self._number = number = next(self._numbers)
        loop = asyncio.get_running_loop()
        self._open = {name: loop.create_future() for name in nodes}
        for name in sorted(nodes):
            self.send(name, AskService(number))
        if self._open:
            await asyncio.wait(self._open.values(), timeout=seconds)
        found = {name: one.result() for name, one in self._open.items() if one.done()}
        self._open = {}
        return {name: one for name, one in found.items() if one is not None}

    def told(self, name: str, number: int, answer: ServiceTold | None) -> None:
        """Take an answer to the question of this number; None: there can be none."""
        waiting = self._open.get(name)
        if waiting is not None and not waiting.done() and number == self._number:
            waiting.set_result(answer)


def running_of(told: Mapping[str, ServiceTold], version: int) -> dict[str, Mapping[str, str]]:
    """Return what those say of themselves whose service runs with this config."""
    return {name: one.says for name, one in told.items() if one.runs and one.version == version}


def said_by(
    told: Mapping[str, ServiceTold], nodes: Iterable[str]
) -> dict[str, Mapping[str, str] | None]:
    """Return what each of these nodes says of its service, None of one that did not answer."""
    return {name: told[name].says if name in told else None for name in nodes}
