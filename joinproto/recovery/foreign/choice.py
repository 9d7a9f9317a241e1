"""The choice of the broker itself, why it may be wrong, and the evidence that settles it.

The text is shown if nothing is proven: the operator may have to start a node anyway, and a log with
dates may have the missing fact.

Source: Qpid 0.18 (`Cluster.cpp`: the lines of its log), Galera 26.4, RabbitMQ 3.10.
"""

from __future__ import annotations

from collections.abc import Sequence

from joinproto.recovery.foreign.text import NULL_UUID
from joinproto.recovery.found import Format, Found, State


def broker_choice(stores: Sequence[Found]) -> str:
    """Return the broker's choice, a warning and the evidence; "" for stores of other brokers."""
    kinds = {one.format for one in stores} - {None}
    if kinds == {Format.QPID}:
        return _qpid(stores)
    if kinds == {Format.GALERA}:
        return _galera(stores)
    if kinds == {Format.RABBITMQ}:
        return _rabbitmq(stores)
    return ""


def _qpid(stores: Sequence[Found]) -> str:
    clean = [one.name for one in stores if one.state is State.CLEAN]
    finals = {one.final for one in stores if one.final}
    settles = (
        'The evidence is the date of the last "member update:" in each broker\'s log (level info),'
        ' and whether "cluster shut down by administrator" follows it: the broker with the'
        " latest such line that names a member as ready ran last"
    )
    if len(finals) > 1:
        does = "Qpid itself would refuse to start these together: their shutdown-ids differ"
        why = "Each ran on without the other, or was marked by hand, and either may have more data"
    elif clean:
        does = (
            f"Qpid itself would start from {_or(clean)}, a clean store, and copy its data over the"
            " data of all other brokers"
        )
        why = (
            "That may be wrong: a store stays clean when it is started alone or was the last of a"
            " minority, and another broker may have run later"
        )
    else:
        does = "Qpid itself would start none of these: each waits for a store that is marked clean"
        why = "If the wrong store is marked, Qpid copies its data over the data of all others"
    return f"{does}. {why}. {settles}."


def _galera(stores: Sequence[Found]) -> str:
    # The server decides by the mark alone (Galera 26.4.23, tried out).  A missing file, an empty
    # file and a file without the line all count as safe.  The server stops if it may not open the
    # file.
    marked = [one for one in stores if one.fact("safe_to_bootstrap") in ("1", "not there")]
    blank = [one.name for one in marked if one.fact("uuid") == NULL_UUID]
    safe = [one.name for one in marked if one.name not in blank]
    unmarked = [one.name for one in stores if one.state in (State.NONE, State.CORRUPT)]
    settles = (
        'The evidence is the last "New COMPONENT: primary = yes" in each node\'s error log: the'
        " line with the latest date says by memb_num how many nodes ran last. A later line may have"
        " bootstrap = yes or memb_num = 1: that node was forced or alone, which no number shows"
    )
    if blank:
        does = f"Galera itself would let {_or(blank)} found a cluster, and that is an EMPTY one"
        why = (
            "The data of all nodes that join it are deleted: take the mark away first"
            " (safe_to_bootstrap: 0 in grastate.dat)"
        )
    elif safe or unmarked:
        does = f"Galera itself would let {_or([*safe, *unmarked])} found a cluster"
        why = "That may be wrong: " + (
            "it takes a missing or damaged file for safe"
            if unmarked
            else "two nodes that were alone each have data that the other lacks"
            if len(safe) > 1
            else "the mark says that it was alone, not that no other node was forced to run later"
        )
    else:
        does = (
            "Galera itself would let none of these found a cluster by itself (safe_to_bootstrap:"
            " 0), and form one again only if all nodes of the last view return (pc.recovery)"
        )
        why = "If the wrong node is forced, the data that only other nodes have are lost"
    return f"{does}. {why}. {settles}."


def _rabbitmq(stores: Sequence[Found]) -> str:
    blank = [one.name for one in stores if one.state is State.NONE]
    settles = (
        'The evidence is in each node\'s log, the dates of the last "Server startup complete" and'
        ' of the last "rabbit on node NAME down": the node that saw the others go down, and has the'
        ' latest line itself, ran last. But after "Cluster minority status detected" it paused'
        " itself, and the others continued"
    )
    if blank:
        does = f"RabbitMQ itself would start {_or(blank)} as a new, empty node"
        why = (
            "That may be wrong: its data are gone, and other nodes may take it for a complete node"
        )
    else:
        does = (
            "RabbitMQ itself would let each node wait five minutes for the nodes that it lists,"
            " and a node that lists no other start at once"
        )
        why = (
            "That may be wrong: a node that was forced, or started alone later, is only in"
            " its own list"
        )
    return f"{does}. {why}. {settles}."


def _or(names: Sequence[str]) -> str:
    return " or ".join(names)
