"""The one object that every command of `joinproto recover` prints with `--json`.

A failure is {"error": {"code", "message", "next"}}, as with every command of joinproto.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from attrs import field, frozen

from joinproto.codec.json_form import Absent, Count, Merged, schema_of
from joinproto.pick.table import Verdict
from joinproto.recovery.found import Format, State
from joinproto.recovery.raft_facts import RaftFacts


@frozen(kw_only=True)
class Store:
    """One store that was read."""

    name: Annotated[str, "`host:path`; its name in `groups`, `latest` and the evidence"]
    path: Annotated[str, "the directory, as an absolute path on its host"]
    host: Annotated[str, "the machine it was read on"]
    format: Annotated[Format | None, "the program that wrote it; null: unknown"]
    member: Annotated[str | None, "its member; null: not known"]
    cluster: Annotated[
        str | None,
        """its initial signature (of RabbitMQ, which has none, the first of its nodes); null: none,
        or not known""",
    ]
    state: Annotated[State, "its state"]
    lineage_length: Annotated[Count | None, "views of its chain; null: it keeps none"]
    view: Annotated[str | None, "the newest view it knows of"]
    seq: Annotated[
        Count | None, "its last frame, counted from the founding; null: none, or not known"
    ]
    problems: Annotated[tuple[str, ...], "its problems, the worst first"]
    facts: Annotated[
        Mapping[str, str], "the contents of its files, by the names that the broker uses, as text"
    ] = field(factory=dict)
    history: Annotated[
        Mapping[str, str],
        """its last write-sets, number to hash (galera): stores with two hashes for one number have
        two histories; empty: not known""",
    ] = field(factory=dict)
    raft: Annotated[RaftFacts | None, Absent(), "only of etcd and KRaft: the facts of its log"] = (
        None
    )


@frozen
class Group:
    """The stores of one cluster."""

    cluster: Annotated[str | None, "its initial signature; null: no cluster"]
    paths: Annotated[tuple[str, ...], "names of the stores"]


@frozen(kw_only=True)
class Missing:
    """A store that was not supplied, or cannot be read."""

    member: Annotated[str, "its member"]
    store_id: Annotated[str | None, "which of its stores; null: not known"] = None
    could_change_the_answer: Annotated[bool, "whether this store could"] = True
    why: Annotated[str, "why it matters"]


@frozen
class Planned:
    """A plan."""

    path: Annotated[str | None, "the plan's file; null: there is none"]
    hash: Annotated[str, "the value for --plan-hash"]


@frozen(kw_only=True)
class Asked:
    """A running member, or one that does not answer."""

    member: Annotated[str, "its name"]
    answers: Annotated[bool, "whether it answers"]
    problem: Annotated[str | None, "why it does not answer"] = None
    phase: Annotated[str | None, "its phase; null: it does not answer"] = None
    serves: Annotated[bool, "whether it serves clients"] = False
    view: Annotated[str | None, "the newest view it knows of"] = None
    seq: Annotated[Count | None, "its last frame; null: it does not answer"] = None
    peers: Annotated[tuple[str, ...], "members it is connected to"] = ()


@frozen(kw_only=True)
class OtherPolicy:
    """The choice of an operator's program (`--policy`)."""

    answer: Annotated[str | None, "a node, `wait` or `refuse`; null: it does not know"]
    agrees: Annotated[bool, "whether it chooses one of `latest`, or none where none is named"]
    line: Annotated[str, "both choices in a sentence"]


@frozen(kw_only=True)
class Start:
    """A view."""

    kind: Annotated[str, "`restart`, `change`; of hot standby `promotion`"]
    members: Annotated[tuple[str, ...], "its members"]
    seq: Annotated[Count | None, "the last frame before it; null: the beginning, or hot standby"]
    is_served: Annotated[bool, "whether clients are served in it, in some run"]
    primary: Annotated[str | None, Absent(), "only of hot standby: the broker that is promoted"] = (
        None
    )
    loses: Annotated[
        bool | None, Absent(), "only of hot standby: whether this promotion can lose a message"
    ] = None


@frozen(kw_only=True)
class Refusal:
    """A broker that is told to be primary, and refuses, in some order of starts."""

    member: Annotated[str, "the broker that refuses"]
    rule: Annotated[str, "the rule that decides"]
    why: Annotated[str, "the reason, in a sentence"]


@frozen(kw_only=True)
class Rehearsed:
    """The possible outcomes of one choice."""

    choice: Annotated[str, "the actions before the start"]
    marks: Annotated[tuple[str, ...], "members whose stores get a mark"]
    starts: Annotated[tuple[Start, ...], "the next views that can be chosen"]
    waits: Annotated[tuple[str, ...], "the reasons why members wait"]
    aborts: Annotated[tuple[str, ...], "members that may stop for good"]
    loses: Annotated[bool, "whether a frame, or message, that may be acknowledged can be lost"]
    is_whole: Annotated[bool, "whether every order of events was searched"]
    states: Annotated[Count | None, "how many states were searched"]
    refuses: Annotated[
        tuple[Refusal, ...] | None,
        Absent(),
        "only of hot standby: brokers that refuse to be primary",
    ] = None
    lost: Annotated[
        tuple[str, ...] | None, Absent(), "only of hot standby: the possible losses"
    ] = None


@frozen
class Done:
    """The outcome of a writing command."""

    outcome: Annotated[str, "only of apply, undo and mark-clean: the outcome"]
    backup: Annotated[str | None, "only of these: the file with the former metadata"]


@frozen(kw_only=True)
class RaftGroup:
    """A Raft group of RabbitMQ: a quorum queue, or the metadata of Khepri."""

    name: Annotated[str, "the name of the queue, or of the group"]
    vhost: Annotated[str | None, "the queue's virtual host; null: no queue"]
    proven: Annotated[bool, "whether the best nodes have every committed entry"]
    best: Annotated[tuple[str, ...], "nodes with the latest log among these stores"]
    missing: Annotated[tuple[str, ...], "voters whose logs are not here, or do not count"]
    needed: Annotated[Count, "how many of these are needed for a proof"]


@frozen(kw_only=True)
class Result:
    """The one object that every command prints with --json."""

    stores: Annotated[tuple[Store, ...], "in the order in which they were given"]
    groups: Annotated[tuple[Group, ...], "by cluster, the largest first"]
    verdict: Annotated[
        Verdict | None, "null: nothing was judged (inspect, collect), or the cluster runs (verify)"
    ] = None
    latest: Annotated[tuple[str, ...], "the latest stores; several have the same data"] = ()
    evidence: Annotated[tuple[str, ...], "the verdict in a sentence, then its evidence"]
    missing: Annotated[tuple[Missing, ...], "stores that are still needed for a proof"] = ()
    next: Annotated[str, "the next command to type, or the next thing to do"]
    plan: Annotated[Planned | None, Absent(), "Only of plan, apply and mark-clean."] = None
    members: Annotated[
        tuple[Asked, ...] | None, Absent(), "only of verify: the members that were asked"
    ] = None
    rehearsal: Annotated[
        tuple[Rehearsed, ...] | None, Absent(), "only of rehearse: one for each choice"
    ] = None
    policy: Annotated[
        OtherPolicy | None, Absent(), "only of pick --policy: the program's choice"
    ] = None
    raft_groups: Annotated[
        tuple[RaftGroup, ...] | None, Absent(), "only of RabbitMQ: each Raft group has a verdict"
    ] = None
    unused: Annotated[
        tuple[str, ...] | None, Absent(), "options that change nothing for these stores, and why"
    ] = None
    done: Annotated[Done | None, Merged(optional=True)] = None


RESULT = schema_of(Result)
