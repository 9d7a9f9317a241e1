"""Incidents of Redis, Valkey and etcd: a store that is empty or wrong, and counts as the truth."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import always, always_possible, sometimes
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
    not_blank,
    serving,
    spread,
)

ETCD = ("n1", "n2", "n3")


@incident(
    "redis-empty",
    "Redis Sentinel, KubeBlocks",
    "https://github.com/apecloud/kubeblocks/issues/10753",
    deployed=("the primary is back, empty, before it is missed, and its replicas follow it", 4),
    fixed=("a primary that comes back empty does not lead: a replica is promoted", None),
)
def redis_empty(rule: Rule) -> Incident:
    """The Redis primary and its volume are lost.  The pod is recreated within 14 seconds; the
    failure detection needs 20.  The new pod asks Sentinel which member the primary is, is given
    its own address, and starts as the primary with an empty dataset.  The replicas do a full sync
    from it.  All keys are gone on every node, and the append-only files with them.  Redis has known
    the same since 2014 (issue 2087).
    """
    replica = {"up": True, "serves": False, "data": 9}

    def steps(view: View) -> Iterator[Together]:
        primary = view["sentinel"].primary
        if view["a"].up:
            gone = {**DOWN, "data": 0}
            yield fault("the pod of the primary and its volume are lost", a=gone)
        else:
            leads = primary == "a" and rule == "deployed"
            back = "as the primary, as sentinel says" if leads else "as a replica"
            yield does(f"a is there again, empty, {back}", a={"up": True, "serves": leads})
        if not view[primary].serves:
            for name in ("b", "c"):
                yield does(
                    f"sentinel misses the primary, and promotes {name}",
                    **{name: {"serves": True}},
                    sentinel={"primary": name},
                )
        else:
            others = [name for name in ("a", "b", "c") if view[name].up]
            yield from spread(view, primary, to=others)

    return Incident(
        nodes={
            "a": {**replica, "serves": True},
            "b": replica,
            "c": replica,
            "sentinel": {"primary": "a"},
        },
        steps=steps,
        claims=[
            kept(9),
            can_serve(),
            sometimes("a replica is promoted", lambda view: view["sentinel"].primary != "a"),
        ],
        faults={"the pod of the primary and its volume are lost": 1},
    )


@incident(
    "valkey-never-synced",
    "Valkey cluster",
    "https://github.com/valkey-io/valkey/issues/579",
    deployed=("a replica that never finished its first sync is elected, and serves nothing", 2),
    fixed=("an empty replica does not stand (`if-empty`): the shard waits for the primary", None),
)
def never_synced(rule: Rule) -> Incident:
    """The primary of a shard fails.  Its only replica has never finished the first full
    resynchronization, its replication offset is 0.  It is the only candidate, so it is elected.
    The shard is up and empty, and that is noticed much later.  When the old primary returns it
    becomes a replica of the empty one and loses its data as well.
    """

    def steps(view: View) -> Iterator[Together]:
        p, r = view["p"], view["r"]
        if p.up and p.serves:
            yield fault("the primary fails", p=DOWN)
        if p.serves and not r.data:
            yield does("r finishes its first sync", r={"data": p.data})
        if not p.up and not r.serves and (r.data or rule == "deployed"):
            yield does("r is elected", r={"serves": True})
        if not p.up:
            yield does("p is started again", p={"up": True, "serves": not r.serves})
        if p.up and r.serves:
            yield from spread(view, "r", to=["p"])

    return Incident(
        nodes={
            "p": {**UP, "data": 9},
            "r": {"up": True, "serves": False, "data": 0},
        },
        steps=steps,
        claims=[
            not_blank(),
            kept(9),
            can_serve(),
            sometimes("the replica serves the data", lambda v: v["r"].serves and v["r"].data == 9),
        ],
        faults={"the primary fails": 1},
    )


@incident(
    "twilio-2013",
    "Redis, Twilio billing",
    "https://www.twilio.com/blog/2013/07/billing-incident-post-mortem-breakdown-analysis-and-root-cause.html",
    deployed=("restarted with the wrong configuration, the master is empty and read-only", 2),
    fixed=("a balance is compared with the books of a second store before a card is charged", None),
    left=("the books stop the charges, and the balances in Redis are gone all the same", 2),
)
def twilio(rule: Rule) -> Incident:
    """After a network blip all replicas resynchronize at once and overload the Redis master, so it
    is restarted.  It reads the wrong configuration file: it looks for an append-only file that does
    not exist, and comes up empty, as a read-only slave of itself.  All account balances are zero.
    Billing sees zero, charges the credit card, cannot write the new balance, and charges the
    customer again and again.
    """

    def steps(view: View) -> Iterator[Together]:
        master = view["master"]
        if master.role == "master":
            wrong = {"role": "read-only replica", "data": 0}
            yield fault("the master is restarted with the wrong configuration", master=wrong)
        yield from spread(view, "master", to=["replica"])
        doubts = rule != "deployed" and view["billing"].books != master.data
        if master.data == 0 and not doubts:
            yield does("billing sees a balance of 0, and charges the card", billing={"charges": 1})
        if master.data == 0 and doubts:
            yield does("billing sees that the books differ, and stops", billing={"stopped": True})

    return Incident(
        nodes={
            "master": {"role": "master", "data": 9},
            "replica": {"data": 9},
            "billing": {"charges": 0, "books": 9, "stopped": False},
        },
        steps=steps,
        claims=[
            kept(9)
            if rule == "left"
            else always(
                "a customer with money is not charged", lambda view: not view["billing"].charges
            ),
            sometimes("the balances are gone", lambda view: view["replica"].data == 0),
        ],
        faults={"the master is restarted with the wrong configuration": 1},
    )


@incident(
    "etcd-blank-majority",
    "etcd",
    "https://github.com/etcd-io/etcd/issues/12227",
    deployed=("two blank members found another cluster, and the only good copy joins them", 6),
    fixed=("`existing` after the founding, and the cluster id is checked: the data stay", None),
    left=("with two of three disks lost no majority ever returns", 2),
)
def blank_majority(rule: Rule) -> Incident:
    """All three etcd members are configured with initial-cluster-state=new, for life.  Member 3
    loses its disk and bootstraps a new cluster id.  Member 2 restarts after an I/O error, on an
    empty data directory, and pairs with member 3.  Member 1 has all the data; it is restarted,
    finds a majority of the others, and joins them.  The only good copy is overwritten with
    nothing.
    """
    blank = {"up": False, "cluster": "", "data": 0}

    def steps(view: View) -> Iterator[Together]:
        old = [name for name in ETCD if view[name].up and view[name].cluster == "X"]
        for name in ("n2", "n3"):
            if view[name].cluster == "X":
                yield fault(f"{name} is stopped, and its disk is empty", **{name: blank})
        if view["n1"].up and len(old) == 1:
            yield fault("n1 is restarted", n1={"up": False})
        for name in ETCD:
            it = view[name]
            new = [other for other in ETCD if view[other].cluster == "Y"]
            if it.up:
                continue
            if rule == "deployed" and not it.cluster:
                yield does(
                    f"{name} founds a cluster, as `new` says",
                    **{name: {"up": True, "cluster": "Y"}},
                )
            elif rule == "deployed" and len(new) == 2:
                yield does(
                    f"{name} joins the majority", **{name: {"up": True, "cluster": "Y", "data": 0}}
                )
            elif it.cluster:
                yield does(f"{name} starts with its data", **{name: {"up": True}})
            elif len(old) >= 2:
                yield does(
                    f"{name} is added again, and catches up",
                    **{name: {"up": True, "cluster": "X", "data": 9}},
                )

    def majority(view: View) -> bool:
        return len(nodes_with(view, up=True, data=9)) >= 2

    return Incident(
        nodes={name: {"up": True, "cluster": "X", "data": 9} for name in ETCD},
        steps=steps,
        claims=[
            kept(9),
            sometimes(
                "a member is back after a fault",
                lambda view: any(
                    view[name].up and view["faults"] is not None for name in ("n2", "n3")
                ),
            ),
            *([always_possible("a majority can serve again", majority)] if rule == "left" else []),
        ],
        faults={
            "n2 is stopped, and its disk is empty": 1,
            "n3 is stopped, and its disk is empty": 1,
            "n1 is restarted": 1,
        },
    )


@incident(
    "etcd-force-new",
    "etcd, K3s",
    "https://github.com/etcd-io/etcd/issues/14009",
    deployed=("the forced member's database has what its log no longer has; others are rebuilt", 3),
    fixed=("all members are restored from one snapshot: one log, one database", None),
)
def force_new(rule: Rule) -> Incident:
    """One etcd member is started with --force-new-cluster.  The database files of the other two
    are removed, and they rejoin.  From then on reads of some keys give different values on
    different members, although the write-ahead logs show the same sequence of events.  The cause
    was never found, and the thread was closed as stale.  This world has one that fits: the
    forced member's database has applied an entry that is cut from its log.
    """

    def steps(view: View) -> Iterator[Together]:
        if view["n2"].up:
            down = {"up": False}
            yield fault("all members are killed", n1=down, n2=down, n3=down)
        elif rule == "fixed":
            same = {"up": True, "log": "a", "db": "a"}
            if not view["n1"].up:
                yield does("all are restored from one snapshot", n1=same, n2=same, n3=same)
        elif not view["n1"].up:
            yield does("n1 is started with --force-new-cluster", n1={"up": True, "log": "a"})
        else:
            for name in ("n2", "n3"):
                again = {"up": True, "log": view["n1"].log, "db": view["n1"].log}
                yield does(f"{name} rejoins with empty files, from n1's log", **{name: again})

    def alike(view: View) -> bool:
        running = [it for it in (view[name] for name in ETCD) if it.up]
        return len({it.db for it in running}) <= len({it.log for it in running})

    return Incident(
        nodes={
            "n1": {"up": True, "log": "ab", "db": "ab"},
            "n2": {"up": True, "log": "a", "db": "a"},
            "n3": {"up": True, "log": "a", "db": "a"},
        },
        steps=steps,
        claims=[
            always("members with one log have one database", alike),
            sometimes("they were killed", lambda view: not serving(view) and not view["n2"].up),
        ],
        faults={"all members are killed": 1},
    )


@incident(
    "etcd-learner-two-stores",
    "etcd 3.5 to 3.6",
    "https://github.com/etcd-io/etcd/issues/20793",
    deployed=(
        "a promotion is written to one of two stores, and the new release reads the other",
        2,
    ),
    fixed=("both stores are written, and corrected at the start", None),
    left=("a snapshot of a member that is not corrected carries the old fact on", 3),
)
def two_stores(rule: Rule) -> Incident:
    """A learner is promoted to a voting member.  Releases 3.5.1 to 3.5.19 record the promotion
    in the old membership store only, not in the database.  After the upgrade to 3.6, which reads
    the database, the member is a learner again: "too many learners in cluster", and etcd panics.
    A snapshot sent by a member that was not corrected brings the wrong fact to others.
    """
    writes = {"old": "voter"} if rule == "deployed" else {"old": "voter", "new": "voter"}

    def steps(view: View) -> Iterator[Together]:
        m, other = view["m"], view["other"]
        if m.old == "learner":
            yield does("the learner is promoted", m=writes)
        if not m.upgraded:
            yield does("m is upgraded to 3.6, which reads the new store", m={"upgraded": True})
        if rule == "left" and m.new != other.new:
            yield fault("m gets a snapshot of a member that is not corrected", m={"new": other.new})

    return Incident(
        nodes={
            "m": {"old": "learner", "new": "learner", "upgraded": False},
            "other": {"new": "learner"},
        },
        steps=steps,
        claims=[
            always(
                "a promoted member is not a learner again",
                lambda v: not (v["m"].upgraded and v["m"].old == "voter" != v["m"].new),
            ),
            sometimes("it is upgraded", lambda view: view["m"].upgraded),
        ],
        faults={"m gets a snapshot of a member that is not corrected": 1} if rule == "left" else {},
    )
