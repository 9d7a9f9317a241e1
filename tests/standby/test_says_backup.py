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
    cluster = Cluster.of("a", "b", keeper=keeper)
    cluster.promote("a")
    cluster.declare("a")
    cluster.publish("a", "m1")
    cluster.link("b", "a")
    return evolve(cluster, holds_views=True, said=[], confirmed=[])


def _copied(cluster: Cluster) -> Cluster:
    return evolve(
        cluster,
        brokers=dict(cluster.brokers),
        links={ends: deque(queue) for ends, queue in cluster.links.items()},
        confirmed=list(cluster.confirmed),
        views_wait=list(cluster.views_wait),
        said=[],
    )


def _leading(cluster: Cluster) -> PrimaryState:
    side = cluster.brokers["a"].side
    assert isinstance(side, PrimaryState)
    return side


def _nexts(cluster: Cluster) -> Iterator[Cluster]:
    """Yield the cluster after each step that is possible now."""
    actions: list[Callable[[Cluster], None]] = [
        partial(Cluster.pass_on, sender=one, to=to)
        for (one, to), had in cluster.links.items()
        if had
    ]
    for backup, one in _leading(cluster).followers.items():
        actions += [partial(_more, backup=backup, queue=queue) for queue in one.copying]
    if cluster.views_wait:
        actions.append(_written)
    if cluster.token < 4:
        actions.append(_published)
    if cluster.links and cluster.token == 4:
        actions.append(partial(Cluster.cut, one="a", other="b"))
    for action in actions:
        made = _copied(cluster)
        action(made)
        yield made


def _more(cluster: Cluster, backup: str, queue: str) -> None:
    cluster.do("a", More(backup, queue))


def _written(cluster: Cluster) -> None:
    cluster.do("a", ViewWritten(cluster.views_wait.pop(0)))


def _published(cluster: Cluster) -> None:
    """Publish a message named by the next token; the first token declared the queue."""
    cluster.publish("a", f"m{cluster.token}")


@pytest.mark.parametrize("keeper", Keeper)
def test_a_backup_is_required_and_has_all_that_was_confirmed(keeper: Keeper) -> None:
    """H4: this holds even while the primary still writes the view that lists the backup."""
    first = _begun(keeper)
    found, todo = {repr(first)}, [first]
    said = before = 0
    while todo:
        for cluster in _nexts(todo.pop()):
            if repr(cluster) in found:
                continue
            found.add(repr(cluster))
            todo.append(cluster)
            if cluster.role("b") is not Role.BACKUP:
                continue
            said += 1
            before += "b" not in cluster.members("a")
            assert "b" in _leading(cluster).required
            assert {f"m{token - 1}" for token in cluster.confirmed} <= {*cluster.ids("b")}

    assert said > 0
    # A manager outside has no chain: each member writes the view, and the primary last.
    assert (before > 0) is (keeper is Keeper.OUTSIDE)
