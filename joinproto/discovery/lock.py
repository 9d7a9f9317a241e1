"""A release's protection, with a backend, against nodes that start at the same time.

Source: discovery, D3.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.ask.question import Rule, Why
from joinproto.codec.json_form import Key
from joinproto.discovery import values
from joinproto.discovery.releases import Release
from joinproto.discovery.rules import does


class Guard(Enum):
    """The means that keeps two nodes that start from founding two clusters."""

    NOTHING = "nothing"
    DELAY = "delay"  # each node waits for a random time: collisions become rare, not impossible
    GLOBAL = "global"  # a lock among the nodes that see each other
    SERVICE = "service"  # a lock that the service keeps
    SEED = "seed"  # one node is the seed by its name


@frozen
class Guarded:
    """The protection against two nodes that start at the same time."""

    guard: Annotated[Guard, Key("lock"), "the means that keeps the two nodes apart"]
    retries: Annotated[int | None, "the number of tries for the lock; null: no lock is taken"]
    delay: Annotated[
        tuple[int, ...], "the least and the most seconds before the start; empty: no delay"
    ]
    why: Why
    rule: Rule = "D3"


LOCKED_TRIES = 10
"""Tries for the lock around the boot, 30 s apart (lock_retry_limit, lock_retry_timeout)."""
DELAYS = {values.AWS: ("AWS_DELAY", 5, 60), values.K8S: ("K8S_DELAY", 0, 2)}
"""Backends that delay without a lock: the rule, and the usual least and most seconds."""


def guard(release: Release, backend: str, least: int | None, most: int | None) -> Guarded:
    """Return the protection of this release.  `least`, `most`: the configured delay, in seconds."""
    name = values.ALIASES.get(backend, backend)
    if name == values.ETCD or (name == values.CONSUL and does(release, "CONSUL_LOCK")):
        tries = LOCKED_TRIES if does(release, "LOCKED_BOOT") else 1
        return Guarded(Guard.SERVICE, tries, (), f"the service keeps a lock, tries: {tries}")
    if name == values.CONSUL:
        return Guarded(Guard.NOTHING, None, (), "a lock is held only while the nodes are listed")
    lock = "K8S_LOCK" if name == values.K8S else "GLOBAL_LOCK"
    if name in (values.CLASSIC, values.AWS, values.K8S) and does(release, lock):
        why = "a lock among the nodes that see each other, 80 tries unless set"
        return Guarded(Guard.GLOBAL, 80, (), why)
    if name == values.K8S and does(release, "PODS"):
        return Guarded(Guard.SEED, None, (), "one pod is the seed, and all others wait for it")
    if name not in DELAYS or not does(release, DELAYS[name][0]):
        return Guarded(Guard.NOTHING, None, (), f"no delay with {name}, and it has no lock")
    _, usual_least, usual_most = DELAYS[name]
    least = usual_least if least is None else least
    most = usual_most if most is None else most
    if not most:
        return Guarded(Guard.NOTHING, None, (), "the delay is switched off")
    # The drawn value is at least 1 and at least `least`.
    return Guarded(Guard.DELAY, None, (max(least, 1), max(least, most)), "a random delay, no lock")
