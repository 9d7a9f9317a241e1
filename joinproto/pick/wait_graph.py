"""The wait-for graph of RabbitMQ's nodes, and a start order that loses no data.

Each node keeps a list of the nodes that ran when it stopped.  The conclusions:

    a lists b, b does not list a      b saw a stop: b has more, and a waits for b
    a lists b, b lists a              they stopped together: the same data, except for what a kill
                                      lost; each waits for the other
    a lists only itself               no node ran after a: a waits for no node
    neither lists the other           a third node ran between them; or each continued without
                                      the other: a split

So "b ran when a stopped" leads from node to node towards the nodes that stopped last.  The trace
ends at a node whose list is not here, and at a ram node.  After such a node, any node without a
list here may have followed.

If all disc nodes wait, Mnesia waits until *all* of them are up.  Then the node with the smallest
name loads its own data, even if they are old.  Seen on a real cluster: a is stopped, b and c
continue and are killed together; when all three are started again, the changes of b and c are gone
(`tests/recovery/foreign/data/rabbitmq-smallest-is-older`).  So the graph names the latest nodes,
and says whether an older node would load before them.

The lists do not show that a node which was not last started without waiting, because it was forced,
or because only a ram node still ran.  After such a start two nodes may look like the sides of a
split, or an older node may look like the last.

A kill loses Mnesia's unwritten changes: up to two seconds, different on each node.  If the tables
of the nodes were read, the last node is one that has the definitions of all of them.  A node with
damaged tables cannot be ordered with the others.

Source: RabbitMQ 3.10 (`rabbit_node_monitor`), Mnesia 4.21 (`mnesia_controller`:
`last_consistent_replica`, `orphan_tables`); recovery, "Foreign formats".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import combinations

from attrs import frozen

from joinproto.errors import MisuseError
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members
from joinproto.pick.definitions import Definitions


@frozen(kw_only=True)
class NodeList:
    """The list of nodes in one node's directory.

    `members`: all nodes of the cluster; `disc`: the nodes that keep data; `running`: the nodes
    that ran when this node stopped, itself included; None if not known.  `definitions`: the
    definitions on its disk; None if they were not read.  `is_damaged`: a part of its definitions
    may be lost.
    """

    name: str
    members: frozenset[str]
    disc: frozenset[str]
    running: frozenset[str] | None
    definitions: Definitions | None = None
    is_damaged: bool = False

    @property
    def waits_for(self) -> frozenset[str]:
        """Return the disc nodes that this node waits for; a ram node waits for any one of them."""
        if self.name not in self.disc:
            return self.disc
        ran = self.disc if self.running is None else self.running
        return (ran & self.disc) - {self.name}


class Start(Enum):
    """The way to start the cluster so that no data is lost."""

    UNKNOWN = "unknown"  # no list of a disc node is here
    SPLIT = "split"  # two sides continued without each other: the data of one side are lost
    SUPPLY = "supply more"  # a node whose list is not here may have run longer
    FORCE_AND_LOSE = "force one, and lose"  # a node that may have run longer is lost for good
    UNORDERED = "unordered"  # the last nodes have different data, and it is unknown which is later
    IN_ORDER = "in order"  # one of the last nodes waits for no other node
    FORCE = "force one"  # all would wait for ever, or an older node would load; no data is lost
    TOGETHER = "all together"  # all wait, and the node that will load first has the latest data


@frozen(kw_only=True)
class NodeRow:
    """A disc node as the table sees it.

    `is_known`: its list is here.  `is_last`: it stopped last, by the lists that are here.
    `is_free`: it is last and waits for no node.  `is_unordered`: it is last, and so is a node with
    other data, or some data were not read whole.  `contradicts`: its list and another node's list
    cannot both be right, unless there was a split.  `may_be_later`: its list is not here, and it
    may have run longer than the last nodes.  `is_gone`: its disc is lost for good.  `is_too_soon`:
    it is older, and if all were started, it would load its own data before the last nodes do.
    """

    name: str
    is_known: bool
    is_last: bool = False
    is_free: bool = False
    is_unordered: bool = False
    contradicts: bool = False
    may_be_later: bool = False
    is_gone: bool = False
    is_too_soon: bool = False


DISC = Members("disc nodes", NodeRow)
KNOWN = DISC.where(is_known=True).named("known")
LAST = DISC.where(is_last=True).named("last")
LATER = DISC.where(may_be_later=True).named("later")


@cache
def starts() -> Table[Start]:
    """Return the table of ways to start; the answer does not depend on which row is asked about."""
    return Table(
        "rabbitmq-start",
        "RabbitMQ 3.10 with Mnesia 4.21: which node loads its tables, and when",
        (
            Case("W1", "no list is here", KNOWN.is_empty, Start.UNKNOWN),
            Case("W2", "two sides", KNOWN.some(contradicts=True), Start.SPLIT),
            Case("W3", "one may have run longer", LATER.some(is_gone=False), Start.SUPPLY),
            Case("W4", "a lost one may have", ~LATER.is_empty, Start.FORCE_AND_LOSE),
            Case("W5", "nothing orders them", LAST.some(is_unordered=True), Start.UNORDERED),
            Case("W6", "one waits for no other", LAST.some(is_free=True), Start.IN_ORDER),
            Case("W7", "all wait, one is lost", DISC.some(is_gone=True), Start.FORCE),
            Case("W8", "an older one loads first", DISC.some(is_too_soon=True), Start.FORCE),
            Case("W9", "all stopped together", ALWAYS, Start.TOGETHER),
        ),
    )


@frozen(kw_only=True)
class Waiting:
    """A node whose list is here, and the nodes it waits for, sorted."""

    node: str
    waits_for: tuple[str, ...]


@frozen(kw_only=True)
class WaitGraph:
    """The wait-for graph from the lists of one cluster's nodes; every list of names is sorted.

    `rule`, `case`: label and name of the deciding case.  `last`: the disc nodes that ran longest,
    by the lists that are here; with SPLIT and UNORDERED they have different data.  `unheard`: disc
    nodes without a list here; `later`: the unheard nodes that may have run longer than `last`.
    `force`: nodes of which exactly one must be forced; () if none must be.  This loses the changes
    that only `later` have (FORCE_AND_LOSE), or only the other nodes (SPLIT, UNORDERED).  `order`:
    stages, one after the other; the nodes of one stage may start together; if `force` is not empty,
    the node of the first stage is forced.  `order` is empty if it depends on unknown facts.
    `lost_ram`: ram nodes that ran when one of `last` stopped; changes made while only they ran are
    on no disc.
    """

    start: Start
    rule: str
    case: str
    waits: tuple[Waiting, ...]
    last: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    order: tuple[tuple[str, ...], ...] = ()
    lost_ram: tuple[str, ...] = ()


def clusters(lists: Sequence[NodeList]) -> tuple[tuple[NodeList, ...], ...]:
    """Return the lists by cluster, the largest cluster first.

    There is no cluster id: nodes that count each other as members are one cluster.  A node that the
    others do not count was removed from the cluster, or the others were reset.  RabbitMQ refuses
    such a node ("inconsistent_cluster").
    """
    rest = {item.name: item for item in _require_distinct(lists)}
    found = []
    while rest:
        first = min(rest)
        group, new = {first}, {first}
        while new:
            new = {
                name
                for name, item in rest.items()
                if name not in group
                and any(one in item.members and name in rest[one].members for one in group)
            }
            group |= new
        found.append(tuple(rest.pop(name) for name in sorted(group)))
    return tuple(sorted(found, key=lambda one: (-len(one), one[0].name)))


def wait_graph(lists: Sequence[NodeList], *, gone: Collection[str] = ()) -> WaitGraph:
    """Return the wait-for graph of one cluster (see `clusters`), and the way to start it.

    `gone`: nodes whose disc is lost for good, by the operator's word.
    """
    items = {item.name: item for item in _require_distinct(lists)}
    disc = frozenset().union(*(item.disc for item in items.values()))
    ram = frozenset().union(*(item.members for item in items.values())) - disc
    ran = {
        name: item.running - {name}
        for name, item in items.items()
        if name in disc and item.running is not None and name not in gone
    }
    beyond = {name: _nodes_beyond(ran, name) for name in ran}
    last = {one for one in ran if not any(_was_outlived(one, o, ran, beyond) for o in beyond[one])}
    against = _contradicting_nodes(ran, beyond, last)
    alone = {name for name in ran if not ran[name]}
    if against:
        last = last or against
    elif alone:
        # Any other node stopped before the node that was alone, even if the trace of lists ends at
        # a node whose list is not here.
        last = alone
    are_equal = all(other in ran[one] for one in last for other in last - {one})
    if are_equal and not against:
        last = _nodes_with_most(last, items) or last
        are_equal = bool(last) and _have_all(last, [items[name] for name in ran])
    are_equal = are_equal and not any(items[name].is_damaged for name in ran)
    is_sure = all(beyond[name] <= ran.keys() for name in last)
    unheard = disc - ran.keys()
    waits = {name: ran[name] & disc for name in ran}
    # With only ram nodes left, they may have seen all disc nodes stop, and then they wait for none.
    hasty = unheard if ram else frozenset()
    rows = tuple(
        NodeRow(
            name=name,
            is_known=name in ran,
            is_last=name in last,
            is_free=name in last and not waits[name],
            is_unordered=name in last and not are_equal,
            contradicts=name in against,
            may_be_later=name in unheard and not is_sure,
            is_gone=name in gone,
            is_too_soon=name not in last and (name in hasty or name == min(disc)),
        )
        for name in sorted(disc)
    )
    case = starts().choose(rows or (NodeRow(name="", is_known=False),), 0)
    saw = frozenset().union(*(ran[name] for name in last))
    return WaitGraph(
        start=case.outcome,
        rule=case.label,
        case=case.name,
        waits=tuple(
            Waiting(node=name, waits_for=tuple(sorted(items[name].waits_for)))
            for name in sorted(items)
            if items[name].running is not None
        ),
        last=tuple(sorted(last)),
        later=tuple(row.name for row in rows if row.may_be_later),
        unheard=tuple(sorted(unheard)),
        force=tuple(sorted(last)) if case.outcome in FORCED else (),
        order=_order(
            case.outcome, waits, last if are_equal else (), disc - set(gone), ram - set(gone)
        ),
        lost_ram=tuple(sorted(saw & ram)),
    )


FORCED = (Start.SPLIT, Start.FORCE_AND_LOSE, Start.UNORDERED, Start.FORCE)
ORDERED = (Start.FORCE_AND_LOSE, Start.IN_ORDER, Start.FORCE, Start.TOGETHER)


def _require_distinct(lists: Sequence[NodeList]) -> Sequence[NodeList]:
    names = [item.name for item in lists]
    if twice := {name for name in names if names.count(name) > 1}:
        raise MisuseError(
            f"two lists of {', '.join(sorted(twice))}: one of them is a copy",
            next="give the list of each node once",
        )
    return lists


def _nodes_beyond(ran: Mapping[str, frozenset[str]], node: str) -> frozenset[str]:
    """Return `node`, the nodes that ran when it stopped, those that ran when they stopped, etc."""
    found: set[str] = set()
    new = {node}
    while new:
        found |= new
        new = {name for one in new for name in ran.get(one, frozenset())} - found
    return frozenset(found)


def _was_outlived(
    one: str,
    other: str,
    ran: Mapping[str, frozenset[str]],
    beyond: Mapping[str, frozenset[str]],
) -> bool:
    """Return whether `other`, which is beyond `one`, is known to have run longer than `one`."""
    if other not in ran:
        return False
    # The first condition says that `other` saw `one` stop.  It is needed because the lists may lead
    # back to `one`: a third node that died at that moment may not have seen `one` stop yet.
    return (other in ran[one] and one not in ran[other]) or one not in beyond[other]


def _contradicting_nodes(
    ran: Mapping[str, frozenset[str]],
    beyond: Mapping[str, frozenset[str]],
    last: Collection[str],
) -> set[str]:
    """Return the nodes whose lists contradict each other, unless the cluster was split.

    Two nodes that did not see each other do not contradict each other if a third ran between them.
    """
    found = set()
    # After a node without a list, any node may have followed.
    is_open = {name for name, nodes in beyond.items() if not nodes <= ran.keys()}
    for one, other in combinations(sorted(ran), 2):
        if other in ran[one] or one in ran[other] or is_open & {one, other}:
            continue
        if {one, other} <= set(last) or not beyond[one] & beyond[other]:
            found |= {one, other}
    # If no node is last, each node was outlived by another one, in a circle.
    return found if last else set(ran)


def _nodes_with_most(last: Collection[str], items: Mapping[str, NodeList]) -> set[str]:
    """Return those of the `last` nodes that have all definitions of the others.

    Return all of `last` if some definitions were not read, and no node if each lacks something.
    """
    known = {name: items[name].definitions for name in last}
    if None in known.values():
        return {*last}
    return {name for name in last if _have_all([name], [items[one] for one in last])}


def _have_all(names: Collection[str], lists: Sequence[NodeList]) -> bool:
    """Return whether each of these nodes has all definitions of `lists`, as far as known."""
    by_name = {item.name: item.definitions for item in lists}
    return not any(
        item.definitions.changes_missing_in(mine)
        for name in names
        for item in lists
        if item.definitions is not None and (mine := by_name[name]) is not None
    )


def _order(
    start: Start,
    waits: Mapping[str, frozenset[str]],
    last: Collection[str],
    disc: Collection[str],
    ram: Collection[str],
) -> tuple[tuple[str, ...], ...]:
    """Return the stages of the start; nodes whose lists are not here start after the others."""
    if start not in ORDERED or not last:
        return ()
    if start is Start.TOGETHER:
        return tuple(tuple(sorted(stage)) for stage in (disc, ram) if stage)
    stages = [[min(last)]]
    done = set(stages[0])
    while rest := sorted(name for name in waits if name not in done):
        # From here on any order is right, because a node that starts copies the definitions of a
        # running node.  In this order each node starts after the nodes that it would wait for.
        ready = [name for name in rest if not (waits[name] & set(rest)) - {name}]
        stages.append(ready or rest)
        done |= set(stages[-1])
    stages += [sorted(set(disc) - done), sorted(ram)]
    return tuple(tuple(stage) for stage in stages if stage)
