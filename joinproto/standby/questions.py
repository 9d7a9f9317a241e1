"""What `joinproto ask standby.*` answers.

Source: hot standby, H1 to H5, H7, H9, H10.
"""

from __future__ import annotations

from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Question, question
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.machine.evaluate import members_of
from joinproto.standby import best as best_store
from joinproto.standby import catch_up as catching_up
from joinproto.standby.broker import SHIPPED, WORDS, Mark, Role, Store, Variant, word_of
from joinproto.standby.catch_up import SEQUENCE, Message, Order
from joinproto.standby.messages import View
from joinproto.standby.promote import Peer, Promotion, promote, rows_of
from joinproto.standby.replicates import Default, Level, replicates
from joinproto.standby.tables import BETTER, Verdict

WHOSE = "whose rules: the document's, those of the broker that shipped, ours"
STATUS = (
    "connecting, catchup, backup, recovering, primary, standalone, stopped;"
    " or joining, ready, active, as the shipped broker calls them"
)
OCF_SUCCESS, OCF_ERR_GENERIC = 0, 1


def _role(place: str, word: str) -> Role:
    if word not in WORDS:
        known = ", ".join(WORDS)
        raise DoesNotFit(place, f"{word!r} is not a status", next=f"write one of {known}")
    return WORDS[word]


@frozen(kw_only=True)
class PeerTold:
    """Another broker."""

    name: Annotated[str, "of the broker"]
    status: Annotated[str | None, f"{STATUS}; null: it does not answer"] = None
    generation: Annotated[int, AtLeast(0), "of the last primary it knows"] = 0
    number: Annotated[int, AtLeast(0), "of the last view it knows in that generation"] = 0
    was_primary: Annotated[bool, "whether it was that primary"] = False
    lost: Annotated[bool, "its primary is gone: its status is what it was before (ours)"] = False


def _peers(told: tuple[PeerTold, ...]) -> tuple[Peer, ...]:
    names = [one.name for one in told]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise DoesNotFit(f"peers[{at}]", f"{name!r} is there twice", next="name each once")
    return tuple(
        Peer(
            name=one.name,
            role=None if one.status is None else _role(f"peers[{at}].status", one.status),
            generation=one.generation,
            number=one.number,
            was_primary=one.was_primary,
            lost=one.lost,
        )
        for at, one in enumerate(told)
    )


@frozen(kw_only=True)
class AskPromote:
    """A broker that is told to be primary."""

    variant: Annotated[Variant, WHOSE] = Variant.OURS
    name: Annotated[str, "of the broker"]
    status: Annotated[str, STATUS]
    store: Annotated[Mark, "what its disk says of its last end"] = Mark.CLEAN
    generation: Annotated[int, AtLeast(0), "of the last primary it knows; 0: none"] = 0
    number: Annotated[int, AtLeast(0), "of the last view it knows in that generation"] = 0
    was_primary: Annotated[bool, "whether it was that primary"] = False
    dropped: Annotated[bool, "the primary went on without it, and it knows"] = False
    proven: Annotated[
        bool, "all stores were seen after a total failure, and its own is the last primary's (ours)"
    ] = False
    peers: Annotated[tuple[PeerTold, ...], "the others, as far as they were asked"] = ()
    expected: Annotated[
        tuple[str, ...], "backups that were up to date at the last primary, without the dead one"
    ] = ()

    def promotion(self) -> Promotion:
        """Return it as one value; raises `DoesNotFit`."""
        peers = _peers(self.peers)
        if self.name in [peer.name for peer in peers]:
            raise DoesNotFit("peers", f"{self.name!r} is its own peer", next="leave it out")
        return Promotion(
            me=self.name,
            role=_role("status", self.status),
            variant=self.variant,
            mark=self.store,
            generation=self.generation,
            number=self.number,
            was_primary=self.was_primary,
            dropped=self.dropped,
            proven=self.proven,
            peers=peers,
            expected=self.expected,
        )


@frozen(kw_only=True)
class PromoteAnswer:
    """What it answers, and what it is then."""

    verdict: Annotated[Verdict, "refused: the manager's script fails; ignored: nothing to do"]
    exit: Annotated[int, "of the manager's script, as OCF has them"]
    status: Annotated[str, "what it is then, in the variant's words"]
    generation: Annotated[int | None, "that it writes before it serves; null: there is none"]
    waits_for: Annotated[tuple[str, ...], "backups that must catch up before it is primary"]
    rule: Annotated[str, "the rule that decided"]
    case: Annotated[str, "the case of the variant's table"]
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "standby.promote",
    variant="ours",
    name="b2",
    status="backup",
    generation=4,
    peers=[{"name": "b1"}, {"name": "b3", "status": "backup", "generation": 4}],
    expected=["b3"],
)
def answer_promote(asked: AskPromote) -> PromoteAnswer:
    """What a broker answers that is told to be primary, and what it is then."""
    found = promote(asked.promotion())
    return PromoteAnswer(
        verdict=found.verdict,
        exit=OCF_ERR_GENERIC if found.verdict is Verdict.REFUSED else OCF_SUCCESS,
        status=word_of(found.role, asked.variant),
        generation=found.generation,
        waits_for=found.waits_for,
        rule=found.case.label,
        case=found.case.name,
        why=found.why,
    )


@frozen(kw_only=True)
class AskStatusCheck:
    """What a broker that starts hears of the others."""

    variant: Annotated[Variant, WHOSE] = Variant.OURS
    generation: Annotated[int, AtLeast(0), "of the last primary it knows; 0: none"] = 0
    number: Annotated[int, AtLeast(0), "of the last view it knows in that generation"] = 0
    was_primary: Annotated[bool, "whether it was that primary"] = False
    peers: Annotated[tuple[PeerTold, ...], "the others; none: no list of brokers is configured"]


@frozen(kw_only=True)
class StatusCheckAnswer:
    """Whether it may be promoted while it follows no broker."""

    vetoed: Annotated[bool, "it refuses until it is started again (real), or follows a primary"]
    by: Annotated[tuple[str, ...], "who is better"]
    silent: Annotated[tuple[str, ...], "who did not answer: no veto, and no proof either"]
    rule: Annotated[str, "the rule that decided"] = "H3"
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "standby.status-check",
    variant="real",
    peers=[{"name": "b2", "status": SHIPPED[Role.PRIMARY]}, {"name": "b3"}],
)
def answer_status_check(asked: AskStatusCheck) -> StatusCheckAnswer:
    """Whether a broker that starts may be promoted, by what the others answer."""
    about = Promotion(
        me="",
        role=Role.CONNECTING,
        variant=asked.variant,
        generation=asked.generation,
        number=asked.number,
        was_primary=asked.was_primary,
        peers=_peers(asked.peers),
    )
    rows = rows_of(about)
    checks = asked.variant is not Variant.SEED
    by = tuple(rows[at].name for at in members_of(BETTER, rows, 0)) if checks else ()
    if asked.variant is Variant.OURS:
        by = tuple(row.name for row in rows[1:] if row.answers and (row.better or row.ahead))
    silent = tuple(peer.name for peer in about.peers if peer.role is None)
    if not checks:
        why = "the document asks no broker: the manager answers for it"
    elif by:
        why = f"{', '.join(by)}: better than a broker without a primary"
    else:
        why = "no broker that answers is better" + (
            f"; {', '.join(silent)} silent" if silent else ""
        )
    return StatusCheckAnswer(vetoed=bool(by), by=by, silent=silent, why=why)


@frozen(kw_only=True)
class AskBest:
    """The stores after a total failure."""

    stores: Annotated[tuple[Store, ...], "those that were seen"]
    missing: Annotated[tuple[str, ...], "brokers whose stores were not seen"] = ()
    chain: Annotated[View, "the last view in the chain of the manager built in"] = (
        best_store.NO_VIEW
    )


@frozen(kw_only=True)
class BestAnswer:
    """Which one to start from."""

    best: Annotated[str | None, "the broker; null: none can be named"]
    proven: Annotated[bool, "whether no other store can be better"]
    mark: Annotated[bool, "whether its store must be marked clean first"]
    needs: Annotated[tuple[str, ...], "whose stores would prove it, or better it"]
    rule: Annotated[str, "the rule that decided"] = "H10"
    case: Annotated[str, "in a few words"]
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "standby.best-store",
    stores=[
        {"name": "b1", "mark": "dirty", "generation": 4, "primary": True},
        {"name": "b2", "mark": "dirty", "generation": 4, "position": 90},
    ],
    missing=["b3"],
)
def answer_best(asked: AskBest) -> BestAnswer:
    """After total failure: which store to start from, and whether that is proven."""
    names = [one.name for one in asked.stores]
    for at, name in enumerate(names):
        if name in names[:at] or name in asked.missing:
            raise DoesNotFit(f"stores[{at}]", f"{name!r} is told twice", next="name each once")
    found = best_store.best(asked.stores, asked.missing, asked.chain)
    return BestAnswer(
        best=None if found.store is None else found.store.name,
        proven=found.proven,
        mark=found.store is not None and found.store.mark is Mark.DIRTY,
        needs=found.needs,
        case=found.case,
        why=found.why,
    )


@frozen(kw_only=True)
class MessageTold:
    """One message."""

    id: Annotated[str, "its identity"]
    sequence: Annotated[int, AtLeast(0), "its number in the queue; below 2**32, and it wraps"] = 0


@frozen(kw_only=True)
class AskCatchUp:
    """One queue at a primary and at a backup that connects."""

    variant: Annotated[Variant, WHOSE] = Variant.OURS
    primary: Annotated[tuple[MessageTold, ...], "what it has, from the front to the back"]
    backup: Annotated[tuple[MessageTold, ...], "what it has, from the front to the back"]
    same_queue: Annotated[bool, "it is one queue, not two of one name"] = True
    order: Annotated[Order, "in which the primary sends what was there before"] = Order.LIFO


@frozen(kw_only=True)
class CatchUpAnswer:
    """What they exchange."""

    replaced: Annotated[bool, "the backup's queue goes as a whole"]
    drops: Annotated[tuple[str, ...], "what the backup gives up"]
    sends: Annotated[tuple[str, ...], "what the primary sends, in its order"]
    keeps: Annotated[tuple[str, ...], "what the backup keeps"]
    loses: Annotated[tuple[str, ...], "what the primary has and the backup does not in the end"]
    rule: Annotated[str, "the rule that decided, or the document's limit"]
    why: Annotated[str, "the reason, in a sentence"]


def _messages(place: str, told: tuple[MessageTold, ...]) -> list[Message]:
    ids = [one.id for one in told]
    for at, one in enumerate(told):
        if one.id in ids[:at]:
            raise DoesNotFit(f"{place}[{at}]", f"{one.id!r} is there twice", next="name it once")
        if one.sequence >= SEQUENCE:
            raise DoesNotFit(
                f"{place}[{at}].sequence", "expected a number below 2**32", next="numbers wrap"
            )
    return [Message(id=one.id, sequence=one.sequence) for one in told]


@question(
    "standby.catch-up",
    variant="ours",
    primary=[{"id": "m2", "sequence": 2}, {"id": "m3", "sequence": 3}],
    backup=[{"id": "m1", "sequence": 1}, {"id": "m2", "sequence": 2}],
)
def answer_catch_up(asked: AskCatchUp) -> CatchUpAnswer:
    """What a new primary and a backup exchange for one queue."""
    found = catching_up.catch_up(
        asked.variant,
        _messages("primary", asked.primary),
        _messages("backup", asked.backup),
        same_queue=asked.same_queue,
        order=asked.order,
    )
    return CatchUpAnswer(
        replaced=found.replaced,
        drops=found.drops,
        sends=found.sends,
        keeps=found.keeps,
        loses=found.loses,
        rule=found.rule,
        why=found.why,
    )


@frozen(kw_only=True)
class AskReplicates:
    """A queue, and a message on it."""

    variant: Annotated[Variant, WHOSE] = Variant.OURS
    default: Annotated[Default, "what is done where a queue says nothing"] = Default.NONE
    queue: Annotated[Level | None, "what the queue says of itself; null: nothing"] = None
    message: Annotated[bool | None, "what the message says of itself; null: nothing"] = None
    durable_queue: Annotated[bool, "whether the queue is durable"] = False
    durable_message: Annotated[bool, "whether the message is durable"] = False


@frozen(kw_only=True)
class ReplicatesAnswer:
    """What replicates."""

    level: Annotated[Level, "of the queue"]
    message: Annotated[bool, "whether this message does"]
    rule: Annotated[str, "the rule that decided"] = "H7"
    why: Annotated[str, "the setting that decided"]


@question("standby.replicates", variant="seed", default="durable", durable_queue=True)
def answer_replicates(asked: AskReplicates) -> ReplicatesAnswer:
    """Whether a queue, or a message on it, replicates, and which setting says so."""
    known = DEFAULTS[asked.variant]
    if asked.default not in known:
        words = ", ".join(one.value for one in known)
        raise DoesNotFit("default", "this variant has no such default", next=f"one of {words}")
    found = replicates(
        asked.variant,
        asked.default,
        queue=asked.queue,
        message=asked.message,
        durable_queue=asked.durable_queue,
        durable_message=asked.durable_message,
    )
    return ReplicatesAnswer(level=found.level, message=found.message, why=found.why)


DEFAULTS = {
    Variant.SEED: (Default.NONE, Default.ALL, Default.DURABLE),
    Variant.REAL: (Default.NONE, Default.CONFIGURATION, Default.ALL),
    Variant.OURS: tuple(Default),
}

QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_promote,
    answer_status_check,
    answer_best,
    answer_catch_up,
    answer_replicates,
)
