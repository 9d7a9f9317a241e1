"""After total failure: which store is the best, and whether that is proven.

Best is the last to be primary.  Its generation is the youngest; where that primary's own store is
not there, a backup of the same generation that had all that was confirmed is as good as can be
had: unless that primary went on without it.

Source: hot standby, H10.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from joinproto.standby.broker import Mark, Store


@frozen
class Best:
    """`store`: None where there is none.  `needs`: whose stores would prove it, or better it."""

    store: Store | None
    proven: bool
    needs: tuple[str, ...]
    case: str
    why: str


def best(stores: Sequence[Store], missing: Sequence[str] = ()) -> Best:
    """Return the best of these stores.  `missing`: brokers whose stores were not seen."""
    needs = tuple(dict.fromkeys(missing))
    kept = [store for store in stores if store.mark is not Mark.EMPTY]
    if not kept:
        return Best(None, False, needs, "nothing is kept", "no store that was seen has data")
    youngest = max(store.generation for store in kept)
    last = [store for store in kept if store.generation == youngest]
    primaries = [store for store in last if store.primary]
    if len(primaries) > 1:
        names = ", ".join(store.name for store in primaries)
        why = f"{names} were both primary in generation {youngest}: nothing fenced one of them"
        return Best(None, False, needs, "two primaries", why)
    whole = [store for store in last if store.is_whole]
    chosen = (primaries or sorted(whole or last, key=_order))[0]
    if not chosen.is_whole:
        why = f"{chosen.name} had not caught up in generation {youngest}, and no other one had"
        return Best(chosen, False, needs, "only who was catching up", why)
    what = "was the last primary" if chosen.primary else "had all that was confirmed"
    said = f"{chosen.name} {what}, generation {youngest}"
    if not chosen.primary and not needs:
        why = f"{said}; the store of that primary was not seen, and may have gone on without it"
        return Best(chosen, False, (), "as good", why)
    if needs:
        why = f"{said}, as far as seen: {', '.join(needs)} may know of a younger one"
        return Best(chosen, False, needs, "others were not seen", why)
    return Best(chosen, True, (), "the last primary", said)


def _order(store: Store) -> tuple[int, str]:
    return (-store.position, store.name)
