"""The join worlds: members of the view chain, from empty disks through whatever may come.

Source: join protocol, sections 3 and 4.  The members are the shipped `Member`; the host, its
store and the register are in `join_member.py`, what is known to nobody in `join_ledger.py`.

Bounds: a chain has at most `views` views, a client writes at most `frames` frames, a ballot
has at most `rounds` rounds.  Reductions: the first `proposers` members propose, the others
only answer; messages that nobody can use any more are dropped (`expiry`).  Loss, doubling and
reordering are free: the network is a set.  A deadline comes at any moment, and so does the
suspicion that the others are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from models.local import Offline
from models.properties import (
    Property,
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    sometimes_monitor,
    sometimes_one,
)
from models.view import View
from models.world import Together, World
from models.worlds.join_expiry import expiry
from models.worlds.join_ledger import Book, Ledger
from models.worlds.join_member import REGISTER, HostLapse, Node, Plan, Register, Shown

NAMES = ("a", "b", "c", "d", "e")

RULES: dict[str, Rule] = {
    rule.value: rule for kind in (Seam, Weakness, Shortcut, Guard, Lapse) for rule in kind
}
LAPSES = {lapse.value: lapse for lapse in HostLapse}
MUTANTS = (*RULES, *LAPSES)


def build(
    members: int = 3,
    wait_for: int = 2,
    crashes: int = 1,
    partitions: int | None = None,
    register: str = "atomic",
    mutant: str | None = None,
    views: int = 3,
    frames: int = 1,
    rounds: int = 1,
    *,
    proposers: int | None = None,
    spared: tuple[str, ...] | None = None,
    transient: tuple[str, ...] = (),
    other_options: tuple[str, ...] = (),
    automatic: bool = True,
    suspects: bool = True,
    is_patient: bool | None = None,
    hurries: tuple[int, ...] = (1,),
    closes: bool = True,
    leaves: bool = False,
    wiped: str | None = None,
    marks: bool = False,
    reaches: tuple[str, ...] = ("FOUND", "CHANGE", "RESTART"),
) -> World:
    """`register`: "atomic", an outside register, or "votes", the members' own.

    `views`, `frames`, `rounds`: see above.  `partitions`: none of two members, else one, with
    `a` alone on one side.  Of two members both propose and crash; of three, `a` does, which
    orders the frames, too.  `is_patient`: proposers wait for all answers, but behind the views
    with the numbers in `hurries`; so it is with three.
    Mutants: the names of rules and duties that can be left out.
    """
    is_pair = members < 3
    partitions = (0 if is_pair else 1) if partitions is None else partitions
    proposers = (2 if is_pair else 1) if proposers is None else proposers
    spared = (() if is_pair else NAMES[1:members]) if spared is None else spared
    is_patient = not is_pair if is_patient is None else is_patient
    names = NAMES[:members]
    votes = register == "votes"

    def plan(name: str) -> Plan:
        return Plan(
            Config(
                member=name,
                electors=frozenset(names) - (frozenset(transient) if votes else frozenset()),
                wait_for=wait_for,
                options="others" if name in other_options else "options",
                is_transient=name in transient,
                total_failure=TotalFailure.AUTOMATIC if automatic else TotalFailure.MANUAL,
                outside=not votes,
                heartbeat=0,
            ),
            StoreRecord(store_id=f"{name}1", transient=name in transient),
            frozenset(names) - {name},
            views,
            frames,
            proposes=name in names[:proposers],
            suspects=suspects,
            closes=closes,
            leaves=leaves,
            forgets=name in transient or name == wiped,
            is_patient=is_patient,
            hurries=hurries,
            rounds=rounds,
            left_out=frozenset({RULES[mutant]} if mutant in RULES else ()),
            lapses=frozenset({LAPSES[mutant]} if mutant in LAPSES else ()),
        )

    nodes: dict[str, Any] = {name: partial(_node, plan(name)) for name in names}
    if not votes:
        nodes[REGISTER] = Register
    lasting = () if votes else (REGISTER,)
    return World(
        name="join",
        members=nodes,
        faults=Faults(
            crashes=crashes,
            partitions=partitions,
            splits=(frozenset({names[0]}),),
            spared=frozenset({*lasting, *spared}),
        ),
        monitor=partial(Ledger, wait_for),
        expiry=partial(expiry, names, votes, mutant != Lapse.FENCING.value),
        together=partial(_deeds, wiped, names if marks else ()) if wiped or marks else None,
        properties=_properties(names, frames > 0, reaches),
        about="members of the view chain found, change, close and restart their cluster",
    )


def _node(plan: Plan) -> Node:
    return Node(plan, plan.record)


def _deeds(wiped: str | None, marked: tuple[str, ...], view: View) -> Iterator[Together]:
    down = [name for name in view if name not in view.up]
    if wiped in down and wiped is not None:
        yield Together("wipe the disk", {wiped: Offline("wipe")}, wiped, fair=False, fault=True)
    for name in marked:
        if name in down:
            yield Together("mark the store", {name: Offline("mark")}, name, fair=False)


# -- the claims ------------------------------------------------------------------------------------


def _properties(names: tuple[str, ...], writes: bool, reaches: tuple[str, ...]) -> list[Property]:
    return [
        *[always_monitor(claim, partial(_finds_nothing, claim)) for claim in LEDGER],
        *[always_each(claim, partial(_is_right, claim), among=names) for claim in ALONE],
        always_beside("learned_is_chosen", learned_is_chosen, among=names),
        always_beside("nothing_lost", nothing_lost, among=names),
        always_beside("closed_is_quiet", closed_is_quiet, among=names),
        always_pair("options_agree", options_agree, among=names),
        *[
            sometimes_one(f"active in a {name}", partial(active_in, Kind[name]), among=names)
            for name in reaches
        ],
        *([sometimes_monitor("a frame is committed", _is_committed)] if writes else []),
    ]


LEDGER = ("one_successor", "no_split_brain", "waits_for_n", "permitted_after_total_failure")
ALONE = ("dirty_before_serving", "position_is_data", "no_wrong_store")


def _finds_nothing(claim: str, book: Book) -> bool:
    return not book.wrong.startswith(claim)


def _is_right(claim: str, shown: Shown) -> bool:
    return not shown.wrong.startswith(claim)


def _is_committed(book: Book) -> bool:
    return bool(book.committed)


def learned_is_chosen(shown: Shown, book: Book) -> bool:
    """What a member knows as its tip has been chosen."""
    return shown.tip is None or shown.tip in book.chosen


def nothing_lost(shown: Shown, book: Book) -> bool:
    """Whoever is ready in its tip has all that was committed up to there.

    So also `no_stale_source`: only who is ready feeds an update.
    """
    if shown.frames is None or shown.tip is None:
        return True
    return all(
        frame in shown.frames
        for frame in book.committed
        if isinstance(frame.view, Name) and frame.view.number <= shown.tip.number
    )


def closed_is_quiet(shown: Shown, book: Book) -> bool:
    """S2: once the CLOSE is chosen, nobody serves in the view that it closes."""
    closed = [view.parent for view in book.chosen if view.kind is Kind.CLOSE]
    return shown.phase is not Phase.ACTIVE or shown.tip not in closed


def options_agree(one: Shown, other: Shown) -> bool:
    """I2, for two that are active in the same view."""
    both = one.phase is Phase.ACTIVE and other.phase is Phase.ACTIVE and one.tip == other.tip
    return not both or one.options == other.options


def active_in(kind: Kind, shown: Shown) -> bool:
    return shown.phase is Phase.ACTIVE and shown.tip is not None and shown.tip.kind is kind
