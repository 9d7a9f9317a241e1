"""The manager that is built in: one chain of views, and which broker is promoted next.

A view is appended behind the last one, or not at all: a broker that wrote it without knowing the
last one has lost.  So of two promotions at once one comes first, and the other one is refused or
comes behind it, as a younger generation; no broker's clock or silence decides that.

Source: hot standby, H2 to H4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from joinproto.machine.values import evolve
from joinproto.standby.best import best
from joinproto.standby.broker import Mark, Role, Store
from joinproto.standby.messages import View
from joinproto.standby.promote import Peer


def promoted(chain: View, name: str) -> View:
    """Return the view with which this broker becomes primary, behind the last view.

    The former primary is not in it: its messages may differ from those of all the others.
    """
    kept = {*chain.members} - {chain.primary} | {name}
    return View(
        generation=chain.generation + 1, number=1, primary=name, members=tuple(sorted(kept))
    )


def may_promote(chain: View, name: str) -> bool:
    """Return whether it had all that was confirmed, by the last view; at first any broker has."""
    return not chain.members or name in chain.members


def heard(chain: View, peers: Iterable[Peer]) -> tuple[Peer, ...]:
    """Return the others' answers in the form for a promotion; the chain names the generations.

    Else a former primary that must not be promoted would stand in every broker's way, and so
    would a backup that was dropped, and runs on: it is not better than a member of the last view.
    """
    return tuple(evolve(peer, generation=0, lost=False, role=_role(chain, peer)) for peer in peers)


def _role(chain: View, peer: Peer) -> Role | None:
    is_in_the_way = peer.role is Role.BACKUP and not may_promote(chain, peer.name)
    return Role.CONNECTING if is_in_the_way else peer.role


def follows(chain: View, view: View) -> bool:
    """Return whether a view may stand behind the last one: H2, H4."""
    if view.generation == chain.generation:
        is_next = view.number == chain.number + 1
        return is_next and view.primary == chain.primary and view.primary in view.members
    return may_promote(chain, view.primary) and view == promoted(chain, view.primary)


def turn(chain: View, me: str, there: Collection[str]) -> int | None:
    """Return how many brokers must be promoted rather than this one; None if it must not be.

    `there`: the brokers that take part in the chain now.  The former primary comes last: it has
    stopped serving for some reason.
    """
    if not may_promote(chain, me) or me not in there:
        return None
    able = {name for name in there if may_promote(chain, name)}
    return sorted(able, key=lambda name: (name == chain.primary, name)).index(me)


def seen(name: str, role: Role, standing: Role, mark: Mark, view: View) -> Store | None:
    """Return the contents of a broker's store, from the broker's own report.

    None if it has been something since it started, so this is no total failure any more.
    """
    if role is not Role.CONNECTING or standing is not Role.CONNECTING:
        return None
    return Store(
        name=name,
        mark=mark if view.members else Mark.EMPTY,
        generation=view.generation,
        primary=view.primary == name,
        caught_up=name in view.members,
        position=view.number,
    )


def is_proven(me: str, stores: Mapping[str, Store | None], chain: View) -> bool:
    """Return whether the store of this broker is proven to be the last primary's (H10).

    `stores`: of all brokers; None if it was not seen.  Where one is missing, the answer is unknown.
    """
    there = [store for store in stores.values() if store is not None]
    missing = [name for name, store in stores.items() if store is None]
    found = best(there, missing, chain)
    return found.proven and found.store is not None and found.store.name == me
