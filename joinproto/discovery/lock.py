"""What a release does, with a backend, against nodes that start at once.

Source: discovery, D3.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.discovery import values
from joinproto.discovery.releases import Release


class Guard(Enum):
    """What keeps two nodes apart."""

    NOTHING = "nothing"
    DELAY = "delay"  # each waits for a random time: it makes a collision rare, not impossible
    GLOBAL = "global"  # a lock among the nodes that see each other
    SERVICE = "service"  # a lock that the service keeps
    SEED = "seed"  # one node is the seed by its name


@frozen
class Guarded:
    """`delay`: least and most seconds; empty: none."""

    guard: Guard
    retries: int | None
    delay: tuple[int, ...]
    why: str


REGISTER = (values.CONSUL, values.ETCD)


def guard(release: Release, backend: str, least: int | None, most: int | None) -> Guarded:
    """Return what this release does.  `least`, `most`: the configured delay, in seconds."""
    name = values.ALIASES.get(backend, backend)
    if release < Release(3, 9):
        usual = (0, 2) if name == values.K8S else (5, 60)
        return _before_3_9(
            name, usual[0] if least is None else least, usual[1] if most is None else most
        )
    if name in (values.CLASSIC, values.AWS):
        why = "the nodes lock each other, 80 tries unless set; those that are cut off do not meet"
        return Guarded(Guard.GLOBAL, 80, (), why)
    if name == values.ETCD:
        return Guarded(Guard.SERVICE, 1, (), "etcd keeps a lock")
    if name == values.CONSUL:
        if release < Release(3, 13):
            return Guarded(Guard.SERVICE, 1, (), "Consul keeps a lock")
        return Guarded(Guard.NOTHING, None, (), "the lock is held while the nodes are listed only")
    if name == values.K8S:
        if release < Release(4, 1):
            return Guarded(Guard.GLOBAL, 80, (), "the nodes lock each other, 80 tries unless set")
        return Guarded(Guard.SEED, None, (), "one pod is the seed, and all others wait for it")
    return Guarded(Guard.NOTHING, None, (), f"{name} has no lock")


def _before_3_9(name: str, least: int, most: int) -> Guarded:
    if name in REGISTER:
        return Guarded(Guard.SERVICE, 10, (), "the service keeps a lock: 10 tries, 30 s apart")
    if name != values.K8S:
        why = f"{name} registers nobody, so there is no delay, and it has no lock"
        return Guarded(Guard.NOTHING, None, (), why)
    if not most:
        return Guarded(Guard.NOTHING, None, (), "the delay is switched off")
    # The drawn value is from 1 on, and at least `least`.
    return Guarded(Guard.DELAY, None, (max(least, 1), max(least, most)), "a random delay, no lock")
