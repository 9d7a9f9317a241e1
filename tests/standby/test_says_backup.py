"""A broker that reports `backup` may be promoted, in every order of steps of link and disks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from attrs import evolve

from joinproto.standby.broker import Role
from joinproto.standby.events import More, ViewWritten
from joinproto.standby.primary_state import Keeper, PrimaryState
from tests.standby.pair import Cluster


def _begun(keeper: Keeper) -> Cluster:
    """Return a primary that holds a message, and a backup that has just linked."""
    it = Cluster.of("a", "b", keeper=keeper)
    it.promote("a")
    it.declare("a")
    it.publish("a", "m1")
    it.link("b", "a")
    return evolve(it, holds_views=True, said=[], confirmed=[])


def _copied(it: Cluster) -> Cluster:
    return evolve(
        it,
        brokers=dict(it.brokers),
        links={ends: deque(queue) for ends, queue in it.links.items()},
        confirmed=list(it.confirmed),
        views_wait=list(it.views_wait),
        said=[],
    )


def _leading(it: Cluster) -> PrimaryState:
    side = it.brokers["a"].side
    assert isinstance(side, PrimaryState)
    return side


def _nexts(it: Cluster) -> Iterator[Cluster]:
    """Yield the possible next steps: a delivery, a copy, a view on the disk, a client, the link's
    end.
    """
    actions: list[Callable[[Cluster], None]] = [
        partial(Cluster.pass_on, sender=one, to=to) for (one, to), had in it.links.items() if had
    ]
    for backup, one in _leading(it).followers.items():
        actions += [partial(_more, backup=backup, queue=queue) for queue in one.copying]
    if it.views_wait:
        actions.append(_written)
    if it.token < 4:
        actions.append(_published)
    if it.links and it.token == 4:
        actions.append(partial(Cluster.cut, one="a", other="b"))
    for action in actions:
        made = _copied(it)
        action(made)
        yield made


def _more(it: Cluster, backup: str, queue: str) -> None:
    it.do("a", More(backup, queue))


def _written(it: Cluster) -> None:
    it.do("a", ViewWritten(it.views_wait.pop(0)))


def _published(it: Cluster) -> None:
    """Publish a message named by the next token; the first token declared the queue."""
    it.publish("a", f"m{it.token}")


@pytest.mark.parametrize("keeper", Keeper)
def test_a_backup_is_required_and_has_all_that_was_confirmed(keeper: Keeper) -> None:
    """H4: this holds even while the primary still writes the view that lists the backup."""
    first = _begun(keeper)
    found, todo = {repr(first)}, [first]
    said = before = 0
    while todo:
        for it in _nexts(todo.pop()):
            if repr(it) in found:
                continue
            found.add(repr(it))
            todo.append(it)
            if it.role("b") is not Role.BACKUP:
                continue
            said += 1
            before += "b" not in it.members("a")
            assert "b" in _leading(it).required
            assert {f"m{token - 1}" for token in it.confirmed} <= {*it.ids("b")}

    assert said > 0
    # A manager outside has no chain: each member writes the view, and the primary last.
    assert (before > 0) is (keeper is Keeper.OUTSIDE)
