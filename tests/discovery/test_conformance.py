"""The checks of a discovery server, against a server that gives one lock to two nodes."""

from __future__ import annotations

from typing import cast

import anyio
from attrs import define, field

from joinproto.apps.discovery.conformance import locks
from joinproto.apps.discovery.port import Port
from joinproto.discovery.contract import Done, Held


@define
class CarelessBackend:
    """A backend that gives its lock to each node.  `held`: the nodes that hold the lock now."""

    name: str
    held: list[str] = field(factory=list)

    async def lock(self) -> Held:
        self.held.append(self.name)
        return Held(key="lock", value=self.name)

    async def hold(self, held: Held) -> Done:
        return Done()

    async def unlock(self, held: Held) -> Done:
        self.held.remove(held.value)
        return Done()


def test_a_lock_that_was_given_to_two_nodes_is_reported_and_released_by_both() -> None:
    """Otherwise the next check of that server would wait for this lock."""
    held: list[str] = []
    one, two = (cast(Port, CarelessBackend(name, held)) for name in ("one", "two"))

    checks = anyio.run(locks, one, two)

    failed = [check.name for check in checks if not check.holds]
    assert ["a lock that is held is not given again"] == failed
    assert [] == held
