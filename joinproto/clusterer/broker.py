"""The simulated broker of stories: its data after a boot, and the nodes that it runs with.

A label stands for a set of data: equal labels mean equal data.  Outside of stories, an adapter to a
real broker takes the place of this module.

Source: Clusterer; the real broker's handling of data, as observed with a stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define

from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import NO_NODES, WITH_OTHERS, Boot, BootBroker, Members, Record


@define
class Disk:
    """The contents of a machine's disk, and whether its broker runs.

    `record`: the node's list of members; `members`: the broker's own list.
    """

    stored: Held | None = None
    identity: str | None = None
    record: Members = Members()
    data: str | None = None
    members: frozenset[str] = NO_NODES
    runs: bool = False

    @property
    def whole(self) -> Record:
        """Return the facts on the disk that the node reads at its start."""
        return Record(stored=self.stored, identity=self.identity, members=self.record)

    @property
    def is_blank(self) -> bool:
        return self.stored is None and self.data is None


def wipe(disk: Disk) -> None:
    """Delete the data and the list of members."""
    disk.data, disk.members = None, NO_NODES


def boot(
    me: str,
    does: BootBroker,
    disks: Mapping[str, Disk],
    reaches: Callable[[str, str], bool],
    fresh: Callable[[], str],
) -> bool:
    """Boot the broker of `me`, with its own data or with those of nodes that run.

    Return False if it must boot with others, but no other broker runs any more.  A node without
    data takes those of a node in `does.running`; a known member that was reset is not such a node.
    """
    disk = disks[me]
    there = {name for name in disks if name != me and disks[name].runs and reaches(me, name)}
    sources = there.intersection(name for name, _ in does.running.pairs)
    if does.how in WITH_OTHERS and not sources:
        return False
    if does.how is Boot.FOUND:
        disk.members = frozenset({me})
    # A node that was left out meanwhile has its own data by now.
    disk.members = ((disk.members & does.nodes) | {me}) - does.forget
    takes = disk.data is None and does.how is not Boot.FOUND
    knows = {name for name in there & disk.members if name in sources or me in disks[name].members}
    wanted = sources if takes else knows
    running = sorted(wanted, key=lambda name: (name not in sources, name))
    known = set(running)
    if running:
        source = disks[running[0]]
        disk.data, disk.members = source.data, source.members | {me}
        # The nodes of that cluster learn of `me`.
        known |= there.intersection(cluster(running[0], disks, reaches))
    elif disk.data is None:
        disk.data = fresh()
    for name in known:
        disks[name].members |= {me}
    disk.runs = True
    return True


def cluster(me: str, disks: Mapping[str, Disk], reaches: Callable[[str, str], bool]) -> list[str]:
    """Return the other nodes that run in one cluster with `me`, with the same data."""
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
