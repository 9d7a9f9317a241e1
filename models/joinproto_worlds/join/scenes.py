"""Scenes: the initial contents of the disks in a join world.

A scene is the end of a run that other worlds have searched.  A world that starts there is small
enough to search the continuations.  Only some of the scenes have frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from joinproto.join.config import Config
from joinproto.join.ids import by_content
from joinproto.join.lineage import Lineage
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View, change, close, found


def _options(wait_for: int) -> str:
    electors = frozenset("a")
    config = Config(
        member="a", electors=electors, wait_for=wait_for, options="options", outside=True
    )
    return config.digest


@frozen
class Scene:
    """The contents of the disks.  `stores`: the record of each member; a member that is not named
    has an empty disk.

    `chain`: the chosen views.  `others`: members whose views are of other chains, or too old to be
    compared.  `committed`: frames that were acknowledged.
    """

    stores: Mapping[str, StoreRecord]
    chain: Lineage
    others: str = ""
    committed: frozenset[Position] = frozenset()


def _seat(name: str) -> Seat:
    return Seat(name, f"{name}1")


def _founded(names: str, *, nonce: str = "-", wait_for: int = 2) -> Lineage:
    first = found(
        members=map(_seat, names),
        electors=map(_seat, names),
        wait_for=wait_for,
        options_digest=_options(wait_for),
        cluster_name="cluster",
        nonce=nonce,
        time=0,
        digest=by_content,
    )
    return Lineage().append(first)


def _changed(
    chain: Lineage,
    names: str,
    nonce: str = "-",
    position: Position | None = None,
) -> Lineage:
    return chain.append(
        change(
            _tip(chain),
            members=map(_seat, names),
            position=position,
            activated=True,
            nonce=nonce,
            time=0,
            digest=by_content,
        )
    )


def _closed(chain: Lineage, at: Position | None = None) -> Lineage:
    end = close(_tip(chain), position=at, activated=True, nonce="-", time=0, digest=by_content)
    return chain.append(end)


def _tip(chain: Lineage) -> View:
    tip = chain.tip
    assert tip is not None
    return tip


def _first_frame(chain: Lineage) -> Position:
    return Position(_tip(chain).id, 1)


def _store(name: str, chain: Lineage, *, ready_at: int = 0, **more: Any) -> StoreRecord:
    """Return the record of a store; `ready_at`: the number of the view that it was ready in."""
    held = chain.id_at(ready_at) if ready_at else None
    return StoreRecord(store_id=f"{name}1", lineage=chain, held=held, **more)


def _stores(names: str, chain: Lineage, **more: Any) -> dict[str, StoreRecord]:
    """Return the records of several members, as `_store` does."""
    return {name: _store(name, chain, **more) for name in names}


def _empty(name: str, life: int = 1) -> StoreRecord:
    return StoreRecord(store_id=f"{name}{life}")


def mixed() -> Scene:
    """The cluster was closed in order while `b` was away; then `c` lost its disk (I3, I7)."""
    first = _founded("abc")
    second = _changed(first, "ac")
    third = _closed(second)
    a, b = _store("a", third, ready_at=2), _store("b", first, ready_at=1)
    return Scene({"a": a, "b": b, "c": _empty("c", 2)}, third)


def founded() -> Scene:
    """All three members know that the cluster is founded; no member was ready yet."""
    first = _founded("abc")
    return Scene(_stores("abc", first), first)


def four() -> Scene:
    """As `founded`, with four members."""
    first = _founded("abcd", wait_for=3)
    return Scene(_stores("abcd", first), first)


def replaced() -> Scene:
    """All members know a view in which none was ready yet; then `c` lost its disk."""
    first = _founded("abc")
    frame = _first_frame(first)
    chain = _changed(first, "abc", position=frame)
    stores = _stores("ab", chain, ready_at=1, position=frame)
    return Scene({**stores, "c": _empty("c", 2)}, chain)


def behind() -> Scene:
    """`a` and `b` know a view that starts at a frame that only `b` has: it is not acknowledged."""
    first = _founded("ab")
    frame = _first_frame(first)
    chain = _changed(first, "ab", position=frame)
    stores = _stores("ab", chain, ready_at=1)
    return Scene({**stores, "b": evolve(stores["b"], position=frame)}, chain)


def clean_lost() -> Scene:
    """The cluster was closed in order while only `b` had the last frame; then `b` lost its disk."""
    first = _founded("ab")
    chain = _closed(first, _first_frame(first))
    return Scene({"a": _store("a", chain, ready_at=1), "b": _empty("b", 2)}, chain)


def given_up() -> Scene:
    """`c`, an elector, was given up: `a` and `b` are in a view without it."""
    chain = _changed(_founded("abc"), "ab")
    return Scene(_stores("ab", chain, ready_at=1), chain)


def left_out() -> Scene:
    """`b` knows a view with only itself; `a`, which was left out, does not know this view."""
    first = _founded("ab", wait_for=1)
    chain = _changed(first, "b")
    stores = {"a": _store("a", first, ready_at=1), "b": _store("b", chain, ready_at=1)}
    return Scene(stores, chain)


def wiped() -> Scene:
    """All members were stopped at once; then `c` lost its disk."""
    first = _founded("abc")
    return Scene({**_stores("ab", first, ready_at=1), "c": _empty("c", 2)}, first)


def stopped() -> Scene:
    """`a` and `b` were stopped at once."""
    first = _founded("ab")
    return Scene(_stores("ab", first, ready_at=1), first)


def closed() -> Scene:
    """The cluster was closed in order."""
    chain = _closed(_founded("ab"))
    return Scene(_stores("ab", chain, ready_at=1), chain)


def half_updated() -> Scene:
    """The cluster was closed in order, and each store has an unfinished update (I6)."""
    scene = closed()
    broken = {name: evolve(store, update_unfinished=True) for name, store in scene.stores.items()}
    return Scene(broken, scene.chain)


def foreign() -> Scene:
    """`a` and `b` were closed; `c` knows the first view of another cluster (J3)."""
    scene = closed()
    other = _store("c", _founded("abc", nonce="another"))
    return Scene({**scene.stores, "c": other}, scene.chain, others="c")


def branch() -> Scene:
    """`a` and `b` were closed; `c` is of a branch of this cluster that has more views (J3)."""
    scene = closed()
    branch = _changed(_founded("ab"), "ab", nonce="forced")
    other = _store("c", _changed(branch, "ab", nonce="forced"))
    return Scene({**scene.stores, "c": other}, scene.chain, others="c")


def copied() -> Scene:
    """`a` and `b` were closed; the disk of `c` is a copy of that of `a`."""
    scene = closed()
    return Scene({**scene.stores, "c": scene.stores["a"]}, scene.chain)


def long_ago() -> Scene:
    """`a` and `b` were closed, and keep only the last view; `c` stopped long before it (J3)."""
    second = _changed(_founded("ab"), "ab")
    chain = _closed(_changed(second, "ab"))
    short = Lineage(chain.views[-1:], chain.initial)
    stores = {**_stores("ab", short), "c": _store("c", second)}
    return Scene(stores, chain, others="c")


def tails() -> Scene:
    """`a` crashed with a frame that was not acknowledged; then `b` alone wrote its own frame 1."""
    first = _founded("ab", wait_for=1)
    chain = _changed(first, "b")
    a = _store("a", first, ready_at=1, position=_first_frame(first))
    b = _store("b", chain, ready_at=2, position=_first_frame(chain))
    return Scene({"a": a, "b": b}, chain, committed=frozenset({_first_frame(chain)}))


def _with_two_frames(first: Lineage, names: str, ready: str) -> Scene:
    """Return a scene: frame 1 is from the view `first`, and frame 2, which `ready` have, from a
    view of `names`.
    """
    before = _first_frame(first)
    chain = _changed(first, names, position=before)
    last = Position(_tip(chain).id, 2)
    stores = _stores(ready, chain, ready_at=2, position=last)
    return Scene(stores, chain, committed=frozenset({before, last}))


def put_back() -> Scene:
    """All were killed; the disk of `b` was put back from a copy of the first view's time."""
    first = _founded("abc")
    scene = _with_two_frames(first, "abc", "ac")
    old = _store("b", first, ready_at=1, position=_first_frame(first))
    return evolve(scene, stores={**scene.stores, "b": old})


def put_back_empty() -> Scene:
    """As `put_back`, but the copy was made before the cluster was founded."""
    scene = put_back()
    return evolve(scene, stores={**scene.stores, "b": _empty("b")})


def put_back_in_update() -> Scene:
    """As `put_back`, but the copy was made in an update of `b` in view 2, which gave up `d`."""
    first = _founded("abcd", wait_for=3)
    scene = _with_two_frames(first, "abc", "ac")
    old = _store("b", scene.chain, ready_at=1)
    away = _store("d", first, ready_at=1, position=_first_frame(first))
    return evolve(scene, stores={**scene.stores, "b": old, "d": away})


def two_put_back() -> Scene:
    """As `put_back`, and the disk of `c` was put back, too: only `a` has frame 2."""
    scene = put_back()
    old = evolve(scene.stores["b"], store_id="c1")
    return evolve(scene, stores={**scene.stores, "c": old})


def blank_majority() -> Scene:
    """All were stopped, and two of three lost their disks; the third has the acknowledged frame."""
    first = _founded("abc")
    frame = _first_frame(first)
    whole = _store("a", first, ready_at=1, position=frame)
    stores = {"a": whole, "b": _empty("b", 2), "c": _empty("c", 2)}
    return Scene(stores, first, committed=frozenset({frame}))


def blank_founder() -> Scene:
    """`a`, the first of the electors, is back with an empty disk; the others have a frame."""
    first = _founded("abc")
    frame = _first_frame(first)
    whole = _stores("bc", first, ready_at=1, position=frame)
    return Scene({"a": _empty("a", 2), **whole}, first, committed=frozenset({frame}))


def first_leaver() -> Scene:
    """`a` left long ago with a whole store; `b` and `c` went on without it, and were killed."""
    first = _founded("abc")
    scene = _with_two_frames(first, "bc", "bc")
    old = _store("a", first, ready_at=1, position=_first_frame(first))
    return evolve(scene, stores={"a": old, **scene.stores})


def half_copied() -> Scene:
    """`b` was being updated when all were killed: it knows the view, and lacks some of its data."""
    first = _founded("ab")
    frame = _first_frame(first)
    chain = _changed(first, "ab", position=frame)
    whole = _store("a", chain, ready_at=2, position=frame)
    half = _store("b", chain, ready_at=1, update_unfinished=True)
    return Scene({"a": whole, "b": half}, chain, committed=frozenset({frame}))


SCENES: Mapping[str, Callable[[], Scene]] = {
    scene.__name__.replace("_", "-"): scene
    for scene in (
        founded,
        four,
        replaced,
        behind,
        given_up,
        left_out,
        clean_lost,
        mixed,
        wiped,
        stopped,
        closed,
        half_updated,
        foreign,
        branch,
        copied,
        long_ago,
        tails,
        put_back,
        put_back_empty,
        put_back_in_update,
        two_put_back,
        blank_majority,
        blank_founder,
        first_leaver,
        half_copied,
    )
}
