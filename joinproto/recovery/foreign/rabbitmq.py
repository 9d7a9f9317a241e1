"""RabbitMQ with Mnesia (up to 4.2): who was in the cluster, and who ran when a node stopped.

    cluster_nodes.config         {AllNodes, DiscNodes}.
    nodes_running_at_shutdown    the nodes that ran, kept up to date while this one runs
    force_load                   there: at its next start this node waits for nobody

The lists are the same whether a node was stopped or killed, so no store is ever clean.
There is no cluster id: `clustered` groups nodes of which one counts the other as a member.

A start that was cut off leaves a trap.  A node that comes up and finds another one first
writes down what *that one* sees, itself not included; if it dies while it waits, its own
list is gone.  So a list without the node itself says nothing about when it stopped.

The node's own name is nowhere in the text files: it is the name of the directory.

Source: recovery, "Foreign formats"; RabbitMQ 3.10, seen on real nodes (`tools/fixtures`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from attrs import evolve, frozen

from joinproto.pick.wait_graph import NodeList, Start, WaitGraph, clusters, wait_graph
from joinproto.recovery.foreign.erlang_terms import Atom, ListOf, Term, TupleOf, parse
from joinproto.recovery.foreign.text import NotAsWritten, shown, text_of
from joinproto.recovery.found import Fact, Format, Found, LastView, Raw, RawFile, State

FORMAT = Format.RABBITMQ

CLUSTER = "cluster_nodes.config"
RUNNING = "nodes_running_at_shutdown"
FORCE = "force_load"
NAMES = (CLUSTER, RUNNING, FORCE)


@frozen(kw_only=True)
class Said:
    """What the files say.  `node`: "" if not known; `running`: None: it says nothing."""

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
        """Return who ran when this node stopped; None if its list does not say that."""
        return frozenset(self.listed) if self.node in self.listed else None


def read(raw: Raw) -> Found:
    """Return what a node's directory says; never raises, whatever the bytes are."""
    if raw.problem:
        return Found.of(raw, state=State.UNREADABLE, problems=(raw.problem,))
    if all(raw.file(name).is_absent for name in NAMES):
        return Found.of(raw, state=State.NONE, problems=(f"no {CLUSTER} here",))
    unreadable = [
        f"{name}: {raw.file(name).problem or 'is not there'}"
        for name in (CLUSTER, RUNNING)
        if raw.file(name).data is None
    ]
    if unreadable:
        return Found.of(raw, state=State.UNREADABLE, problems=tuple(unreadable))
    try:
        said = said_by(raw)
    except NotAsWritten as error:
        return Found.of(raw, state=State.CORRUPT, problems=(str(error),))
    ran = None if said.is_ram else said.running
    return Found.of(
        raw,
        # A ram node has nothing on its disc that anybody could start from.
        state=State.EMPTY if said.is_ram else State.DIRTY,
        member=said.node,
        # With the ram nodes: while one of them ran on, a disc node could come and go.
        last_view=None if ran is None else LastView(members=ran),
        stopped_last=ran == frozenset({said.node}),
        node=_node(said),
        problems=_problems(raw, said),
        facts=_facts(said),
    )


def said_by(raw: Raw) -> Said:
    """Return what the two files say; raises `NotAsWritten`."""
    cluster, running = raw.file(CLUSTER), raw.file(RUNNING)
    match _term(cluster):
        case TupleOf((ListOf() as all_nodes, ListOf() as disc_nodes)):
            members, disc = _names(cluster, all_nodes), _names(cluster, disc_nodes)
        case _:
            raise NotAsWritten(f"{CLUSTER}: expected two lists of nodes, {{[...],[...]}}.")
    match _term(running):
        case ListOf() as nodes:
            listed = _names(running, nodes)
        case _:
            raise NotAsWritten(f"{RUNNING}: expected a list of nodes, [...].")
    if not members:
        raise NotAsWritten(f"{CLUSTER}: names no node")
    if strangers := sorted({*disc, *listed} - set(members)):
        raise NotAsWritten(f"{', '.join(strangers)}: is listed, and is not a node of the cluster")
    return Said(
        node=_own_name(raw, members),
        members=tuple(sorted(members)),
        disc=tuple(sorted(disc)),
        listed=tuple(sorted(listed)),
        is_forced=not raw.file(FORCE).is_absent,
    )


def wait_graphs(stores: Sequence[Found], *, gone: Collection[str] = ()) -> tuple[WaitGraph, ...]:
    """Return the wait graph of each cluster among these stores, the largest cluster first.

    Stores that cannot be read, do not say which node they are, or are there twice are left
    out: of two copies nobody knows which one the node went on with.  `gone`: nodes whose
    disc is lost for good.
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


def refused(stores: Sequence[Found]) -> tuple[str, ...]:
    """Return which nodes count another one as a member that does not count them, in words."""
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

    A node that was forgotten counts others that do not count it; it belongs to their cluster.
    """
    groups: list[set[str]] = []
    for store in stores:
        if store.node is None:
            continue
        mine = set(store.node.members)
        # Who counts a node that is not here may yet count the same ones as another.
        joined = [group for group in groups if group & mine]
        groups = [group for group in groups if not group & mine]
        groups.append(mine.union(*joined))
    names = {name: min(group) for group in groups for name in group}
    return tuple(
        store if store.node is None else evolve(store, cluster=names[store.node.name])
        for store in stores
    )


def _node(said: Said) -> NodeList | None:
    """Return what a node's directory says about others; None: it does not say which it is."""
    if not said.node:
        return None
    return NodeList(
        name=said.node,
        members=frozenset(said.members),
        disc=frozenset(said.disc),
        running=said.running,
    )


def lines(graph: WaitGraph) -> tuple[str, ...]:
    """Return what a person reads of a wait graph, the advice last."""
    found = [
        f"{item.node} waits for {_and(item.waits_for)}"
        if item.waits_for
        else f"{item.node} waits for nobody: by its list it ran last"
        for item in graph.waits
    ]
    found += [f"{name}: no list here says when it stopped" for name in graph.unheard]
    if graph.lost_ram:
        found.append(
            f"{_and(graph.lost_ram)} kept nothing on disc and ran longer: what was changed while"
            " nobody else ran is lost"
        )
    return (*found, *_advice(graph))


def _advice(graph: WaitGraph) -> tuple[str, ...]:
    last, later = _and(graph.last), _and(graph.later)
    stages = "; then ".join(_and(stage) for stage in graph.order)
    force = ""
    if graph.force and graph.order:
        force = f"rabbitmqctl -n {graph.order[0][0]} force_boot, and this order: {stages}"
    together = f"{last} stopped together and have the same: each waits for the others"
    said = advice = ""
    match graph.start:
        case Start.UNKNOWN:
            said = "no list of a node that keeps data is here: nothing is known"
        case Start.SPLIT:
            said = (
                f"{last} went on without each other, or one of them was forced: each has what the"
                " others do not have"
            )
            advice = "start one side, and the other side's data are lost: save its directory first"
        case Start.UNORDERED:
            said = (
                f"a ram node ran between the last runs of {last}, or longer: nothing says which of"
                " them has more"
            )
            advice = f"one of {last} must be chosen: save all their directories first"
        case Start.IN_ORDER:
            said = "one waits for nobody, and the others take what it has"
            advice = f"nothing is lost with this order: {stages}"
        case Start.TOGETHER:
            said = together
            advice = f"start all of them within five minutes: {stages}"
        case Start.FORCE:
            said = together
            why = (
                "they would wait for a node that is lost"
                if graph.rule == "W7"
                else "an older one would load first: the smallest name does, once all are up"
            )
            advice = f"do not just start all ({why}); nothing is lost by: {force}"
        case Start.SUPPLY:
            said = f"{later} may have run longer than {last}: its list decides"
            advice = (
                f"supply it; if its disc is lost for good, say so: then one of {last} can be"
                f" forced, and what {later} did without the others is lost"
            )
        case Start.FORCE_AND_LOSE:
            said = (
                f"{later} is lost and may have run longer: what it did without the others is lost"
                " with it"
            )
            unordered = f"one of {last} must be forced; nothing says which of them has more"
            advice = force or unordered
    return (said, advice) if advice else (said,)


def _and(names: Collection[str]) -> str:
    return ", ".join(names)


def _term(file: RawFile) -> Term:
    text = text_of(file)
    try:
        return parse(text)
    except NotAsWritten as error:
        raise NotAsWritten(f"{file.name}: {error}") from None


def _names(file: RawFile, nodes: ListOf) -> tuple[str, ...]:
    names = []
    for node in nodes.items:
        if not isinstance(node, Atom):
            raise NotAsWritten(f"{file.name}: expected names of nodes in the list")
        name, _, host = node.name.partition("@")
        if not name or not host or "@" in host:
            raise NotAsWritten(f"{file.name}: {shown(node.name)} is not the name of a node")
        names.append(node.name)
    if len(set(names)) < len(names):
        raise NotAsWritten(f"{file.name}: lists a node twice")
    return tuple(names)


def _own_name(raw: Raw, members: Sequence[str]) -> str:
    name = PurePosixPath(raw.path).name
    for each in (name, raw.called):
        if each in members:
            return each
    # Nobody else could have written it.
    return members[0] if len(members) == 1 and "@" not in name else ""


def _problems(raw: Raw, said: Said) -> tuple[str, ...]:
    found = []
    if not said.node:
        found.append(
            f"which node this is cannot be told: the directory is called"
            f" {shown(PurePosixPath(raw.path).name)}, and must be called like one of"
            f" {', '.join(said.members)}"
        )
    elif said.is_ram:
        found.append("a ram node: it keeps no data on its disc, and starts after the others")
    elif said.running is None:
        found.append(
            f"{RUNNING} does not list {said.node} itself: a start was cut off and its own list"
            " overwritten, so it does not say when it stopped"
        )
    elif ram := sorted(said.running - set(said.disc)):
        found.append(
            f"{', '.join(ram)} ran longer and kept nothing on disc: what was changed while nobody"
            " else ran is lost"
        )
    if said.is_forced:
        found.append(f"{FORCE} is there: at its next start this node waits for nobody")
    return tuple(found)


def _facts(said: Said) -> tuple[Fact, ...]:
    return (
        Fact("node", said.node or "not known"),
        Fact("members", ", ".join(said.members)),
        Fact("disc nodes", ", ".join(said.disc)),
        Fact("running at shutdown", ", ".join(said.listed) or "none"),
        *((Fact(FORCE, "yes"),) if said.is_forced else ()),
    )
