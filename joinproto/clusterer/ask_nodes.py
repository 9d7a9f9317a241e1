"""Questions about one node: its config at a start, its action for an incoming config, identities.

Source: Clusterer, U1 to U3 and U6.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal

from attrs import frozen

from joinproto.ask.question import Answer, Question, question
from joinproto.clusterer.ask_config import CONFIG, ONE, config_at, config_or_none
from joinproto.clusterer.config import Held, Notes, compare, default
from joinproto.clusterer.coordinator import REPLIES
from joinproto.clusterer.identities import config_at_start, fits, noted, tidy, transferred, updated
from joinproto.clusterer.reading import Release
from joinproto.clusterer.status import BEGIN, WAITING, Status, Turn
from joinproto.clusterer.tables import (
    FROM_OPERATOR,
    FROM_PEER,
    Does,
    Fits,
    News,
    Takes,
)
from joinproto.clusterer.variants import RULES, Variant
from joinproto.clusterer.why import said
from joinproto.clusterer.writing import as_json
from joinproto.codec.json_form import Absent
from joinproto.codec.strict import DoesNotFit
from joinproto.machine.values import evolve

RELEASE = Annotated[Release, "seed: with shutdown_timeout; head: without it"]
VARIANT = Annotated[Variant, "the rules: the document's, those of the shipped software, or ours"]
NODE = Annotated[str, "the node that decides"]


OwnStatus = Literal["preboot", "joining", "rejoining", "booting", "ready", "pending", "shutdown"]


@frozen(kw_only=True)
class CompatibleAnswer(Answer):
    """Whether a node's data are compatible with a new config."""

    compatible: Annotated[
        bool, "true: the node keeps its data; false: it joins, and its data are deleted"
    ]
    case: Annotated[str, "the name of the case that decided"]


@question(
    "clusterer.compatible",
    "A new config and the last achieved one, each with the `node_ids` that it came with.",
    node="b",
    new={**ONE, "version": 2, "node_ids": {"a": "a2"}},
    old={**ONE, "node_ids": {"a": "a1", "b": "b1"}},
)
def answer_compatible(
    *,
    node: NODE,
    new: Annotated[Mapping[str, Any], CONFIG],
    old: Annotated[Mapping[str, Any] | None, "the last achieved config; null: none"] = None,
    release: RELEASE = Release.SEED,
    variant: VARIANT = Variant.SEED,
) -> CompatibleAnswer:
    """Whether a node keeps its data under a new config, or deletes them and joins."""
    to, last = config_at("new", new, release), config_or_none("old", old, release)
    case = fits(to, last, node, RULES[variant, release])
    kept = "kept" if case.outcome is Fits.COMPATIBLE else "given up"
    return CompatibleAnswer(
        compatible=case.outcome is Fits.COMPATIBLE,
        case=case.name,
        rule=case.label,
        why=f"{case.condition}: the data at hand are {kept}"
        if case.name != "the gospel's data are these"
        else "this node and the gospel are in the old config, with no two identities of the gospel:"
        " the data at hand are the gospel's",
    )


@frozen(kw_only=True)
class BootAnswer(Answer):
    """The config that a starting node takes, and its status."""

    takes: Annotated[Takes, "whether it takes the given, the stored or the default config"]
    config: Annotated[Mapping[str, Any], "the config that it takes"]
    old: Annotated[
        Mapping[str, Any] | None, "the stored config, with which `config` is compared; null: none"
    ]
    becomes: Annotated[
        Status, "joining or rejoining; pending or shutdown: the config leaves the node out"
    ]
    fresh_identity: Annotated[bool, "whether it has no stored config, and gets a new identity"]


@question(
    "clusterer.boot",
    "The configs that a node finds when it starts.",
    node="a",
    given={**ONE, "version": 2},
    stored=ONE,
)
def answer_boot(
    *,
    node: NODE,
    given: Annotated[
        Mapping[str, Any] | None, "the operator's config; null: none, or one that is not valid"
    ] = None,
    stored: Annotated[
        Mapping[str, Any] | None, "the config on the node's disk; null: the node is blank"
    ] = None,
    release: RELEASE = Release.SEED,
) -> BootAnswer:
    """Return the config that a starting node takes: given, stored or default."""
    theirs, own = config_or_none("given", given, release), config_or_none("stored", stored, release)
    old = None if own is None else own.config
    blank = default(node)
    if release is Release.HEAD:
        blank = evolve(blank, shutdown_timeout=None)
    found = config_at_start(None if theirs is None else theirs.config, old, blank)
    new = own if found.new is old and own else Held(found.new)
    if theirs is not None and found.case.outcome is Takes.GIVEN:
        new = theirs
    rules = RULES[Variant.SEED, release]
    compatible = fits(new, own, node, rules).outcome is Fits.COMPATIBLE
    turn = Turn(named=node in found.new.nodes, compatible=compatible)
    becomes = BEGIN[release].choose((turn,), 0)
    return BootAnswer(
        takes=found.case.outcome,
        config=as_json(found.new),
        old=None if old is None else as_json(old),
        becomes=becomes.outcome,
        fresh_identity=stored is None,
        rule=found.case.label,
        why=f"{found.case.name}: {found.new}; {becomes.name} ({becomes.label})",
    )


@frozen(kw_only=True)
class AskNews:
    """A config that arrives at a node, and the node's state."""

    node: NODE
    status: Annotated[OwnStatus, "the node's status"]
    config: Annotated[Mapping[str, Any], CONFIG]
    current: Annotated[
        Mapping[str, Any] | None,
        "the config that the node holds or heads for; null: the node has not started",
    ] = None
    achieved: Annotated[
        Mapping[str, Any] | None,
        "the last achieved config; null: `current`, or none for a joining or rejoining node",
    ] = None
    sender: Annotated[str | None, "the node that sent the config"] = None
    paused: Annotated[bool, "whether another program stopped the broker (head)"] = False
    variant: VARIANT = Variant.OURS
    release: RELEASE = Release.SEED


@frozen(kw_only=True)
class NewsAnswer(Answer):
    """A node's action for an incoming config."""

    does: Annotated[Does, "the node's action for the config"]
    reply: Annotated[str | None, "the answer to the operator", Absent()]
    becomes: Annotated[Status, "the node's status after the action"]
    config: Annotated[
        Mapping[str, Any] | None, "the config that the node holds or heads for after the action"
    ]
    forwards_to: Annotated[tuple[str, ...], "the nodes to which it forwards the new config"]
    sends_ours_to: Annotated[tuple[str, ...], "the nodes to which it sends its own config"]
    stores: Annotated[bool, "whether it stores the config, or notes on it, before all else"]
    stops_broker: Annotated[bool, "whether it stops its broker"]


@question("clusterer.apply", node="a", status="ready", config={**ONE, "version": 2}, current=ONE)
def answer_apply(asked: AskNews) -> NewsAnswer:
    """Return a node's action and answer for an operator's config."""
    return _news(asked, by_operator=True)


@question(
    "clusterer.new-config",
    node="a",
    status="joining",
    config={**ONE, "version": 2},
    current=ONE,
    sender="c",
)
def answer_new_config(asked: AskNews) -> NewsAnswer:
    """Return a node's action for a config from a peer."""
    return _news(asked, by_operator=False)


def _news(asked: AskNews, *, by_operator: bool) -> NewsAnswer:
    status = Status(asked.status)
    if asked.current is None and status is not Status.PREBOOT:
        raise DoesNotFit(
            "current",
            f"a node in status {status.value} has a config, but `current` is missing",
            next="give the config that the node holds",
        )
    current = config_or_none("current", asked.current, asked.release)
    new: Held | None = None
    try:
        new = config_at("config", asked.config, asked.release)
    except DoesNotFit:
        if not by_operator:
            raise
    age = compare(new.config, current.config) if new is not None and current is not None else None
    row = News(status=status, age=age, paused=asked.paused)
    case = (FROM_OPERATOR if by_operator else FROM_PEER).choose((row,), 0)
    does, label, why = case.outcome, case.label, said(case.name)
    reply = REPLIES[does].value if by_operator else None
    follows: Does = does
    if does is Does.PASS_ON:
        passed = FROM_PEER.choose((row,), 0)
        label, why = passed.label, f"{said(case.name)}: {said(passed.name)}"
        follows = passed.outcome if passed.outcome is Does.FORWARD else Does.IGNORE
    begins = follows in (Does.BEGIN, Does.FORWARD)
    becomes, stores = status, follows is Does.NOTE and status not in WAITING
    if begins and new is not None:
        becomes, more = _begun(asked, new, current, status)
        stores = becomes in (Status.PENDING, Status.SHUTDOWN, Status.READY)
        why = f"{why}; {more}"
    forwards = (
        current.config.nodes - {asked.node, asked.sender}
        if follows is Does.FORWARD and current is not None
        else frozenset()
    )
    shown = new if begins else current
    return NewsAnswer(
        does=does,
        reply=reply,
        becomes=becomes,
        config=None if shown is None else as_json(shown.config),
        forwards_to=tuple(sorted(str(one) for one in forwards)),
        sends_ours_to=(asked.sender,) if follows is Does.SEND_OURS and asked.sender else (),
        stores=stores,
        stops_broker=status is Status.READY and begins and becomes is not Status.READY,
        rule=label,
        why=why,
    )


def _begun(asked: AskNews, new: Held, current: Held | None, status: Status) -> tuple[Status, str]:
    achieved = config_or_none("achieved", asked.achieved, asked.release)
    if achieved is None and status not in WAITING:
        achieved = current
    compatible = fits(new, achieved, asked.node, RULES[asked.variant, asked.release])
    turn = Turn(
        named=asked.node in new.config.nodes,
        compatible=compatible.outcome is Fits.COMPATIBLE,
        ready=status is Status.READY,
    )
    case = BEGIN[asked.release].choose((turn,), 0)
    why = said(case.name)
    return case.outcome, f"{why} ({compatible.name})" if turn.named else why


class IdsOp(Enum):
    """A change of the identities."""

    TRANSFER = "transfer"
    UPDATE = "update"
    ADD = "add"
    ADD_ONE = "add-one"


@frozen(kw_only=True)
class IdsAnswer(Answer):
    """The identities that a node knows after an operation on them."""

    ids: Annotated[
        Mapping[str, str], "the identities of the config's nodes, by node, with the node's own"
    ]
    changed: Annotated[bool, "add-one: whether the node knew another identity of that node before"]


SAID = {
    IdsOp.TRANSFER: "a new config takes the identities of the last achieved one",
    IdsOp.UPDATE: "a node's own identity in its map counts; without one, the known one stays",
    IdsOp.ADD: "the identities of the other map replace the known ones",
    IdsOp.ADD_ONE: "the identity that a node gives for itself is noted",
}


@question(
    "clusterer.ids",
    "Identities that a node knows, and one operation on them.",
    node="b",
    identity="b1",
    nodes=["a", "b"],
    ids={"a": "a1", "c": "c1"},
    op="add-one",
    of="a",
    its="a2",
)
def answer_ids(
    *,
    node: NODE,
    identity: Annotated[str, "the node's own identity"],
    nodes: Annotated[tuple[str, ...], "the nodes of its config"],
    ids: Annotated[Mapping[str, str], "the identities that it knows, by node"],
    op: Annotated[
        IdsOp,
        "transfer: a new config (`ids`) takes the map of the last achieved one (`other`);"
        " update: take the identity that the node `of` gives itself in its map (`other`);"
        " add: take all identities of `other`;"
        " add-one: the node `of` says that its identity is `its`",
    ],
    other: Annotated[Mapping[str, str] | None, "the other map; null: there is none"] = None,
    of: Annotated[str | None, "the node whose identity update and add-one take"] = None,
    its: Annotated[str | None, "the identity that add-one takes"] = None,
    variant: VARIANT = Variant.SEED,
) -> IdsAnswer:
    """Bookkeeping of the nodes' identities."""
    rules = RULES[variant, Release.SEED]
    held = Held(evolve(default(node), disc=frozenset(nodes)), Notes.of(ids))
    theirs = None if other is None else Held(held.config, Notes.of(other))
    changed = False
    if op in (IdsOp.UPDATE, IdsOp.ADD_ONE) and of is None:
        raise DoesNotFit("of", f"{op.value} needs a node, but `of` is missing", next="name it")
    match op:
        case IdsOp.TRANSFER:
            held = transferred(held, theirs, rules)
        case IdsOp.UPDATE:
            held = updated(held, of or "", theirs or Held(held.config), rules)
        case IdsOp.ADD:
            held = evolve(held, ids=(theirs or Held(held.config)).ids.over(held.ids))
        case IdsOp.ADD_ONE:
            if its is None:
                raise DoesNotFit(
                    "its", "add-one needs an identity, but `its` is missing", next="give it"
                )
            found = noted(held, of or "", its)
            held, changed = found.held, found.changed
    more = "; ours also keeps the identities that the new config brings" if rules.ours else ""
    return IdsAnswer(
        ids=dict(tidy(held, node, identity).ids.pairs),
        changed=changed,
        rule="U3",
        why=SAID[op] + (more if op is IdsOp.TRANSFER else ""),
    )


NODE_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_compatible,
    answer_boot,
    answer_apply,
    answer_new_config,
    answer_ids,
)
