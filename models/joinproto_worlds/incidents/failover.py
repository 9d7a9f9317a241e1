"""Incidents of failover: the promoted member, and the fate of the old primary's writes."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import always, always_possible, eventually_always, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together
from joinproto_worlds.incidents.catalogue import Rule, incident
from joinproto_worlds.incidents.words import (
    DOWN,
    UP,
    Incident,
    can_serve,
    does,
    fault,
    kept,
    nodes_with,
    serving,
    spread,
)


@incident(
    "github-2018",
    "GitHub, MySQL and Orchestrator",
    "https://github.blog/2018-10-30-oct21-post-incident-analysis/",
    deployed=("the majority promotes a replica while applications reach the old primary", 4),
    fixed=("no promotion across regions: one line of writes, and a way on", None),
    left=("in one region the old primary is not fenced either", 4),
)
def github(rule: Rule) -> Incident:
    """The link between the US East Coast data center and the others is down for 43 seconds.
    Orchestrator's majority on the other side promotes replicas on the West Coast.  The old
    MySQL primaries in the East are still reachable by the applications there and have taken
    writes that were not replicated.  So two primaries take writes, one in each region.  When
    the network is back both sides have writes that the other has not, so no member can fail back.
    24 hours of degraded service.
    """

    def steps(view: View) -> Iterator[Together]:
        east, west, link = view["east"], view["west"], view["net"].link
        if link:
            yield fault("the link is cut for 43 seconds", net={"link": False})
            if west.log != east.log and east.log.startswith(west.log):
                yield does("the writes are replicated", west={"log": east.log})
        else:
            yield does("the link is back", net={"link": True})
            if not west.serves and rule != "fixed":
                yield does("the majority promotes the replica", west={"serves": True})
        if east.serves and "e" not in east.log:
            yield does("applications write to the old primary", east={"log": east.log + "e"})
        if west.serves and "w" not in west.log:
            yield does("applications write to the new primary", west={"log": west.log + "w"})

    def one_line(view: View) -> bool:
        a, b = view["east"].log, view["west"].log
        return bool(a.startswith(b) or b.startswith(a))

    return Incident(
        nodes={
            "east": {"serves": True, "log": "a"},
            "west": {"serves": False, "log": "a"},
            "net": {"link": True},
        },
        steps=steps,
        claims=[
            always("one line of writes", one_line),
            can_serve(),
            sometimes("a write is on both sides", lambda view: "e" in view["west"].log),
        ],
        faults={"the link is cut for 43 seconds": 1},
    )


@incident(
    "cloudflare-2020",
    "etcd, Cloudflare",
    "https://blog.cloudflare.com/a-byzantine-failure-in-the-real-world/",
    deployed=("a member that does not hear the leader stands again and again", 6),
    fixed=("with pre-vote a member asks first whether it would be elected: a leader stays", None),
)
def cloudflare(rule: Rule) -> Incident:
    """A switch is half dead.  In an etcd cluster of three members, member 1 no longer reaches
    the leader, member 3, while member 2 reaches both: a partial partition.  Member 1 hears no
    heartbeats, starts an election with a higher term, and forces the leader to step down.
    Member 2 keeps voting for 3, and it begins again: one election after another, no stable
    leader.  Nothing can be written to the database for more than six hours.
    """

    def steps(view: View) -> Iterator[Together]:
        one, leads = view["n1"], view["n3"].leads
        if not view["switch"].half_dead:
            yield fault("the switch drops what 1 and 3 send each other", switch={"half_dead": True})
        elif not one.is_ahead and (rule == "deployed" or not leads):
            yield does("1 hears no leader, and stands with a higher term", n1={"is_ahead": True})
        if one.is_ahead and leads:
            yield does("2 answers 3 with the higher term, and 3 steps down", n3={"leads": False})
        if not leads:
            newer = {"is_ahead": False}
            yield does("3 stands, 2 votes for it, and it leads", n1=newer, n3={"leads": True})

    return Incident(
        nodes={"n1": {"is_ahead": False}, "n3": {"leads": True}, "switch": {"half_dead": False}},
        steps=steps,
        claims=[
            eventually_always("a leader stays", lambda view: view["n3"].leads),
            sometimes("the switch is half dead", lambda view: view["switch"].half_dead),
        ],
        faults={"the switch drops what 1 and 3 send each other": 1},
    )


@incident(
    "cnpg-lagging",
    "PostgreSQL, CloudNativePG",
    "https://github.com/cloudnative-pg/cloudnative-pg/issues/7481",
    deployed=("a standby that lags is promoted, and all others are rewound to it", 6),
    fixed=("failover quorum: promotion waits for enough answers, and takes the newest", None),
)
def cnpg_lagging(rule: Rule) -> Incident:
    """The PostgreSQL primary dies.  The local standby lags behind; a remote replica has
    everything, because it confirmed the synchronous commits.  The operator promotes the local
    standby without checking a quorum.  The old primary and the remote replica are rewound to
    its timeline with pg_rewind, and transactions that were committed are dropped.
    """

    def steps(view: View) -> Iterator[Together]:
        p = view["p"]
        if p.up and p.serves:
            yield fault("the primary dies", p=DOWN)
        if view["remote"].answers:
            yield fault("the remote replica does not answer", remote={"answers": False})
        elif not serving(view):
            yield does("the remote replica answers again", remote={"answers": True})
        if not p.up:
            yield does("p comes back as a standby", p={"up": True})
        answer = nodes_with(view, answers=True)
        if not serving(view) and (rule == "deployed" or len(answer) == 2):
            best = max(answer, key=lambda name: answer[name].data)
            yield does(f"{best} is promoted", **{best: {"serves": True}})
        for name in serving(view):
            yield from spread(view, name, to=nodes_with(view, up=True))

    standby = {"up": True, "serves": False, "answers": True}
    return Incident(
        nodes={
            "p": {**UP, "data": 9, "answers": False},
            "local": {**standby, "data": 8},
            "remote": {**standby, "data": 9},
        },
        steps=steps,
        claims=[
            kept(9),
            can_serve(),
            sometimes("a standby is promoted", lambda view: view["remote"].serves),
        ],
        faults={"the primary dies": 1, "the remote replica does not answer": 1},
    )


@incident(
    "cnpg-partition",
    "PostgreSQL, CloudNativePG and Canonical's charm",
    "https://github.com/canonical/postgresql-operator/issues/1153",
    deployed=("the old primary takes writes behind a cut; later its directory is deleted", 6),
    fixed=("a diverged directory is not deleted: a person finds the writes there", None),
    left=("two primaries take writes at a time", 2),
)
def cnpg_partition(rule: Rule) -> Incident:
    """The primary is isolated by a network partition and still reachable for clients on its
    side.  The other side promotes a standby.  Both accept writes: split brain.  When the
    network is back the old primary cannot follow, because its timeline has diverged, and an
    option of the high availability tool removes its data directory and clones the new primary.
    The writes it had acknowledged are gone.
    """

    def steps(view: View) -> Iterator[Together]:
        p, q, link = view["p"], view["q"], view["net"].link
        if link:
            yield fault("the network is cut", net={"link": False})
            if p.serves and q.serves:
                yield does("p finds a newer primary, and stops", p={"serves": False})
            if not p.serves and p.data != q.data and rule == "deployed":
                yield does("p's directory is removed, and q is cloned", p={"data": q.data})
        else:
            yield does("the network is back", net={"link": True})
            if not q.serves:
                yield does("the other side promotes q", q={"serves": True})
        if p.serves and p.data == 8:
            both = {"q": {"data": 9}} if link and not q.serves else {}
            told = {"p": {"data": 9}, "client": {"was_told": 9}}
            yield does("a client writes to p, which acknowledges", **told, **both)

    acknowledged = always(
        "what a client was told is on a disk",
        lambda view: view["client"].was_told in (0, view["p"].data, view["q"].data),
    )
    one = always("one primary takes writes", lambda view: len(serving(view)) <= 1)
    return Incident(
        nodes={
            "p": {"serves": True, "data": 8},
            "q": {"serves": False, "data": 8},
            "net": {"link": True},
            "client": {"was_told": 0},
        },
        steps=steps,
        claims=[
            one if rule == "left" else acknowledged,
            can_serve(),
            sometimes("the other side has the write", lambda view: view["q"].data == 9),
        ],
        faults={"the network is cut": 1},
    )


@incident(
    "stripe-2019",
    "Stripe",
    "https://stripe.com/rcas/2019-07-10",
    deployed=("two members answer health checks and make no progress; the primary fails", 3),
)
def stripe(rule: Rule) -> Incident:
    """Two members of a database shard stall: they answer health checks, report themselves as
    healthy and even vote, but replicate nothing.  It goes unnoticed for days.  Then the primary of
    the shard fails, and no new primary can be elected: the members that are left have none of
    the last writes.  Requests to that shard fail until a person restarts it.
    """
    names = ("s1", "s2")

    def steps(view: View) -> Iterator[Together]:
        p = view["p"]
        for name in names:
            it = view[name]
            if not it.stalls and p.up:
                stalled = {"stalls": True, "data": 8}
                yield fault("a member stalls, and answers all checks", **{name: stalled})
            if not p.up and not serving(view) and not it.stalls:
                yield does(f"{name} is elected", **{name: {"serves": True}})
        if p.up:
            yield fault("the primary fails", p=DOWN)

    return Incident(
        nodes={
            "p": {**UP, "data": 9},
            **{name: {"stalls": False, "serves": False, "data": 9} for name in names},
        },
        steps=steps,
        claims=[
            always_possible("a primary can be elected", lambda view: bool(serving(view))),
            sometimes("a member is elected", lambda view: view["s1"].serves),
        ],
        faults={"a member stalls, and answers all checks": 2, "the primary fails": 1},
    )
