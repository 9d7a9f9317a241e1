"""Worlds of deployed fixes, each with one fault, which show the faults that defeat each fix.

There are three members with fixed names.  `m1` is the seed, which founds the cluster when it is
blank.  A member that starts joins a primary that it sees, and takes the primary's data; a member
that sees no primary serves with its own data.  This is the rule without a fix.  Each fix forbids
some of these steps:

* mark of a clean stop (Galera, `safe_to_bootstrap`): only the member that was the last to stop in
  order may serve alone;
* marker file (RabbitMQ, `prevent_startup_if_node_was_reset`): a member with the marker and without
  data does not start;
* several seeds (Redpanda, seeds-driven): members found a cluster only together, if all are blank;
* if-empty (Valkey): a member that has data does not take the data of an empty primary;
* locked cluster id (Elasticsearch): a member that has a cluster id joins no other cluster;
* activation sequence (Artemis): only a member with the last number of an outside register may
  serve alone;
* directory ids (KRaft): a majority of known disks elects the newest; a new disk is a stranger.

The names in brackets are the sources of the rules.  Each world has only the rule, in a small
cluster, not the whole product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from joinproto.check.properties import Property, always, always_possible, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto_worlds.incidents.words import Incident, does, nodes_with

DESTROYED, SPLIT, OLD = "no copy is left", "two clusters", "old data are served"
STANDS_STILL = "stands still"
"""The names of the claims in these worlds: each names the harm if the claim is broken."""

NAMES = ("m1", "m2", "m3")
SEED = "m1"

FIXES = {
    "none": "no fix",
    "flag": "mark of a clean stop",
    "marker": "marker file",
    "seeds": "several seeds",
    "if-empty": "if-empty",
    "locked": "locked cluster id",
    "sequence": "activation sequence",
    "ids": "directory ids",
}

LOST = {"cluster": 0, "data": 0, "number": 0}
"""A database that is lost, in a directory that still exists."""

FAULTS: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {
    "no fault": ("no fault", {}),
    "database": ("the seed's database is lost, its directory is there", {"m1": LOST}),
    "volume": ("the seed's volume is lost", {"m1": {**LOST, "marker": False, "known": False}}),
    "two volumes": (
        "two volumes are lost",
        {name: {**LOST, "marker": False, "known": False} for name in ("m1", "m3")},
    ),
    "older copy": ("an older copy of a disk is put back", {"m2": {"data": 5, "number": 1}}),
    "half copy": ("a copy of the data is cut off in the middle", {"m3": {"data": 4}}),
    "fast restart": (
        "the seed is back, blank, before it is missed",
        {"m1": {**LOST, "marker": False, "known": False, "up": False, "role": ""}},
    ),
    "killed": ("all are killed at once", {"m2": {"flag": False}}),
    "register": ("the outside service loses its data", {"register": {"number": 0}}),
    "cut": ("the network is cut at the first start", {"net": {"cut": True}}),
}
"""Each fault: its words, and its effect on members."""


def world(fix: str, fault: str) -> World:
    is_first_start = fault == "cut"
    is_running = fault == "fast restart"
    fresh = {"up": False, "role": "", **LOST, "marker": False, "known": True, "flag": False}
    nodes = {
        name: fresh
        if is_first_start
        else {
            **fresh,
            "up": is_running,
            "role": ("primary" if name == SEED else "replica") if is_running else "",
            "cluster": 1,
            # With elections by a majority, a majority is also enough to acknowledge.
            "data": 8 if fix == "ids" and name == "m3" else 9,
            "number": 2,
            "marker": True,
            # All members were stopped in order, and m2 was the last.
            "flag": name == "m2" and not is_running,
        }
        for name in NAMES
    }
    if fault == "half copy" and fix == "sequence":
        # With this fix the number is 0 until the copy is complete.
        changes: Mapping[str, Mapping[str, Any]] = {"m3": {"data": 4, "number": 0}}
    else:
        changes = FAULTS[fault][1]
    acknowledged = 0 if is_first_start else 9
    net = {"cut": False, "happened": fault == "no fault", "founded": 0 if is_first_start else 1}
    register = {"number": 0 if is_first_start else 2}

    def steps(view: View) -> Iterator[Together]:
        if not view["net"].happened:
            changed = {name: dict(fields) for name, fields in changes.items()}
            changed["net"] = {**changed.get("net", {}), "happened": True}
            yield does(FAULTS[fault][0], **changed)
            return
        if view["net"].cut:
            yield does("the network is whole again", net={"cut": False})
        for name in NAMES:
            yield from _steps_of(fix, name, view)

    return Incident(
        nodes={**nodes, "net": net, "register": register},
        steps=steps,
        claims=_claims(acknowledged),
    ).world(f"{fix} against {fault}")


def _claims(acknowledged: int) -> list[Property]:
    def primaries(view: View) -> list[Any]:
        return list(nodes_with(view, up=True, role="primary").values())

    def serves(view: View) -> bool:
        found = primaries(view)
        return len({it.cluster for it in found}) == 1 and all(
            it.data >= acknowledged for it in found
        )

    return [
        always(
            DESTROYED,
            lambda view: any(view[name].data >= acknowledged for name in NAMES),
        ),
        always(SPLIT, lambda view: len({it.cluster for it in primaries(view)}) <= 1),
        always(OLD, lambda view: all(it.data >= acknowledged for it in primaries(view))),
        always_possible(STANDS_STILL, serves),
        sometimes("one cluster serves", serves),
    ]


def _steps_of(fix: str, name: str, view: View) -> Iterator[Together]:
    """Yield the steps of a member: join, found, or start with its own store."""
    me, net = view[name], view["net"]
    if me.role == "primary" or (fix == "marker" and me.marker and not me.cluster):
        return
    seen = {
        other: view[other]
        for other in NAMES
        if other != name and view[other].up and not (net.cut and SEED in (name, other))
    }
    primaries = [other for other, it in seen.items() if it.role == "primary"]
    for other in primaries:
        it = view[other]
        joined = {"up": True, "role": "replica", "cluster": it.cluster, "data": it.data}
        is_new = (me.cluster, me.data) != (it.cluster, it.data) or not me.up
        if is_new and _may_join(fix, me, it):
            after = {**joined, "number": it.number, "marker": True}
            yield does(f"{name} joins {other}, and takes its data", **{name: after})
    if primaries:
        return
    if not me.cluster:
        if name == SEED and _may_found(fix, view):
            number = net.founded + 1
            new = {"up": True, "role": "primary", "cluster": number, "marker": True, "number": 1}
            yield does(
                f"{name} founds a cluster",
                **{name: new},
                net={"founded": number},
                register={"number": 1},
            )
    elif fix == "ids":
        yield from _elect(name, view, seen)
    elif (fix != "flag" or me.flag) and (fix != "sequence" or me.number == view["register"].number):
        next_number = me.number + 1 if fix == "sequence" else me.number
        yield does(
            f"{name} sees no primary, and serves",
            **{name: {"up": True, "role": "primary", "number": next_number}},
            register={"number": next_number},
        )


def _may_join(fix: str, me: Any, primary: Any) -> bool:
    if fix in ("locked", "ids"):
        return me.cluster in (0, primary.cluster)
    return not (fix == "if-empty" and me.data and not primary.data)


def _may_found(fix: str, view: View) -> bool:
    match fix:
        case "seeds":
            return not view["net"].cut and not any(view[name].cluster for name in NAMES)
        case "sequence":
            return not view["register"].number
        case "ids" | "flag":
            return not view["net"].founded
    return True


def _elect(name: str, view: View, seen: Mapping[str, Any]) -> Iterator[Together]:
    """Yield elections: two of three known disks are enough, and the newer one leads."""
    me = view[name]
    if not me.up:
        yield does(f"{name} starts, and asks for votes", **{name: {"up": True}})
        return
    for other, it in seen.items():
        if it.cluster == me.cluster and me.known and it.known and it.data <= me.data:
            led = {"role": "replica", "data": me.data}
            yield does(
                f"{name} is elected with the vote of {other}",
                **{name: {"role": "primary"}, other: led},
            )
