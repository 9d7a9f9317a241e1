"""The join worlds: members of the view chain, from empty disks through whatever may come.

Source: join protocol, sections 3 and 4.  The members are the shipped `Member`; the host, its
store and the register are in `join_member.py`, what is known to nobody in `join_ledger.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from joinproto.core.chain.answers import Weakness
from joinproto.core.chain.chooser import Seam
from joinproto.core.chain.config import Config, TotalFailure
from joinproto.core.chain.ids import Name
from joinproto.core.chain.member import Lapse, Rule
from joinproto.core.chain.phases import Guard, Phase
from joinproto.core.chain.store import StoreRecord
from joinproto.core.chain.successor import Shortcut
from joinproto.core.chain.view import Kind
from models.faults import Faults
from models.properties import (
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    sometimes_monitor,
    sometimes_one,
)
from models.world import World
from models.worlds.join_ledger import Book, Ledger
from models.worlds.join_member import REGISTER, Node, Plan, Register, Shown, expiry

NAMES = ("a", "b", "c", "d", "e")

RULES: dict[str, Rule] = {
    rule.value: rule for kind in (Seam, Weakness, Shortcut, Guard, Lapse) for rule in kind
}


def build(
    members: int = 3,
    wait_for: int = 2,
    crashes: int = 1,
    partitions: int = 0,
    register: str = "atomic",
    views: int = 4,
    frames: int = 1,
    mutant: str | None = None,
    *,
    automatic: bool = True,
    transient: tuple[str, ...] = (),
    proposers: int = 2,
    spared: tuple[str, ...] = (),
    suspects: bool = True,
    closes: bool = True,
    leaves: bool = False,
) -> World:
    names = NAMES[:members]
    left_out = frozenset() if mutant is None else frozenset({RULES[mutant]})

    def plan(name: str) -> Plan:
        config = Config(
            member=name,
            electors=frozenset(names) - frozenset(transient)
            if register == "votes"
            else frozenset(names),
            wait_for=wait_for,
            is_transient=name in transient,
            total_failure=TotalFailure.AUTOMATIC if automatic else TotalFailure.MANUAL,
            outside=register == "atomic",
            heartbeat=0,
        )
        record = StoreRecord(store_id=f"{name}1", transient=name in transient)
        return Plan(
            config,
            record,
            frozenset(names) - {name},
            views,
            frames,
            proposes=name in names[:proposers],
            suspects=suspects,
            closes=closes,
            leaves=leaves,
            forgets=name in transient,
            left_out=left_out,
        )

    nodes: dict[str, Any] = {name: partial(_node, plan(name)) for name in names}
    if register == "atomic":
        nodes[REGISTER] = Register
    among = names
    return World(
        name="join",
        members=nodes,
        faults=Faults(
            crashes=crashes,
            partitions=partitions,
            splits=(frozenset({names[0]}),),
            spared=frozenset({REGISTER} if register == "atomic" else ()) | frozenset(spared),
        ),
        monitor=partial(Ledger, wait_for),
        expiry=partial(expiry, names, register == "votes"),
        properties=[
            always_monitor("the ledger finds nothing wrong", lambda book: not book.wrong),
            always_each(
                "each member by itself is right", lambda shown: not shown.wrong, among=among
            ),
            always_beside("learned_is_chosen", learned_is_chosen, among=among),
            always_beside("nothing_lost", nothing_lost, among=among),
            always_pair("options_agree", options_agree, among=among),
            sometimes_one("active", lambda shown: shown.phase is Phase.ACTIVE, among=among),
            *[
                sometimes_one(
                    f"active in a {kind.name}",
                    partial(active_in, kind),
                    among=among,
                )
                for kind in (Kind.FOUND, Kind.CHANGE, Kind.RESTART)
            ],
            sometimes_monitor("a frame is committed", lambda book: bool(book.committed)),
        ],
        about="",
    )


def _node(plan: Plan) -> Node:
    return Node(plan, plan.record)


def learned_is_chosen(shown: Shown, book: Book) -> bool:
    return shown.tip is None or shown.tip in book.chosen


def nothing_lost(shown: Shown, book: Book) -> bool:
    """Whoever is ready in its tip has all that was committed up to there."""
    if shown.frames is None or shown.tip is None:
        return True
    return all(
        frame in shown.frames
        for frame in book.committed
        if isinstance(frame.view, Name) and frame.view.number <= shown.tip.number
    )


def options_agree(one: Shown, other: Shown) -> bool:
    both = one.phase is Phase.ACTIVE and other.phase is Phase.ACTIVE
    return not both or one.options == other.options


def active_in(kind: Kind, shown: Shown) -> bool:
    return shown.phase is Phase.ACTIVE and shown.tip is not None and shown.tip.kind is kind
