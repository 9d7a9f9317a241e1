"""Incidents of NATS, Artemis, Kafka and Redpanda: which members may lead or found a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import always, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together
from joinproto_worlds.incidents.catalogue import Rule, incident
from joinproto_worlds.incidents.words import (
    DOWN,
    UP,
    Incident,
    all_serve,
    can_serve,
    clusters,
    does,
    fault,
    kept,
    nodes_with,
    not_blank,
    one_cluster,
    serving,
)

SERVERS = ("n1", "n2", "n3")


@incident(
    "nats-first-starter",
    "NATS JetStream",
    "https://github.com/nats-io/nats-server/issues/2792",
    deployed=("two servers without data come back first, and are a majority of three", 6),
)
def first_starter(rule: Rule) -> Incident:
    """A JetStream cluster of three servers.  Two lose their store (a stale NFS file handle), so
    JetStream shuts down, and the third server is stopped as well.  What happens next depends on
    which server comes back first.  If the one with the data starts first, the others pick the
    data up.  If the blank ones start first they form a new meta group: stream report says "No
    Streams defined", and a stream that is created again collides with the old one.
    """

    def steps(view: View) -> Iterator[Together]:
        up = nodes_with(view, up=True)
        for name in ("n2", "n3"):
            if view[name].up and view[name].data:
                lost = {**DOWN, "data": 0}
                yield fault("two servers lose their store", **{name: lost}, n1={"serves": False})
        if list(up) == ["n1"]:
            yield fault("the last server is stopped", n1=DOWN)
        for name in SERVERS:
            if view[name].up:
                continue
            data = max([view[name].data, *(it.data for it in up.values())])
            yield does(f"{name} is started", **{name: {"up": True, "data": data}})
        if len(up) >= 2:
            group = {name: {"serves": True, "data": it.data} for name, it in up.items()}
            if any(not it.serves for it in up.values()):
                yield does("a majority forms a meta group", **group)

    return Incident(
        nodes={name: {**UP, "data": 9} for name in SERVERS},
        steps=steps,
        claims=[not_blank(), all_serve(), can_serve()],
        faults={"two servers lose their store": 2, "the last server is stopped": 1},
    )


@incident(
    "nats-orphans",
    "NATS JetStream",
    "https://github.com/nats-io/nats-server/issues/7556",
    deployed=("a leader that has forgotten the streams takes them for orphans, and deletes", 6),
)
def orphans(rule: Rule) -> Incident:
    """Two of three NATS servers are killed, and the snapshot of the meta group on their disks
    is corrupt ("Snapshot corrupt, too short").  After the restart one of them becomes the
    metadata leader.  It knows no streams, so the servers say "Detected orphaned stream, will
    cleanup" and delete the stream's data directories.  Not to know of a stream was taken for
    knowing that there is none.
    """

    def steps(view: View) -> Iterator[Together]:
        leader = view["meta"].leader
        for name in SERVERS:
            it = view[name]
            if it.up and it.knows:
                killed = {"up": False, "knows": False}
                led = {"meta": {"leader": ""}} if name == leader else {}
                yield fault(
                    "a server is killed, its meta snapshot is corrupt", **{name: killed}, **led
                )
            if not it.up:
                yield does(f"{name} is restarted", **{name: {"up": True}})
            if it.up and not leader:
                yield does(f"{name} becomes the metadata leader", meta={"leader": name})
            if leader and it.up and it.data:
                if not it.knows and view[leader].knows:
                    yield does(f"{name} learns the streams", **{name: {"knows": True}})
                if not view[leader].knows:
                    yield does(
                        f"{name} cleans up an orphaned stream",
                        **{name: {"data": 0, "knows": False}},
                    )

    return Incident(
        nodes={
            **{name: {"up": True, "knows": True, "data": 9} for name in SERVERS},
            "meta": {"leader": "n1"},
        },
        steps=steps,
        claims=[kept(9), sometimes("another one leads", lambda v: v["meta"].leader == "n2")],
        faults={"a server is killed, its meta snapshot is corrupt": 2},
    )


@incident(
    "nats-removal",
    "NATS JetStream, Jepsen",
    "https://github.com/nats-io/nats-server/issues/7545",
    deployed=("a leader without a majority removes peers alone, and then has a majority", 5),
    fixed=("a removal counts once a majority of the peers before it has it", None),
)
def removal(rule: Rule) -> Incident:
    """A partition isolates the leader of a five-server NATS cluster with one other, and peers are
    removed in quick succession.  The leader in the minority applies the removals at once, before
    they are committed.  Peer sets and quorum sizes now differ: both sides have a majority of the
    peers that they assume, both acknowledge records, and one side's are lost.
    """
    small, large = ("n1", "n2"), ("n3", "n4", "n5")
    peers = (*small, *large)

    def steps(view: View) -> Iterator[Together]:
        cut = view["net"].cut
        if not cut:
            yield fault("n1 and n2 are cut off", net={"cut": True})
        known = view["n1"].peers
        reached = small if cut else peers
        commits = 2 * len([name for name in reached if name in known]) > len(known)
        for gone in ("n4", "n5"):
            if gone in known and (rule == "deployed" or commits):
                rest = tuple(name for name in known if name != gone)
                heard = {name: {"peers": rest} for name in reached if rule == "fixed" or cut}
                yield does(f"n1 removes {gone}", **{"n1": {"peers": rest}, **heard})
        if cut and commits:
            yield does("n1 has a majority of its peers, and acknowledges", n1={"serves": True})
        theirs = view["n3"].peers
        if cut and 2 * len([name for name in large if name in theirs]) > len(theirs):
            yield does("n3 is elected by the others, and acknowledges", n3={"serves": True})

    first = {"peers": peers, "serves": False}
    return Incident(
        nodes={**dict.fromkeys(peers, first), "net": {"cut": False}},
        steps=steps,
        claims=[
            always("one side acknowledges", lambda view: len(serving(view)) <= 1),
            sometimes("the larger side leads", lambda view: view["n3"].serves),
            sometimes("a peer is removed", lambda view: len(view["n1"].peers) < 5),
        ],
        faults={"n1 and n2 are cut off": 1},
    )


@incident(
    "nats-peer-file",
    "NATS JetStream",
    "https://github.com/nats-io/nats-server/pull/7602",
    deployed=("the leader does not write the removal down: a restart brings the peer back", 2),
    fixed=("the peer file is written with the removal", None),
)
def peer_file(rule: Rule) -> Incident:
    """The leader of a Raft group removes a peer and does not rewrite its peer file.  After a
    restart it reads the file: the removed peer is a member again, and the quorum has its old
    size.  One fact lies in two registers, and a crash falls between the two writes.
    """

    def steps(view: View) -> Iterator[Together]:
        n1 = view["n1"]
        if not n1.removed:
            written = {} if rule == "deployed" else {"file": 2}
            yield does("n1 removes n3", n1={"peers": 2, "removed": True, **written})
        yield fault("n1 is restarted, and reads its peer file", n1={"peers": n1.file})

    return Incident(
        nodes={"n1": {"peers": 3, "file": 3, "removed": False}},
        steps=steps,
        claims=[
            always("who was removed stays out", lambda v: not v["n1"].removed or v["n1"].peers < 3),
            sometimes("a peer is removed", lambda view: view["n1"].removed),
        ],
        faults={"n1 is restarted, and reads its peer file": 1},
    )


@incident(
    "artemis-half-copy",
    "ActiveMQ Artemis",
    "https://github.com/apache/activemq-artemis/pull/3687",
    deployed=("a backup with the identity and half of the journal believes that it may serve", 3),
    fixed=("a backup's own sequence is 0 until the copy is whole", None),
)
def half_copy(rule: Rule) -> Incident:
    """An Artemis backup has received the node id and the activation sequence of its primary,
    and the copy of the journal is unfinished.  The primary stops.  The backup is restarted,
    finds the right identity and the right sequence on its disk, believes to be in sync and
    becomes live.  Half of the messages are not there.
    """

    def steps(view: View) -> Iterator[Together]:
        p, b = view["p"], view["b"]
        if p.up and b.number == 0 and not b.data:
            number = {"number": 1} if rule == "deployed" else {}
            yield does(
                "b gets the identity, the journal is still copied", b={"identity": "A", **number}
            )
        if p.up and b.identity and not b.data:
            yield does("b has all of the journal", b={"data": 9, "number": 1})
        if p.up:
            yield fault("the primary stops", p=DOWN)
        else:
            if b.number == 1 and not b.serves:
                yield does("b is restarted: identity and sequence are right", b={"serves": True})
            if not b.serves:
                yield does("p is started again", p=UP)

    return Incident(
        nodes={
            "p": {**UP, "data": 9},
            "b": {"up": True, "serves": False, "identity": "", "number": 0, "data": 0},
        },
        steps=steps,
        claims=[
            not_blank(),
            can_serve(),
            sometimes("the backup serves", lambda view: view["b"].serves),
        ],
        faults={"the primary stops": 1},
    )


@incident(
    "artemis-two-live",
    "ActiveMQ Artemis",
    "https://github.com/apache/activemq-artemis/pull/3555",
    deployed=("a primary that sees no live broker starts: it was cut off", 4),
    fixed=("each that serves holds a lock of an outside service", None),
    left=("the lock is a file on NFS, and comes back while its holder serves", 5),
)
def two_live(rule: Rule) -> Incident:
    """The Artemis primary fails and the backup becomes live.  The primary is restarted while
    the network between them is down.  It looks for a live broker with its node id, finds none,
    and starts: split brain, two live brokers with one identity, each taking messages.  With a
    shared store on NFS the same happens when the lock of the file comes back.
    """

    def steps(view: View) -> Iterator[Together]:
        p, b, link, lock = view["p"], view["b"], view["net"].link, view["lock"].holder
        asks = rule != "deployed"
        if p.up and not b.serves:
            yield fault("the primary fails", p=DOWN, lock={"holder": ""})
        if link:
            yield fault("the network between them is down", net={"link": False})
        else:
            yield does("the network is back", net={"link": True})
        if rule == "left" and lock:
            yield fault("the lock comes back", lock={"holder": ""})
        if not p.up and not b.serves and (not asks or not lock):
            taken = {"cluster": "b", "serves": True}
            yield does("b becomes live", b=taken, lock={"holder": "b"})
        sees_a_live_one = b.serves and link
        if not p.up and (not asks or not lock) and not sees_a_live_one:
            yield does("p finds no live broker, and starts", p=UP, lock={"holder": "p"})

    faults = {"the primary fails": 1, "the network between them is down": 1}
    return Incident(
        nodes={
            "p": {**UP, "cluster": "p"},
            "b": {"up": True, "serves": False, "cluster": ""},
            "net": {"link": True},
            "lock": {"holder": "p"},
        },
        steps=steps,
        claims=[
            one_cluster(),
            can_serve(),
            sometimes("the backup is live", lambda view: view["b"].serves),
        ],
        faults={**faults, "the lock comes back": 1} if rule == "left" else faults,
    )


@incident(
    "kafka-second-quorum",
    "Kafka KRaft, cp-ansible",
    "https://github.com/confluentinc/cp-ansible/pull/2686",
    deployed=(
        "controllers that name each other as voters elect one before they hear the quorum",
        1,
    ),
    fixed=("new controllers are formatted without initial controllers: they only observe", None),
)
def second_quorum(rule: Rule) -> Incident:
    """New KRaft controllers are added to a running cluster.  Several are formatted at once
    with a list of initial controllers that names each other.  Their election time-out fires
    before the first fetch from the old quorum.  They vote for each other: a second quorum, with
    its own metadata, next to the first.  Also seen as empty controllers next to a full cluster,
    whose empty metadata the brokers then follow.
    """

    def steps(view: View) -> Iterator[Together]:
        new = [name for name in ("c4", "c5") if not view[name].cluster]
        for name in new:
            yield does(
                f"{name} fetches from the quorum, and joins it",
                **{name: {"cluster": "old", "serves": True}},
            )
        if rule == "deployed" and len(new) == 2:
            mine = {"cluster": "new", "serves": True}
            yield does("c4 hears no leader in time, stands, and c5 votes for it", c4=mine, c5=mine)

    blank = {"up": True, "serves": False, "cluster": ""}
    return Incident(
        nodes={"c1": {**UP, "cluster": "old"}, "c4": blank, "c5": blank},
        steps=steps,
        claims=[one_cluster(), all_serve()],
    )


@incident(
    "redpanda-root",
    "Redpanda",
    "https://github.com/redpanda-data/redpanda/pull/6744",
    deployed=("the root broker is wiped, and founds a second cluster", 3),
    fixed=("all seeds found together, and only while none of them is in a cluster", None),
    left=("all seeds are wiped at once", 5),
)
def root(rule: Rule) -> Incident:
    """One Redpanda broker has an empty seed_servers list: it is the root that forms the
    cluster.  Its disk is lost, and the broker is restarted with the same configuration.  It
    founds a new cluster with a new id, and the old brokers refuse it.  With several seeds and
    empty_seed_starts_cluster=false a blank seed asks the others first; only when all seeds are
    wiped at the same time a new cluster is formed.
    """
    seeds = ("b1", "b2", "b3")
    wipes = seeds if rule == "left" else ("b1",)

    def steps(view: View) -> Iterator[Together]:
        founded = max(view[name].founded for name in seeds)
        for name in wipes:
            if view[name].cluster:
                gone = {"serves": False, "cluster": 0}
                yield fault(f"{name} loses its disk", **{name: gone})
        new = {"serves": True, "cluster": founded + 1, "founded": founded + 1}
        if rule == "deployed" and not view["b1"].cluster:
            yield does("b1 has no seeds, and founds a cluster", b1=new)
        if rule != "deployed" and not any(view[name].cluster for name in seeds):
            yield does("all seeds are blank, and found a cluster", **dict.fromkeys(seeds, new))
        for name in seeds:
            for other in serving(view)[:1]:
                if not view[name].cluster and (rule != "deployed" or name != "b1"):
                    joined = {"serves": True, "cluster": view[other].cluster}
                    yield does(f"{name} joins {other}", **{name: joined})

    def history(view: View) -> bool:
        return len(clusters(view)) <= 1 and all(view[name].founded <= 1 for name in seeds)

    blank = {"serves": False, "cluster": 0, "founded": 0}
    return Incident(
        nodes=dict.fromkeys(seeds, blank),
        steps=steps,
        claims=[always("one cluster is ever founded", history), all_serve(), can_serve()],
        faults={f"{name} loses its disk": 1 for name in wipes},
    )


@incident(
    "nats-late-heartbeat",
    "NATS JetStream",
    "https://github.com/nats-io/nats-server/pull/7649",
    deployed=("a heartbeat sent before the removal brings the removed peer back", 3),
    fixed=("what a removed peer sends is not counted", None),
)
def late_heartbeat(rule: Rule) -> Incident:
    """A leader that is being removed from its Raft group sends one more heartbeat between
    "remove" and the transfer of leadership.  It arrives after the removal was applied.  The
    follower sees a message of a server it does not know, and adds it as a peer: the removed
    member is back, on some followers only, and counts for the quorum.
    """

    def steps(view: View) -> Iterator[Together]:
        n1, n2 = view["n1"], view["n2"]
        if not n1.sent and not n1.removed:
            yield does("n1 sends a heartbeat", n1={"sent": True})
        if not n2.applied:
            yield does(
                "n2 applies the removal of n1",
                n2={"peers": 2, "applied": True},
                n1={"removed": True},
            )
        if n1.sent and n2.peers == 2 and rule == "deployed":
            yield does("the late heartbeat arrives, and n2 adds n1", n2={"peers": 3})

    return Incident(
        nodes={"n1": {"sent": False, "removed": False}, "n2": {"peers": 3, "applied": False}},
        steps=steps,
        claims=[
            always("a removed peer stays out", lambda v: not v["n2"].applied or v["n2"].peers == 2),
            sometimes("a heartbeat is late", lambda view: view["n1"].sent and view["n2"].applied),
        ],
    )
