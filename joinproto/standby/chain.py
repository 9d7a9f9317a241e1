"""The built-in manager's rules: one chain of views, and which broker is promoted next.

A view is appended after the last view, or not at all: a view that does not follow the last one is
rejected.  Therefore one of two concurrent promotions comes first, and the second is rejected.  Its
broker may ask again, as a younger generation.  No broker's clock or silence decides this.

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
    """Return the view after the last one, in which this broker is primary.

    If another broker was primary before, the view leaves it out, because its messages may differ
    from those of all others.
    """
    kept = {*chain.members} - {chain.primary} | {name}
    return View(
        generation=chain.generation + 1, number=1, primary=name, members=tuple(sorted(kept))
    )


def may_promote(chain: View, name: str) -> bool:
    """Return whether the last view has this broker as a member.

    Before the first view, every broker may be promoted.
    """
    return not chain.members or name in chain.members


def heard(chain: View, peers: Iterable[Peer]) -> tuple[Peer, ...]:
    """Return the others' answers without the objections that the chain overrules.

    Otherwise a former primary that must not be promoted would block every promotion.  So would a
    backup that was dropped and still runs, although it is not better than a member of the last
    view.  Generations are left out, because the chain has them.
    """
    return tuple(evolve(peer, generation=0, lost=False, role=_role(chain, peer)) for peer in peers)


def _role(chain: View, peer: Peer) -> Role | None:
    is_dropped_backup = peer.role is Role.BACKUP and not may_promote(chain, peer.name)
    return Role.CONNECTING if is_dropped_backup else peer.role


def follows(chain: View, view: View) -> bool:
    """Return whether a view may be appended after the last one: H2, H4."""
    if view.generation == chain.generation:
        is_next = view.number == chain.number + 1
        return is_next and view.primary == chain.primary and view.primary in view.members
    return may_promote(chain, view.primary) and view == promoted(chain, view.primary)


def turn(chain: View, me: str, there: Collection[str]) -> int | None:
    """Return how many brokers come before this one in the order of promotion.

    Return None if this broker must not be promoted, or does not take part in the chain now.
    `there`: the brokers that take part.  The former primary comes last, because it has stopped
    serving for some reason.
    """
    if not may_promote(chain, me) or me not in there:
        return None
    able = {name for name in there if may_promote(chain, name)}
    return sorted(able, key=lambda name: (name == chain.primary, name)).index(me)


def seen(name: str, role: Role, standing: Role, mark: Mark, view: View) -> Store | None:
    """Return the contents of a broker's store, from the broker's own report.

    Return None if the broker has had another role than `connecting` since it started.  In that
    case there was no total failure.
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

    `stores`: the stores of all brokers, None for a store that was not seen.  If a store was not
    seen, the answer is False.
    """
    there = [store for store in stores.values() if store is not None]
    missing = [name for name, store in stores.items() if store is None]
    found = best(there, missing, chain)
    return found.proven and found.store is not None and found.store.name == me
