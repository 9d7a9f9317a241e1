"""The stand-in for a broker: which set of data a node has after a boot, and who it runs with.

A label stands for a set of data: equal labels, equal data.  What really runs is an adapter's.

Source: Clusterer; what the real broker does with data, as it was seen with a stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define

from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import NOBODY, Boot, BootBroker, Record


@define
class Disk:
    """What lies on a machine's disk; `runs`: the broker is up, so `ran` changes with others."""

    stored: Held | None = None
    identity: str | None = None
    data: str | None = None
    members: frozenset[str] = NOBODY
    ran: frozenset[str] = NOBODY
    runs: bool = False

    @property
    def record(self) -> Record:
        """Return what the node may know of it."""
        return Record(
            stored=self.stored, identity=self.identity, members=self.members, ran=self.ran
        )

    @property
    def is_blank(self) -> bool:
        return self.stored is None and self.data is None


def wipe(disk: Disk) -> None:
    """Throw the data away, and what is known of members."""
    disk.data, disk.members, disk.ran = None, NOBODY, NOBODY


def boot(
    me: str,
    does: BootBroker,
    disks: Mapping[str, Disk],
    reaches: Callable[[str, str], bool],
    fresh: Callable[[], str],
) -> bool:
    """Boot the broker of `me`: with own data alone, or with those of members that run.

    False: it was to join, and nobody runs any more; it does not boot, as no adapter's would.
    """
    disk = disks[me]
    if does.how is Boot.FOUND:
        disk.members = frozenset({me})
    # Who was left out meanwhile has data of its own by now.
    disk.members = ((disk.members & does.nodes) | {me}) - does.forget
    wanted = does.nodes if disk.data is None and does.how is not Boot.FOUND else disk.members
    running = sorted(
        name
        for name, other in disks.items()
        if name != me and name in wanted and other.runs and reaches(me, name)
    )
    if does.how is Boot.JOIN and not running:
        return False
    if running:
        source = disks[running[0]]
        disk.data, disk.members = source.data, source.members | {me}
    elif disk.data is None:
        disk.data = fresh()
    for name in running:
        disks[name].members |= {me}
    disk.runs, disk.ran = True, frozenset({me})
    for name in cluster(me, disks, reaches):
        disks[name].ran |= {me}
        disk.ran |= {name}
    return True


def stop(me: str, disks: Mapping[str, Disk]) -> None:
    """Stop the broker of `me`: the others see it go; what it saw last stays as it is."""
    if not disks[me].runs:
        return
    disks[me].runs = False
    for name, other in disks.items():
        if name != me and other.runs:
            other.ran -= {me}


def cluster(me: str, disks: Mapping[str, Disk], reaches: Callable[[str, str], bool]) -> list[str]:
    """Return the others that run with `me`: members of its cluster, with its data."""
    disk = disks[me]
    return [
        name
        for name in sorted(disk.members - {me})
        if name in disks
        and disks[name].runs
        and me in disks[name].members
        and disks[name].data == disk.data
        and reaches(me, name)
    ]
