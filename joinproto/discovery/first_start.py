"""The properties of a first start that follow from a release and its backend.

Source: discovery, D2 and D3; `rules.py` has each rule with the release and file it comes from.
"""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from joinproto.discovery import values
from joinproto.discovery.lock import Guard, guard
from joinproto.discovery.releases import Release
from joinproto.discovery.rules import does

Kind = Literal["lists", "registered", "selects", "seed"]
"""How a backend names nodes: it lists all, lists registered nodes, or selects the oldest; or all
nodes know the seed.
"""
REGISTERING = (values.CONSUL, values.ETCD)
STANDS_FOR = {"lists": values.CLASSIC, "selects": values.ETCD, "seed": values.K8S}
"""The backend whose rules hold if only a kind is named."""


@frozen(kw_only=True)
class FirstStart:
    """The facts of a first start.

    `tries`: how many rounds follow the first, None for rounds without an end.  `registers_late`: a
    node registers after it has listed the nodes.  `locks`: a lock is held over the boot.
    `is_global`: the nodes that hear each other share that lock; otherwise the service keeps it.
    `words`: these facts in words.
    """

    kind: Kind
    tries: int | None
    registers_late: bool
    locks: bool
    is_global: bool
    words: tuple[str, ...]


def first_start(release: Release, backend: str, limit: int | str | None = None) -> FirstStart:
    """Return the facts of the first start; `limit`: discovery_retry_limit, None if not set."""
    name = STANDS_FOR.get(backend) or values.ALIASES.get(backend, backend)
    kind: Kind = "lists"
    if name in REGISTERING:
        kind = "selects" if does(release, "SELECTS") else "registered"
    elif name == values.K8S and does(release, "PODS"):
        kind = "seed"
    if limit is None:
        limit = 30 if does(release, "SORTED") else 10
    tries: int | None = None if kind == "seed" or isinstance(limit, str) else limit
    if not does(release, "RETRIES"):
        tries = 0
    kept = guard(release, name, None, None)
    locks = kept.guard in (Guard.GLOBAL, Guard.SERVICE) and does(release, "LOCKED_BOOT")
    late = not does(release, "REGISTERS_FIRST")
    says = {
        "lists": f"{name} lists all nodes",
        "registered": f"{name} lists the nodes that registered",
        "selects": f"{name} names the node that registered first",
        "seed": "all pods know the seed by its name",
    }
    words = [says[kind]]
    if name in REGISTERING:
        words.append(f"a node registers {'after it has looked' if late else 'before it looks'}")
    words.append("it tries without end" if tries is None else f"tries after the first: {tries}")
    held = "a lock is held over the boot" if locks else "no lock is held over the boot"
    words.append(f"{held} ({kept.why})")
    return FirstStart(
        kind=kind,
        tries=tries,
        registers_late=late,
        locks=locks,
        is_global=kept.guard is Guard.GLOBAL,
        words=tuple(words),
    )
