"""The events of incidents against shipped code: the join protocol, and the discovery of peers.

These are the worlds of `joinproto_worlds.join` and `joinproto_worlds.discovery`, started where the
incident starts.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from joinproto.check.entry import Entry, Family
from joinproto.check.world import World
from joinproto_worlds.join.entries import NO_FAULT


def members(members: int = 3, mutant: str | None = None, **given: Any) -> World:
    """Return a world of shipped members; `given`: see `joinproto_worlds.join.bounds`."""
    from joinproto_worlds.join.world import build  # inside: listing worlds loads no member

    return build(members, mutant=mutant, **given)


def boots(members: int = 3, mutant: str | None = None, *, rules: str, **given: Any) -> World:
    """Return a world of nodes that look for their peers; `given`: see `Facts`."""
    from joinproto_worlds.discovery.race import build  # inside: listing worlds loads no node

    return build(members, mutant=mutant, rules=rules, **given)


RABBITMQ = {
    "rabbitmq-first-boot": (
        "RabbitMQ",
        "https://github.com/rabbitmq/rabbitmq-server/issues/1455",
        """Five blank RabbitMQ nodes start in parallel and look for their peers.  During peer
        discovery the network is cut, so that two see each other and the other three do, too.
        Each side forms a cluster.  When the network is back there are two healthy clusters for
        ever: nodes that have a database do not discover again.""",
    ),
    "rabbitmq-server-0": (
        "RabbitMQ, cluster-operator",
        "https://github.com/rabbitmq/cluster-operator/issues/1957",
        """Three RabbitMQ pods run in Kubernetes.  The pod server-0 loses its persistent volume,
        or the volume is recreated, and the pod is rescheduled.  It comes back blank, is its own
        seed, and forms a one-node cluster behind the same service.  Clients reach the one or the
        other, queues and users seem to disappear, and the management console flips between the
        two.""",
    ),
}
"""Incidents with nodes of the discovery worlds: the system, the source, the events."""

JOIN = Family("joinproto_worlds.incidents.shipped:members", members=3, prefix="incident-")
BOOT = Family("joinproto_worlds.incidents.shipped:boots", prefix="incident-")
VOTES = evolve(JOIN, given=NO_FAULT.given).sharing(register="votes", wait_for=2)
GOES_ON = VOTES.sharing(recovers=True, reaches=("RESTART",))
FIRST_BOOT = BOOT.sharing(cut=2)

ENTRIES: tuple[Entry, ...] = (
    VOTES(
        "etcd-blank-majority-ours",
        "ours: two blank disks are strangers: they found nothing, and the good copy waits",
        scene="blank-majority",
        reaches=(),
    ),
    GOES_ON(
        "redis-empty-ours",
        "ours: the first member is back, empty: the others go on, and update it",
        scene="blank-founder",
        views=2,
        proposers=2,
    ),
    GOES_ON(
        "galera-last-leaver-ours",
        "ours: the member that left first is whole and old: the others' store is the latest",
        scene="first-leaver",
        views=3,
        proposers=2,
    ),
    GOES_ON(
        "artemis-half-copy-ours",
        "ours: a store in the middle of an update is not ready, whatever its record knows",
        members=2,
        crashes=1,
        frames=1,
        scene="half-copied",
        views=4,
        proposers=2,
    ),
    VOTES(
        "opensearch-bootstrap-pod-ours",
        "ours: the founder crashes in the founding, and is back with an empty disk",
        members=2,
        crashes=1,
        wiped="a",
        views=1,
        reaches=("FOUND",),
    ),
    GOES_ON(
        "cloudflare-2020-ours",
        "ours: two of three members never hear each other: the views come to rest",
        scene="founded",
        cut=("ac",),
        proposers=3,
        reaches=("CHANGE",),
    ),
    VOTES(
        "github-2018-ours",
        "ours: the one that orders the frames is cut off, and acknowledges nothing more",
        tier="long",
        partitions=1,
        suspects=True,
        frames=1,
        greets=False,
        scene="founded",
        views=2,
        proposers=1,
        reaches=("CHANGE",),
    ),
    FIRST_BOOT(
        "rabbitmq-first-boot",
        "3.8: five blank nodes, cut in two and three at the first start",
        members=(2, 5, 5),
        steps=6,
        rules="seed",
        tries=0,
    ),
    FIRST_BOOT(
        "rabbitmq-first-boot-fixed",
        "4.x: the rules were rewritten, and two that see each other are still enough",
        members=(2, 4, 5),
        steps=8,
        rules="real",
    ),
    FIRST_BOOT(
        "rabbitmq-first-boot-ours",
        "ours: the same cut, and never two clusters",
        members=(2, 4, 5),
        rules="ours",
    ),
    BOOT(
        "rabbitmq-server-0",
        "4.1: server-0 loses its volume, and is its own seed again",
        members=(2, 3, 5),
        steps=10,
        rules="real",
        backend="seed",
        wipes=True,
    ),
    BOOT(
        "rabbitmq-server-0-ours",
        "ours: server-0 loses its volume, and asks the others first",
        members=(2, 3, 5),
        rules="ours",
        wipes=True,
    ),
)
