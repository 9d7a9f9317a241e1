"""Directories of stores, described by a few letters; the chains are those of `pictures.py`.

    lay(tmp_path, "F C1:ab", a="C1 C1.6", b="C1 C1.5", c="F F.5 of F")

For each member: the view it held, its position, and after `of` a chain of its own; `-` means no
view or position.  Further words: `unfinished`, `marked`, `accepted=X` (a view of the next chain).
"""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.store.handle import create_store
from tests.join import pictures
from tests.join.pictures import lineage, position, views


def record(member: str, text: str, chain: str) -> StoreRecord:
    """Return the record that `text` describes, for the store of `member`."""
    words, _, own = text.partition(" of ")
    chain = (own or chain).replace("-", "")
    held, at, *more = (*words.split(), "-")[:2] + tuple(words.split()[2:])
    drawn = views(chain)
    store = StoreRecord(
        store_id=f"{member}'",
        lineage=lineage(chain),
        held=None if held == "-" else drawn[held].id,
        position=position(at, chain),
        update_unfinished="unfinished" in more,
    )
    if "marked" in more and store.tip is not None:
        store = evolve(store, mark=store.tip.id)
    for word in more:
        if word.startswith("accepted="):
            view = views(f"{chain} {word.removeprefix('accepted=')}")
            ballot = Ballot(1, f"{member}'")
            *_, last = view.values()
            store = evolve(store, promised=ballot, accepted=Accepted(ballot, last))
    return store


def lay(folder: Path, chain: str, **members: str) -> dict[str, Path]:
    """Make a store for each member below `folder`; return the directories."""
    made = {}
    for member, text in members.items():
        made[member] = put(folder / member, member, record(member, text, chain))
    return made


def put(path: Path, member: str, what: StoreRecord, *, cluster_name: str = "") -> Path:
    """Make one store as a member makes it."""
    path.mkdir(parents=True)
    name = cluster_name or pictures.CLUSTER_NAME
    create_store(path, what, member=member, cluster_name=name).close()
    return path
