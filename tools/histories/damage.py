"""Damaged copies of a history's stores: no verdict may claim more than it did before.

A power cut or a bad disk leaves a file cut off, with a block of zeros, empty or gone; a flipped bit
is drawn only in files with binary content, because a text with another digit is another text.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from joinproto.errors import JoinprotoError
from tools.histories.judged import CLAIMS, History, Judged, judge

BLOCK_BYTES = 512
# Files of a store that the readers look at, by the end of their names; text has no bit flipped.
TEXTS = ("cluster_nodes.config", "nodes_running_at_shutdown", "grastate.dat", "gvwstate.dat")
BINARIES = (".DCD", ".DCL", ".LOG", "schema.DAT", "galera.cache")


def damaged(
    history: History, before: Judged, *, count: int, chance: random.Random, folder: Path
) -> Iterator[str]:
    """Yield the wrong verdicts on `count` damaged copies, made below `folder`."""
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
    """Return copies of stores whose files are links: damaged files are written again."""
    found = {}
    for node, store in stores.items():
        found[node] = place / node
        shutil.copytree(store, found[node], copy_function=os.link)
    return found


def _damage(chance: random.Random, copies: Mapping[str, Path]) -> str:
    """Damage one file of one store; return a description."""
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
    """Write a file again, damaged at a byte; a link to it elsewhere keeps its contents."""
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
