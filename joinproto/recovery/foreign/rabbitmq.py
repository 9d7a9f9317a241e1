"""The reader of RabbitMQ with Mnesia (up to 4.2): the lists of nodes on each node's disk.

    cluster_nodes.config         {AllNodes, DiscNodes}.
    nodes_running_at_shutdown    the running nodes, kept up to date while this node runs
    force_load                   if it exists, this node waits for no other node at its next start

The lists are the same whether a node was stopped or killed, so no store is ever clean.
There is no cluster id: `clustered` groups nodes if one counts the other as a member.

An interrupted start may overwrite the list.  A node that starts and finds another node first writes
the list of *that* node, without itself.  If it dies while it waits, its own list is gone.  So a
list without the node itself does not show when the node stopped.

The node's own name is not in the text files; it is the name of the directory.

Source: recovery, "Foreign formats"; RabbitMQ 3.10, seen on real nodes (`tools/fixtures`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from attrs import evolve, frozen

from joinproto.codec.erlang_terms import Atom, Binary, List, Number, Text, Tuple
from joinproto.pick.definitions import Definitions
from joinproto.pick.wait_graph import NodeList, WaitGraph, clusters, wait_graph
from joinproto.recovery.foreign import mnesia
from joinproto.recovery.foreign.ra import folders, nodes
from joinproto.recovery.foreign.text import NotAsWritten, shown, term_of
from joinproto.recovery.foreign.wait_words import advice_of, and_, graph_lines
from joinproto.recovery.found import Fact, Found, LastView, Raw, RawFile, State

CLUSTER = "cluster_nodes.config"
RUNNING = "nodes_running_at_shutdown"
FORCE = "force_load"
NAMES = (CLUSTER, RUNNING, FORCE)

more = mnesia.names_in
"""Names the files of Mnesia's tables, which a directory may lack."""
GLOBS = (
    mnesia.PREVIOUS,
    mnesia.LATEST,
    f"rabbit_*{mnesia.WHOLE}",
    f"rabbit_*{mnesia.CHANGES}",
    *folders.GLOBS,
)


@frozen(kw_only=True)
class NodeFiles:
    """The contents of the three files.  `node`: "" if not known; `listed`: the running nodes."""

    node: str
    members: tuple[str, ...]
    disc: tuple[str, ...]
    listed: tuple[str, ...]
    is_forced: bool

    @property
    def is_ram(self) -> bool:
        return self.node != "" and self.node not in self.disc

    @property
    def running(self) -> frozenset[str] | None:
        """Return the nodes that ran when this node stopped, None if its own list is gone."""
        return frozenset(self.listed) if self.node in self.listed else None


def read(raw: Raw) -> Found:
    """Return the contents of a node's directory; never raises, whatever the bytes are."""
    raft, broken = nodes.raft_of(raw)
    has_lists = any(not raw.file(name).is_absent for name in NAMES)
    other = nodes.khepri_node(raw, raft, broken, has_lists=has_lists, listed=_listed_members(raw))
    if other is not None:
        return other
    raft = nodes.without_khepri(raft)
    if not has_lists:
        return Found.of(raw, State.NONE, f"no {CLUSTER} here")
    unreadable = [
        f"{one.name}: {one.problem or 'is not there'}"
        for one in map(raw.file, (CLUSTER, RUNNING))
        if one.data is None
    ]
    if unreadable:
        return Found.of(raw, State.UNREADABLE, *unreadable)
    try:
        said = node_files_of(raw)
    except NotAsWritten as error:
        return Found.of(raw, State.CORRUPT, str(error))
    ran = None if said.is_ram else said.running
    definitions, unread = (None, "") if said.is_ram else mnesia.definitions_of(raw.files)
    return Found.of(
        raw,
        # A ram node has no data on its disc from which a cluster could start.
        State.EMPTY if said.is_ram else State.DIRTY,
        *_problems(raw, said),
        unread,
        *broken,
        member=said.node,
        # Ram nodes count, because a disc node could start and stop while a ram node ran.
        last_view=None if ran is None else LastView(members=ran),
        stopped_last=ran == frozenset({said.node}),
        node=_node(said, definitions, is_damaged=unread != ""),
        raft=nodes.refuse_former_logs(raft, said.node),
        facts=_facts(said, definitions),
    )


def _listed_members(raw: Raw) -> tuple[str, ...]:
    """Return the members that the lists name, () if the lists cannot be read."""
    try:
        return node_files_of(raw).members
    except NotAsWritten:
        return ()


def node_files_of(raw: Raw) -> NodeFiles:
    """Return the contents of the lists; raises `NotAsWritten`."""
    cluster, running = raw.file(CLUSTER), raw.file(RUNNING)
    match term_of(cluster):
        case Tuple((List() as all_nodes, List() as disc_nodes)):
            members, disc = _names(cluster, all_nodes), _names(cluster, disc_nodes)
        case _:
            raise NotAsWritten(f"{CLUSTER}: expected two lists of nodes, {{[...],[...]}}.")
    match term_of(running):
        case List() as ran:
            listed = _names(running, ran)
        case _:
            raise NotAsWritten(f"{RUNNING}: expected a list of nodes, [...].")
    if not members:
        raise NotAsWritten(f"{CLUSTER}: names no node")
    if strangers := sorted({*disc, *listed} - set(members)):
        raise NotAsWritten(f"{', '.join(strangers)}: is listed, and is not a node of the cluster")
    return NodeFiles(
        node=_own_name(raw, members),
        members=tuple(sorted(members)),
        disc=tuple(sorted(disc)),
        listed=tuple(sorted(listed)),
        is_forced=not raw.file(FORCE).is_absent,
    )


def wait_graphs(stores: Sequence[Found], *, gone: Collection[str] = ()) -> tuple[WaitGraph, ...]:
    """Return the wait-for graph of each cluster among these stores, the largest cluster first.

    Stores that cannot be read, or whose node is unknown, are left out.  If there are two copies of
    a node's store, its list does not count, because it is unknown with which copy the node
    continued.  `gone`: nodes whose disc is lost for good.
    """
    lists = [store.node for store in stores if store.node is not None]
    names = [item.name for item in lists]
    once = [item for item in lists if names.count(item.name) == 1]
    twice = [
        evolve(next(item for item in lists if item.name == name), running=None)
        for name in sorted(set(names))
        if names.count(name) > 1
    ]
    return tuple(wait_graph(group, gone=gone) for group in clusters([*once, *twice]))


def one_sided_memberships(stores: Sequence[Found]) -> tuple[str, ...]:
    """Return a sentence for each node that counts another node which does not count it."""
    lists = {store.node.name: store.node for store in stores if store.node is not None}
    return tuple(
        f"{one} counts {other} as a member, and {other} does not count {one}: it was forgotten, or"
        f" {other} was reset; RabbitMQ refuses to start them as one cluster"
        for one in sorted(lists)
        for other in sorted(lists)
        if other in lists[one].members and one not in lists[other].members
    )


def clustered(stores: Sequence[Found]) -> tuple[Found, ...]:
    """Return the stores with their `cluster`: the first name among nodes that belong together.

    A node that was removed from a cluster still counts its members, so it belongs to this cluster.
    With Khepri two nodes belong together if each was once a member with the other.
    """
    stores = nodes.clustered(stores)
    stores = _without_blank(stores)
    groups = nodes.merged({*store.node.members} for store in stores if store.node is not None)
    names = {name: min(group) for group in groups for name in group}
    return tuple(
        store if store.node is None else evolve(store, cluster=names[store.node.name])
        for store in stores
    )


def _without_blank(stores: Sequence[Found]) -> tuple[Found, ...]:
    """Return the stores; a node that was reset or began again becomes an empty store.

    Such a node lists itself alone and has only the definitions that RabbitMQ makes for a new node.
    If its tables were not read, it counts as reset only next to stores of a larger cluster.
    Otherwise it may be a cluster of one node, or a new node that was killed before it had tables,
    and its state is unknown.
    """
    several = any(store.node is not None and len(store.node.members) > 1 for store in stores)
    return tuple(
        _blank(store) if _is_blank(store, unread=several) else _with_doubt(store)
        for store in stores
    )


def _with_doubt(store: Found) -> Found:
    if store.state is not State.DIRTY or not _is_blank(store, unread=True):
        return store
    said = (
        f"it lists itself alone, as a new node does, and its tables ({mnesia.LATEST}) are not here"
    )
    return evolve(store, state=State.UNFINISHED, problems=(said, *store.problems))


def _is_blank(store: Found, *, unread: bool) -> bool:
    if store.node is None or store.node.members != {store.node.name}:
        return False
    known = store.node.definitions
    return unread if known is None else known.own == 0


def _blank(store: Found) -> Found:
    lost = f"if others count it, and no other copy is left: --lost {store.member}"
    return evolve(
        store,
        state=State.EMPTY if store.state is State.DIRTY else store.state,
        last_view=None,
        stopped_last=False,
        node=None,
        problems=(
            f"a blank node: it was reset, or began anew; its data are gone ({lost})",
            *store.problems,
        ),
    )


def _node(said: NodeFiles, definitions: Definitions | None, *, is_damaged: bool) -> NodeList | None:
    """Return a node's list of others, None if its directory does not name the node."""
    if not said.node:
        return None
    return NodeList(
        name=said.node,
        members=frozenset(said.members),
        disc=frozenset(said.disc),
        running=said.running,
        definitions=definitions,
        is_damaged=is_damaged,
    )


def graph_texts(
    stores: Sequence[Found], *, gone: Collection[str] = ()
) -> tuple[tuple[str, ...], str]:
    """Return the texts about the wait-for graphs of these stores, and the advice.

    The advice is about the largest cluster, and says to reset nodes that this cluster does not
    count.  `gone`: nodes whose disc is lost for good.
    """
    graphs = wait_graphs(stores, gone=gone)
    here = {waiting.node for graph in graphs for waiting in graph.waits}
    found = [
        *one_sided_memberships(stores),
        *(said for graph in graphs for said in graph_lines(graph, besides=here)),
    ]
    if not graphs:
        return tuple(found), ""
    first, *others = graphs
    advice = advice_of(first)
    doubts = {
        store.node.name: store.node.definitions.in_doubt
        for store in stores
        if store.node is not None and store.node.definitions is not None
    }
    if first.order and doubts.get(first.order[0][0]):
        advice += (
            f"; {first.order[0][0]} was killed while it asked the others, and waits for them even"
            " when it is forced: start the next ones without waiting for it"
        )
    apart = sorted({waiting.node for graph in others for waiting in graph.waits})
    if others and len(others[0].waits) == len(first.waits):
        return tuple(found), ""  # two clusters of one size: which one is meant is not known
    if apart and advice:
        advice += (
            f"; reset {and_(apart)} (or save its directory and empty it) and let it join, as the"
            " others do not count it"
        )
    return tuple(found), advice


def _names(file: RawFile, listed: List) -> tuple[str, ...]:
    names = []
    for node in listed.items:
        if isinstance(node, Number | Text | Binary):
            raise NotAsWritten(f"{file.name}: {shown(str(node))} is not expected here")
        if not isinstance(node, Atom):
            raise NotAsWritten(f"{file.name}: expected names of nodes in the list")
        name, _, host = node.name.partition("@")
        if not name or not host or "@" in host or not node.name.isprintable():
            raise NotAsWritten(f"{file.name}: {shown(node.name)} is not the name of a node")
        names.append(node.name)
    if len(set(names)) < len(names):
        raise NotAsWritten(f"{file.name}: lists a node twice")
    return tuple(names)


def _own_name(raw: Raw, members: Sequence[str]) -> str:
    name = PurePosixPath(raw.path).name
    # Ra's folders have the node's name; after the node was renamed there are two folders.
    inside = nodes.named_in(raw) & {*members} or {*members}
    for each in (name, raw.called):
        if each in inside:
            return each
    if len(inside) == 1 < len(members):
        return min(inside)
    return members[0] if len(members) == 1 and "@" not in name else ""


def _problems(raw: Raw, said: NodeFiles) -> tuple[str, ...]:
    found = []
    if not said.node:
        found.append(
            f"the name of this node is not known: the directory is called"
            f" {shown(PurePosixPath(raw.path).name)}, and must be called like one of"
            f" {', '.join(said.members)}"
        )
    elif (name := PurePosixPath(raw.path).name) in said.members and name != said.node:
        found.append(f"the directory is called {shown(name)}, and Ra's files are {said.node}'s")
    elif said.is_ram:
        found.append("a ram node: it keeps no data on its disc, and starts after the others")
    elif said.running is None:
        found.append(
            f"{RUNNING} does not list {said.node} itself: a start was cut off and its own list"
            " overwritten, so it does not say when it stopped"
        )
    elif ram := sorted(said.running - set(said.disc)):
        found.append(
            f"{', '.join(ram)} ran longer and kept no data on disc: changes made while no other"
            " node ran are lost"
        )
    if said.is_forced:
        found.append(f"{FORCE} is there: at its next start this node waits for no other")
    return tuple(found)


def _facts(said: NodeFiles, definitions: Definitions | None) -> tuple[Fact, ...]:
    tables = []
    if definitions is not None:
        # A kill in the middle of a dump leaves it closed, too.
        log = "closed" if definitions.is_closed else "open: it was killed, or runs"
        tables = [Fact("log", log), Fact("definitions", str(len(definitions.values)))]
    return (
        Fact("node", said.node or "not known"),
        Fact("members", ", ".join(said.members)),
        Fact("disc nodes", ", ".join(said.disc)),
        Fact("running at shutdown", ", ".join(said.listed) or "none"),
        *tables,
        *((Fact(FORCE, "yes"),) if said.is_forced else ()),
    )
