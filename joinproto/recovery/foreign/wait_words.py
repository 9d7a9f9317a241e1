"""The texts about a wait-for graph of RabbitMQ's nodes, and the commands that start them."""

from __future__ import annotations

from collections.abc import Collection

from joinproto.pick.wait_graph import Start, WaitGraph


def graph_lines(graph: WaitGraph, *, besides: Collection[str] = ()) -> tuple[str, ...]:
    """Return lines about one wait-for graph; `besides`: nodes whose lists are in another graph."""
    found = [
        f"{item.node} waits for {and_(item.waits_for)}"
        if item.waits_for
        else f"{item.node} waits for no other: by its list it ran last"
        for item in graph.waits
    ]
    found += [
        f"{name}: no list here says when it stopped"
        for name in graph.unheard
        if name not in besides
    ]
    if graph.lost_ram:
        found.append(
            f"{and_(graph.lost_ram)} kept no data on disc and ran longer: changes made while no"
            " other node ran are lost"
        )
    return (*found, *([why] if (why := _reason(graph)) else []))


def _reason(graph: WaitGraph) -> str:
    last, later = and_(graph.last), and_(graph.later)
    match graph.start:
        case Start.UNKNOWN:
            return "no list of a node that keeps data is here: nothing is known"
        case Start.SPLIT:
            return (
                f"{last} continued without each other, or one of them was forced: each has data"
                " that the others lack"
            )
        case Start.UNORDERED if graph.lost_ram:
            return (
                f"a ram node ran between the last runs of {last}, or longer: no list shows which"
                " of them has more"
            )
        case Start.UNORDERED:
            return "each has definitions that another node lacks, and no list shows which are later"
        case Start.IN_ORDER:
            return "one node waits for no other, and the others copy its data"
        case Start.TOGETHER | Start.FORCE if len(graph.last) > 1:
            return f"{last} stopped together: each waits for the others"
        case Start.TOGETHER | Start.FORCE:
            return f"{last} stopped with others, and has all that they have"
        case Start.SUPPLY:
            return f"{later} may have run longer than {last}: its list decides"
        case Start.FORCE_AND_LOSE:
            return (
                f"{later} is lost and may have run longer: the changes that it made without the"
                " other nodes are lost"
            )


def advice_of(graph: WaitGraph) -> str:
    """Return the advice on the start of the nodes, "" if the order is not known."""
    last, later = and_(graph.last), and_(graph.later)
    stages = "; then ".join(and_(stage) for stage in graph.order)
    force = ""
    if graph.force and graph.order:
        force = f"rabbitmqctl -n {graph.order[0][0]} force_boot, and this order: {stages}"
    # A node whose list is not here may have been forced to start after all others.
    kept = (
        f"the definitions here are kept (those of {and_(graph.unheard)} are not known)"
        if graph.unheard
        else "no definition is lost"
    )
    match graph.start:
        case Start.SPLIT:
            return "start one side, and the other side's data are lost: save its directory first"
        case Start.UNORDERED:
            return "save all their directories first: only the data of the first node are kept"
        case Start.IN_ORDER:
            first = graph.order[0][0] if graph.order else last
            return (
                f"{kept} with this order: {stages} (if {first} waits although it is first, it was"
                f" forced once: rabbitmqctl -n {first} force_boot)"
            )
        case Start.TOGETHER:
            return f"start all of them within five minutes: {stages}"
        case Start.FORCE:
            why = (
                "they would wait for a node that is lost"
                if graph.rule == "W7"
                else "an older node would load first: the node with the smallest name does"
            )
            return f"do not just start all ({why}); {kept} by: {force}"
        case Start.SUPPLY:
            return (
                f"supply the list of {later}; if its disc is lost for good, say so with --lost:"
                f" then one of {last} can be forced, and the changes that {later} made without the"
                " other nodes are lost"
            )
        case Start.FORCE_AND_LOSE:
            return force or f"one of {last} must be forced; no list shows which of them has more"
    return ""


def and_(names: Collection[str]) -> str:
    return ", ".join(names)
