"""Damage copies of a history's stores: the copies' verdict must not claim more than the stores'.

A file is cut, gets a block of zeros, is emptied or removed, as by a power cut or a bad disk.  A bit
is flipped only in binary files, because a text with another digit is a valid text.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from joinproto.errors import JoinprotoError
from tools.histories.judged import CLAIMS, History, SubsetVerdict, judge

BLOCK_BYTES = 512
# The ends of the names of files that the readers read.
TEXTS = ("cluster_nodes.config", "nodes_running_at_shutdown", "grastate.dat", "gvwstate.dat")
BINARIES = (".DCD", ".DCL", ".LOG", "schema.DAT", "galera.cache")


def damaged(
    history: History, before: SubsetVerdict, *, count: int, chance: random.Random, folder: Path
) -> Iterator[str]:
    """Yield a text for each wrong verdict about `count` damaged copies, made below `folder`.

    `before`: the verdict about the undamaged stores.
    """
    for number in range(count):
        place = folder / f"damaged-{number}"
        copies = _linked(history.stores, place)
        done = [_damage(chance, copies) for _ in range(chance.randint(1, 3))]
        try:
            after = judge(evolve(history, stores=copies), before.given)
        except JoinprotoError:
            continue
        finally:
            shutil.rmtree(place, ignore_errors=True)
        if after.verdict not in CLAIMS:
            continue
        is_more = before.verdict not in CLAIMS or not {*after.named} <= {*before.named}
        if is_more or (after.wrong and not before.wrong):
            was, now = (f"{one.verdict.name} {','.join(one.named)}" for one in (before, after))
            yield f"{was} became {now} by: {'; '.join(done)}"


def _linked(stores: Mapping[str, Path], place: Path) -> dict[str, Path]:
    """Return copies of stores, whose files are hard links."""
    found = {}
    for node, store in stores.items():
        found[node] = place / node
        shutil.copytree(store, found[node], copy_function=os.link)
    return found


def _damage(chance: random.Random, copies: Mapping[str, Path]) -> str:
    """Damage one file of one copied store; return a description."""
    node = chance.choice(sorted(copies))
    files = _files(copies[node])
    if not files:
        return f"{node} has no file left"
    file = chance.choice(files)
    ways = ["cut", "zeros", "emptied", "gone"]
    how = chance.choice([*ways, "flipped"] if file.name.endswith(BINARIES) else ways)
    size = file.stat().st_size
    at = chance.randrange(size) if size else 0
    damage(file, how, at=at, bit=chance.randrange(8))
    return f"{node} {file.name} {how} at {at}"


def damage(file: Path, how: str, *, at: int, bit: int = 0) -> None:
    """Replace a file by one that is damaged at a byte; other links keep the contents."""
    data = bytearray(file.read_bytes())
    file.unlink()
    match how:
        case "gone":
            return
        case "cut":
            del data[at:]
        case "zeros":
            start = at - at % BLOCK_BYTES
            end = min(start + BLOCK_BYTES, len(data))
            data[start:end] = bytes(end - start)
        case "emptied":
            data.clear()
        case "flipped" if data:
            data[at] ^= 1 << bit
    file.write_bytes(data)


def _files(store: Path) -> Sequence[Path]:
    return sorted(file for file in store.iterdir() if file.name.endswith((*TEXTS, *BINARIES)))
