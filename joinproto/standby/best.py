"""After total failure: which store is the best, and whether that is proven.

The best store is that of the last primary, whose generation is the youngest.  If that store was not
seen, the second best is the store of a backup of the same generation that had all confirmed
messages.  This choice is not proven, because the primary may have gone on without that backup.

If the manager is built in, its chain may have a younger view than any store: the view of a
promotion that no store kept before all brokers died.  No message was confirmed in that view, and
only its members may be promoted.

Source: hot standby, H10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from attrs import frozen

from joinproto.ask.question import NAME, Rule, Why
from joinproto.codec.json_form import Key, Last
from joinproto.standby.broker import Mark, Store
from joinproto.standby.messages import View

NO_VIEW = View()


@frozen
class Best:
    """The broker to start from."""

    store: Annotated[Store | None, Key("best"), NAME, "the broker; null: no broker can be named"]
    proven: Annotated[bool, "whether no other store can be better"]
    needs: Annotated[
        tuple[str, ...],
        Last(1),
        "the brokers whose stores, once seen, would prove the choice or give a better one",
    ]
    case: Annotated[str, Last(8), "the situation in a few words"]
    why: Why
    rule: Rule = "H10"

    @property
    def mark(self) -> Annotated[bool, "whether its store must be marked clean first"]:
        return self.store is not None and self.store.mark is Mark.DIRTY


def best(stores: Sequence[Store], missing: Sequence[str] = (), chain: View = NO_VIEW) -> Best:
    """Return the best of these stores, or why no store can be named.

    `missing`: brokers whose stores were not seen.  `chain`: the last view in the chain of the
    built-in manager.
    """
    needs = tuple(dict.fromkeys(missing))
    kept = [store for store in stores if store.mark is not Mark.EMPTY]
    if not kept:
        return Best(None, False, needs, "no store has data", "no store that was seen has data")
    youngest = max(store.generation for store in kept)
    last = [store for store in kept if store.generation == youngest]
    if chain.generation > youngest:
        return _promoted(last, needs, chain)
    primaries = [store for store in last if store.primary]
    if len(primaries) > 1:
        names = ", ".join(store.name for store in primaries)
        why = (
            f"{names} were primaries of the same generation {youngest}; each may have messages"
            " that the other lacks"
        )
        return Best(None, False, needs, "two primaries", why)
    # The chain's last view of that generation may have dropped a backup whose store does not show
    # it.
    dropped = {store.name for store in last} - {*chain.members} if chain.members else set()
    whole = [store for store in last if store.is_whole and store.name not in dropped]
    chosen = (primaries or sorted(whole or last, key=_order))[0]
    if not primaries and not whole:
        why = f"{chosen.name} had not caught up in generation {youngest}, and no other broker had"
        return Best(chosen, False, needs, "only a broker that was catching up", why)
    what = "was the last primary" if chosen.primary else "had every confirmed message"
    said = f"{chosen.name} {what} in generation {youngest}"
    if not chosen.primary and not needs:
        why = (
            f"{said}; the store of that primary was not seen, and the primary may have gone on"
            f" without {chosen.name}"
        )
        return Best(chosen, False, (), "a backup with all messages", why)
    if needs:
        why = (
            f"{said}, by the stores that were seen; {', '.join(needs)} may know of a younger"
            " generation"
        )
        return Best(chosen, False, needs, "other stores were not seen", why)
    return Best(chosen, True, (), "the last primary", said)


def _promoted(last: Sequence[Store], needs: tuple[str, ...], chain: View) -> Best:
    """Return the best store if no store that was seen kept the promotion of the last view."""
    able = [store for store in last if store.is_whole and store.name in chain.members]
    said = f"{chain.primary} is primary in the chain of views, generation {chain.generation}"
    for store in able:
        if store.name == chain.primary:
            why = (
                f"{said}; it has every message confirmed before, and has confirmed no message since"
            )
            return Best(store, not needs, needs, "its store does not know its promotion", why)
    case, why = "the last primary's store was not seen", f"{said}; its store was not seen"
    return Best(
        min(able, key=_order) if able else None, False, needs or (chain.primary,), case, why
    )


def _order(store: Store) -> tuple[int, str]:
    return (-store.position, store.name)
