"""The join worlds: members of the view chain, which start from empty disks or from a scene.

Source: join protocol, sections 3 and 4.  The members are the shipped `Member`; the host, its store
and the register are in `member.py`, `host.py` and `register.py`, the facts that no single member
knows in `ledger.py`, and the claims in `claims.py`.

Bounds: see `bounds.py`.  Two reductions keep the worlds small.  Only the first `proposers` members
propose, and the others answer; and messages that no member can use any more are dropped (`expiry`).
The network is a set, so messages may always be lost, doubled and reordered.  A deadline may come at
any moment, and a member may at any moment suspect that another member is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from joinproto.check.faults import Faults
from joinproto.check.local import Offline
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto_worlds.join.alone import frames_at
from joinproto_worlds.join.bounds import Bounds
from joinproto_worlds.join.claims import properties
from joinproto_worlds.join.expiry import expiry, name_of
from joinproto_worlds.join.ledger import Ledger, era_of
from joinproto_worlds.join.member import Node
from joinproto_worlds.join.outcomes import OUTCOMES
from joinproto_worlds.join.plan import HostLapse, Plan
from joinproto_worlds.join.register import Register
from joinproto_worlds.join.words import REGISTER


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
    **given: Any,
) -> World:
    """Return the world within these bounds; `Bounds` explains the arguments."""
    bounds = Bounds(
        members=members,
        wait_for=wait_for,
        crashes=crashes,
        partitions=partitions,
        register=register,
        mutant=mutant,
        views=views,
        frames=frames,
        rounds=rounds,
        **given,
    )
    names, votes, lapse = bounds.names, bounds.votes, bounds.lapse
    scene = bounds.first_scene()
    nodes: dict[str, Any] = {name: partial(_node, bounds.plan(name, scene)) for name in names}
    if not votes:
        forgets = lapse is HostLapse.SETS_ONCE
        nodes[REGISTER] = partial(Register, frozenset(scene.chain.views), forgets)
    actions = _actions_of(bounds)
    chosen = frozenset(name_of(view.id) for view in scene.chain.views)
    eras = frozenset(era_of(name_of(view.id)) for view in scene.chain.views if view.activated)
    half_is_enough = lapse is HostLapse.ALL_HAVE_IT
    return World(
        name="join",
        members=nodes,
        faults=Faults(
            crashes=crashes,
            partitions=bounds.splits,
            splits=(frozenset({names[0]}),),
            spared=frozenset({*(() if votes else (REGISTER,)), *bounds.never_crash}),
        ),
        start="down" if bounds.live and bounds.beats else "up",
        monitor=partial(
            Ledger, bounds.n, half_is_enough, chosen, eras=eras, committed=scene.committed
        ),
        beside=() if votes else (REGISTER,),
        # Messages expire by the numbers of views, which cannot be compared between two chains.
        expiry=None
        if bounds.foreign
        else partial(expiry, names, votes, mutant != "older-frame-accepted"),
        together=partial(_together, actions) if actions else None,
        properties=properties(bounds, scene.chain.length),
        labels=OUTCOMES if bounds.frames else (),
        about="members of the view chain found, change, close and restart their cluster",
    )


def _node(plan: Plan) -> Node:
    return Node(plan, plan.record, frames_at(plan.record.position, plan.record))


# -- events of the disks of stopped members -------------------------------------------------


def _actions_of(bounds: Bounds) -> tuple[tuple[str, str, bool], ...]:
    """Return the possible actions on disks: the member, the event, and whether it is a fault."""
    actions = [(name, "mark", False) for name in bounds.names if bounds.marks]
    if bounds.wiped is not None:
        actions.append((bounds.wiped, "wipe", True))
    if bounds.lapse is HostLapse.NO_BACKUP:
        actions += [(name, "restore", True) for name in bounds.names]
    return tuple(actions)


_WORDS = {"wipe": "wipe the disk", "restore": "restore the disk", "mark": "mark the store"}


def _together(actions: tuple[tuple[str, str, bool], ...], view: View) -> Iterator[Together]:
    for name, event, fault in actions:
        if name in view and name not in view.up:
            yield Together(_WORDS[event], {name: Offline(event)}, name, fair=False, fault=fault)
