"""The answers of `joinproto ask standby.*`.

Source: hot standby, H1 to H5, H7, H9, H10.
"""

from __future__ import annotations

from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Answer, Question, Rule, question, refuse_twice
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.machine.compiled import members_of
from joinproto.standby import best as best_store
from joinproto.standby import catch_up as catching_up
from joinproto.standby.broker import (
    GENERATION,
    NUMBER,
    SHIPPED,
    WAS_PRIMARY,
    WHOSE,
    Role,
    Store,
    Variant,
)
from joinproto.standby.catch_up import SEQUENCE, Message, Order
from joinproto.standby.messages import View
from joinproto.standby.promote import Peer, Promoted, Promotion, promote, rows_of
from joinproto.standby.replicates import Default, Level, Replicates, replicates
from joinproto.standby.tables import BETTER


@question(
    "standby.promote",
    variant="ours",
    name="b2",
    status="backup",
    generation=4,
    peers=[{"name": "b1"}, {"name": "b3", "status": "backup", "generation": 4}],
    expected=["b3"],
)
def answer_promote(asked: Promotion) -> Promoted:
    """The answer of a broker that is told to become primary, and its role after it."""
    names = [peer.name for peer in asked.peers]
    refuse_twice("peers", names)
    if asked.me in names:
        raise DoesNotFit(
            "peers",
            f"{asked.me!r} is the broker itself",
            next="list only the other brokers",
        )
    return promote(asked)


@frozen(kw_only=True)
class StatusCheckAnswer(Answer):
    """Whether a broker that starts may be promoted while it follows no primary."""

    vetoed: Annotated[
        bool,
        "whether it refuses a promotion until it follows a primary, or (real) is started again",
    ]
    by: Annotated[tuple[str, ...], "the better brokers, for which it refuses"]
    silent: Annotated[
        tuple[str, ...],
        "the brokers that did not answer; they do not stop a promotion, and prove nothing",
    ]
    rule: Rule = "H3"


@question(
    "standby.status-check",
    "The others' answers to a broker that starts.",
    variant="real",
    peers=[{"name": "b2", "status": SHIPPED[Role.PRIMARY]}, {"name": "b3"}],
)
def answer_status_check(
    *,
    variant: WHOSE = Variant.OURS,
    generation: GENERATION = 0,
    number: NUMBER = 0,
    was_primary: WAS_PRIMARY = False,
    peers: Annotated[
        tuple[Peer, ...], "the other brokers; empty: no list of brokers is configured"
    ],
) -> StatusCheckAnswer:
    """Whether a broker that starts may be promoted, by the others' answers."""
    refuse_twice("peers", [peer.name for peer in peers])
    about = Promotion(
        me="",
        role=Role.CONNECTING,
        variant=variant,
        generation=generation,
        number=number,
        was_primary=was_primary,
        peers=peers,
    )
    rows = rows_of(about)
    checks = variant is not Variant.SEED
    by = tuple(rows[at].name for at in members_of(BETTER, rows, 0)) if checks else ()
    if variant is Variant.OURS:
        by = tuple(row.name for row in rows[1:] if row.answers and (row.better or row.ahead))
    silent = tuple(peer.name for peer in peers if peer.role is None)
    if not checks:
        why = "the document asks no broker: the manager answers for it"
    elif by:
        are = "are" if len(by) > 1 else "is"
        why = f"{', '.join(by)} {are} better than a broker without a primary"
    else:
        why = "no broker that answers is better" + (
            f"; {', '.join(silent)} did not answer" if silent else ""
        )
    return StatusCheckAnswer(vetoed=bool(by), by=by, silent=silent, why=why)


@question(
    "standby.best-store",
    "The stores after a total failure.",
    stores=[
        {"name": "b1", "mark": "dirty", "generation": 4, "primary": True},
        {"name": "b2", "mark": "dirty", "generation": 4, "position": 90},
    ],
    missing=["b3"],
)
def answer_best(
    stores: Annotated[tuple[Store, ...], "the stores that were seen"],
    missing: Annotated[tuple[str, ...], "brokers whose stores were not seen"] = (),
    chain: Annotated[
        View, "the last view in the chain of the built-in manager"
    ] = best_store.NO_VIEW,
) -> best_store.Best:
    """After total failure: which store to start from, and whether that is proven."""
    names = [one.name for one in stores]
    for at, name in enumerate(names):
        if name in names[:at] or name in missing:
            raise DoesNotFit(
                f"stores[{at}]",
                f"the broker {name!r} is named twice",
                next="name each broker once, in `stores` or in `missing`",
            )
    return best_store.best(stores, missing, chain)


@frozen(kw_only=True)
class QueuedMessage:
    """A message of a queue."""

    id: Annotated[str, "its identity"]
    sequence: Annotated[int, AtLeast(0), "its number in the queue; numbers wrap at 2**32"] = 0


def _messages(place: str, messages: tuple[QueuedMessage, ...]) -> list[Message]:
    ids = [one.id for one in messages]
    for at, one in enumerate(messages):
        refuse_twice(place, ids[: at + 1], next="name it once")
        if one.sequence >= SEQUENCE:
            raise DoesNotFit(
                f"{place}[{at}].sequence",
                f"{one.sequence} is not below 2**32, where numbers wrap",
                next="write the number modulo 2**32",
            )
    return [Message(id=one.id, sequence=one.sequence) for one in messages]


@question(
    "standby.catch-up",
    "One queue at a primary and at a backup that connects.",
    variant="ours",
    primary=[{"id": "m2", "sequence": 2}, {"id": "m3", "sequence": 3}],
    backup=[{"id": "m1", "sequence": 1}, {"id": "m2", "sequence": 2}],
)
def answer_catch_up(
    *,
    variant: WHOSE = Variant.OURS,
    primary: Annotated[
        tuple[QueuedMessage, ...], "the primary's messages, from the queue's front to its back"
    ],
    backup: Annotated[
        tuple[QueuedMessage, ...], "the backup's messages, from the queue's front to its back"
    ],
    same_queue: Annotated[
        bool, "whether it is the same queue, and not two queues with the same name"
    ] = True,
    order: Annotated[Order, "the order in which the primary sends older messages"] = Order.LIFO,
) -> catching_up.Exchange:
    """Return the messages that a new primary and a backup exchange for one queue."""
    of_primary, of_backup = _messages("primary", primary), _messages("backup", backup)
    return catching_up.catch_up(variant, of_primary, of_backup, same_queue=same_queue, order=order)


DEFAULTS = {
    Variant.SEED: (Default.NONE, Default.ALL, Default.DURABLE),
    Variant.REAL: (Default.NONE, Default.CONFIGURATION, Default.ALL),
    Variant.OURS: tuple(Default),
}


@question(
    "standby.replicates",
    "A queue, and a message on it.",
    variant="seed",
    default="durable",
    durable_queue=True,
)
def answer_replicates(
    variant: WHOSE = Variant.OURS,
    default: Annotated[Default, "the level of a queue that does not name one"] = Default.NONE,
    *,
    queue: Annotated[Level | None, "the queue's own level; null: it does not name one"] = None,
    message: Annotated[
        bool | None, "the message's own setting, whether it replicates; null: it has none"
    ] = None,
    durable_queue: Annotated[bool, "whether the queue is durable"] = False,
    durable_message: Annotated[bool, "whether the message is durable"] = False,
) -> Replicates:
    """Whether a queue, or a message on it, replicates, and which setting decides."""
    known = DEFAULTS[variant]
    if default not in known:
        words = ", ".join(one.value for one in known)
        raise DoesNotFit(
            "default",
            f"the variant {variant.value!r} has no default {default.value!r}",
            next=f"use one of {words}",
        )
    return replicates(
        variant,
        default,
        queue=queue,
        message=message,
        durable_queue=durable_queue,
        durable_message=durable_message,
    )


QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_promote,
    answer_status_check,
    answer_best,
    answer_catch_up,
    answer_replicates,
)
