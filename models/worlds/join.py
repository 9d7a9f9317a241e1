"""The join worlds: members of the view chain, from empty disks through whatever may come.

Source: join protocol, sections 3 and 4.  The members are the shipped `Member`; the host, its
store and the register are in `join_member.py`, what is known to nobody in `join_ledger.py`,
the claims in `join_claims.py`.

Bounds: a chain has at most `views` views, a client writes at most `frames` frames, a ballot
has at most `rounds` rounds.  Reductions: the first `proposers` members propose, the others
only answer; messages that nobody can use any more are dropped (`expiry`).  Loss, doubling and
reordering are free: the network is a set.  A deadline comes at any moment, and so does the
suspicion that one of the others is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from joinproto.join.config import Config, TotalFailure
from joinproto.join.lineage import Lineage
from joinproto.join.store import StoreRecord
from models.faults import Faults
from models.local import Offline
from models.mutations.catalogue import OF_THE_MEMBER
from models.view import View
from models.world import Together, World
from models.worlds.join_alone import frames_at
from models.worlds.join_claims import (
    becomes_active,
    claims,
    closed_through_a_crash,
    comes_to_rest,
    kept_on_a_store,
    majority_is_there,
    serves_again,
)
from models.worlds.join_expiry import expiry, name_of
from models.worlds.join_ledger import Ledger, era_of
from models.worlds.join_member import Node, Register
from models.worlds.join_plan import HostLapse, Plan
from models.worlds.join_scenes import SCENES, Scene
from models.worlds.join_words import REGISTER

NAMES = ("a", "b", "c", "d", "e")

LAPSES = {lapse.value: lapse for lapse in HostLapse}
MUTANTS = (*OF_THE_MEMBER, *LAPSES)

EMPTY = Scene({}, Lineage())


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
    scene: str = "",
    electors: str = "",
    proposers: int | None = None,
    spared: tuple[str, ...] | None = None,
    transient: tuple[str, ...] = (),
    other_options: tuple[str, ...] = (),
    automatic: bool = True,
    suspects: bool = True,
    is_patient: bool | None = None,
    lasts: bool = False,
    hurries: tuple[int, ...] = (1,),
    closes: bool = True,
    leaves: str = "",
    greets: bool = False,
    hears: str = "",
    cut: tuple[str, ...] = (),
    wiped: str | None = None,
    marks: bool = False,
    foreign: str = "",
    live: bool = False,
    recovers: bool = False,
    beats: bool = True,
    steps: bool = False,
    reaches: tuple[str, ...] = ("FOUND", "CHANGE", "RESTART"),
) -> World:
    """`register`: "atomic", an outside register, or "votes", the members' own.

    `views`, `frames`, `rounds`: see above.  `partitions`: none of two members, else one, with
    `a` alone on one side.  Of two members both propose and crash; of three, `a` does, which
    orders the frames, too.  `lasts`: a wish to close outlives a view without its member.
    `is_patient`: proposers wait for all answers, but behind the views with the numbers in
    `hurries`; so it is with three.
    `scene`: what is on the disks (`join_scenes.py`).  `electors`, `leaves`, `foreign`: names of
    the configured electors (all), of those who may leave, of those who must not come in; `hears`:
    of those who hear of the others at times only; `cut`: pairs that never hear each other.
    `live`: all shall become active; `recovers`: one of them shall;
    `beats`: started at any moment, and with heartbeats.  `steps`: see `Plan`.
    Mutants: the names of rules and duties that can be left out.
    """
    is_pair = members < 3
    partitions = (0 if is_pair else 1) if partitions is None else partitions
    proposers = (2 if is_pair else 1) if proposers is None else proposers
    spared = (() if is_pair else NAMES[1:members]) if spared is None else spared
    is_patient = not is_pair if is_patient is None else is_patient
    names = NAMES[:members]
    votes = register == "votes"
    before = SCENES[scene]() if scene else EMPTY
    lapse = LAPSES.get(mutant or "")
    if lapse is HostLapse.ONE_CONFIG:
        wait_for = 1  # each founds a cluster of its own

    def config(name: str) -> Config:
        voters = frozenset(electors or names) - frozenset(transient if votes else ())
        if lapse is HostLapse.ONE_CONFIG and name in voters:
            voters = frozenset({name})
        return Config(
            member=name,
            electors=voters,
            wait_for=wait_for,
            options="others" if name in other_options else "options",
            is_transient=name in transient,
            total_failure=TotalFailure.AUTOMATIC if automatic else TotalFailure.MANUAL,
            outside=not votes,
            heartbeat=0,
        )

    def plan(name: str) -> Plan:
        fresh = StoreRecord(store_id=f"{name}1", transient=name in transient)
        return Plan(
            config(name),
            before.stores.get(name, fresh),
            frozenset(names) - {name, *(other for pair in cut if name in pair for other in pair)},
            views,
            frames,
            proposes=name in names[:proposers],
            suspects=suspects,
            closes=closes,
            leaves=name in leaves,
            forgets=name in transient or name == wiped,
            greets=greets,
            hears=name in hears,
            beats=(live and beats) or name in hears,
            is_cut=any(name in pair for pair in cut),
            steps=steps,
            is_patient=is_patient,
            lasts=lasts,
            hurries=hurries,
            rounds=rounds,
            mutation=mutant if mutant in OF_THE_MEMBER else None,
            lapses=frozenset({lapse} if lapse else ()),
        )

    nodes: dict[str, Any] = {name: partial(_node, plan(name)) for name in names}
    if not votes:
        forgets = lapse is HostLapse.SETS_ONCE
        nodes[REGISTER] = partial(Register, frozenset(before.chain.views), forgets)
    deeds = _deeds_of(names, wiped, marks, lapse)
    chosen = frozenset(name_of(view.id) for view in before.chain.views)
    eras = frozenset(era_of(name_of(view.id)) for view in before.chain.views if view.activated)
    natives = tuple(name for name in names if name not in foreign)
    properties = claims(names, natives, reaches, votes=votes, writes=frames > 0)
    if recovers:
        properties.append(serves_again(views, natives))
    if live:
        properties.append(becomes_active(views, natives))
    if leaves and electors:
        properties.append(majority_is_there(names))
    if transient:
        properties.append(kept_on_a_store(transient, names))
    if cut:
        properties.append(comes_to_rest(before.chain.length + 1, names))
    if closes and crashes and not is_pair:
        properties.append(closed_through_a_crash(names[0]))
    return World(
        name="join",
        members=nodes,
        faults=Faults(
            crashes=crashes,
            partitions=partitions,
            splits=(frozenset({names[0]}),),
            spared=frozenset({*(() if votes else (REGISTER,)), *spared}),
        ),
        start="down" if live and beats else "up",
        monitor=partial(Ledger, wait_for, lapse is HostLapse.ALL_HAVE_IT, chosen, eras=eras),
        beside=() if votes else (REGISTER,),
        # Numbers say nothing about views of other chains.
        expiry=None if foreign else partial(expiry, names, votes, mutant != "older-frame-accepted"),
        together=partial(_together, deeds) if deeds else None,
        properties=properties,
        about="members of the view chain found, change, close and restart their cluster",
    )


def _node(plan: Plan) -> Node:
    return Node(plan, plan.record, frames_at(plan.record.position, plan.record))


# -- what happens to the disks of stopped members ----------------------------------------------


def _deeds_of(
    names: tuple[str, ...], wiped: str | None, marks: bool, lapse: HostLapse | None
) -> tuple[tuple[str, str, bool], ...]:
    """Return what may be done to whose disk: name, event, whether it is a fault."""
    deeds = [(name, "mark", False) for name in names if marks]
    if wiped is not None:
        deeds.append((wiped, "wipe", True))
    if lapse is HostLapse.NO_BACKUP:
        deeds += [(name, "restore", True) for name in names]
    return tuple(deeds)


_WORDS = {"wipe": "wipe the disk", "restore": "restore the disk", "mark": "mark the store"}


def _together(deeds: tuple[tuple[str, str, bool], ...], view: View) -> Iterator[Together]:
    for name, event, fault in deeds:
        if name in view and name not in view.up:
            yield Together(_WORDS[event], {name: Offline(event)}, name, fair=False, fault=fault)
