"""Whole data directories with random damage: `pick` never claims more than the node finds.

A node opens a copy of each directory by `open_disk`, as `joinproto node` does.  A directory that
the node refuses is never the latest of a verdict that is proven, clean or a tie.  The node opens
each directory that the tool calls readable, with the same last frame.  Reading changes no file.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from joinproto.durable.envelope import Envelope, seal, unseal
from joinproto.durable.journal import index as indexes
from joinproto.durable.journal.journal import FILE
from joinproto.errors import StoreError, UsageProblem
from joinproto.log.disk import open_disk
from joinproto.log.replicated import ReplicatedLog
from joinproto.pick.table import Verdict
from joinproto.recovery.found import Found, State
from joinproto.recovery.judgement import Judgement, judge
from joinproto.recovery.sources import look
from tests.log.engines import Applied
from tests.recovery.asking import snapshot
from tests.recovery.nodes import drop, make_node

WRITTEN = Path(__file__).parent / "written" / "0.1.0"
META, BEFORE, LOCK = (
    Path("joinproto") / name for name in ("store.meta", "store.meta.previous", "store.lock")
)
INDEX, SNAPSHOT, FLOOR = Path("frames.index"), Path("frames.snapshot"), Path("frames.floor")
FILES = (Path(FILE), META, BEFORE, LOCK, INDEX, SNAPSHOT, FLOOR, Path(FILE))
SURE = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)

# A disk in memory, because a node syncs what it opens, and two thousand directories are opened.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _dirty(folder: Path) -> None:
    make_node(folder / "a", "C1 F.2", "F C1:ab@F.2", ("F", 2), ("C1", 3))
    make_node(folder / "b", "C1 -", "F C1:ab@F.2", ("F", 2), ("C1", 4))
    make_node(folder / "c", "F -", "F", ("F", 2))


def _stop_in_order(folder: Path) -> None:
    for name in "abc":
        make_node(folder / name, "F F.3", "F X@F.3", ("F", 3))


def _new(folder: Path) -> None:
    for name in "ab":
        make_node(folder / name, "- - of -", "F")


def _updating(folder: Path) -> None:
    _dirty(folder)
    shutil.rmtree(folder / "c")
    make_node(folder / "c", "F - unfinished", "F C1:ab@F.2", ("F", 1))


def _drop_frames(folder: Path) -> None:
    _dirty(folder)
    drop(folder / "a", 2)
    drop(folder / "b", 3)


def _drop_after_stop(folder: Path) -> None:
    _stop_in_order(folder)
    for name in "abc":
        drop(folder / name, 1)


def _copy_written(folder: Path) -> None:
    for name in "abc":
        shutil.copytree(WRITTEN / name, folder / name)


KINDS = (
    *("remove", "cut", "flip", "zero", "head", "tail", "swap", "directory", "link", "pipe"),
    *("older", "history", "payload", "empty"),
)
BASES: tuple[Callable[[Path], None], ...] = (
    *(_dirty, _stop_in_order, _new, _updating, _copy_written),
    *(_drop_frames, _drop_after_stop),
)


def _harm(random: Random, folder: Path) -> str:
    """Damage a directory like disks, copies or people do; return the kind of damage."""
    victim, other = random.choice("abc"), random.choice("abc")
    file = folder / victim / random.choice(FILES)
    if not file.exists() or file.is_symlink() or not file.is_file():
        return "nothing"
    data = bytearray(file.read_bytes())
    kind = random.choice(KINDS)
    at = random.randrange(len(data) or 1)
    match kind:
        case "remove":
            file.unlink()
        case "cut":
            file.write_bytes(data[:at])
        case "flip" if data:
            data[at] ^= 1 << random.randrange(8)
            file.write_bytes(data)
        case "zero":
            data[at : at + 16] = bytes(len(data[at : at + 16]))
            file.write_bytes(data)
        case "head":
            file.write_bytes(bytes(16) + data[16:])
        case "tail":
            file.write_bytes(data + random.choice((b"jpF1", bytes(60), bytes(data[-80:]))))
        case "swap" if (folder / other / file.relative_to(folder / victim)).is_file():
            there = (folder / other / file.relative_to(folder / victim)).read_bytes()
            file.write_bytes(there)
        case "directory":
            file.unlink()
            file.mkdir()
        case "link":
            file.rename(file.with_name("elsewhere"))
            file.symlink_to(file.with_name("elsewhere"))
        case "pipe":
            file.unlink()
            os.mkfifo(file)
        case "older" if (folder / victim / BEFORE).is_file():
            shutil.copyfile(folder / victim / BEFORE, folder / victim / META)
        case "empty":
            file.write_bytes(b"")
        case "history" | "payload":
            _rewrite(random, folder / victim / META, of=kind)
    return f"{kind} {file.relative_to(folder)}"


def _rewrite(random: Random, file: Path, *, of: str) -> None:
    """Change the metadata, and give it a right checksum."""
    if not file.is_file():
        return
    found = unseal(file.read_bytes())
    if not isinstance(found, Envelope):
        return
    payload = found.payload
    if of == "history":
        entry = random.choice((b'{"what": "mark", "plan": "x"}', b'{"hash": 1}', b"7", b"[]"))
        payload = payload.replace(b'"history": []', b'"history": [' + entry + b"]")
    else:
        old = random.choice((b'"position": null', b'"held": "', b'"seq": 2', b'"frames": "'))
        new = random.choice((b'"position": 7', b'"held": "00', b'"seq": 99', b'"frames": "x'))
        payload = payload.replace(old, new, 1)
    file.write_bytes(seal(Envelope(found.generation + random.randint(-1, 1), payload)))


def _start_node(found: Found, path: Path) -> str | int | None:
    """Return the last frame with which a node starts on a copy, or why it does not start."""
    copy = path.with_name(f"{path.name}-copy")
    shutil.copytree(path, copy, symlinks=True, copy_function=_copy_entry)
    try:
        disk = open_disk(copy, found.member or "a", found.cluster_name or "cluster")
    except StoreError as error:
        return str(error)
    else:
        position = disk.record.position
        try:
            ReplicatedLog(disk.journal, Applied())
        finally:
            disk.close()
        return None if position is None else position.seq
    finally:
        shutil.rmtree(copy)


def _copy_entry(source: str, target: str) -> str:
    if Path(source).is_fifo():
        os.mkfifo(target)
        return target
    return str(shutil.copy2(source, target, follow_symlinks=False))


def _damage_round(seed: int, base: Path) -> tuple[Judgement | None, int]:
    """Damage directories, and compare the verdict with nodes; return verdict and refusals."""
    random = Random(seed)
    with TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(shutil.copytree(base, Path(name) / "disks"))
        done = [_harm(random, folder) for _ in range(random.randint(1, 2))]
        paths = sorted(path for path in folder.iterdir())
        before = snapshot(folder)
        try:
            found = judge(look([str(path) for path in paths]).stores)
        except UsageProblem:
            assert before == snapshot(folder), (seed, done)
            return None, 0
        assert before == snapshot(folder), (seed, done)

        refused = 0
        for one in found.stores:
            where = _start_node(one, Path(one.path))
            refused += isinstance(where, str)
            if one.state.is_readable:
                assert not isinstance(where, str), (seed, done, one.name, where)
                if one.state is not State.UNFINISHED:
                    assert one.seq == where, (seed, done, one.name)
            if found.verdict in SURE and one.name in found.pick.latest:
                assert one.state.is_readable, (seed, done)
        if found.verdict is Verdict.TIE:
            assert len({one.seq for one in found.latest}) == 1, (seed, done)
        return found, refused


def _fuzz(seeds: range) -> tuple[Counter[str], int]:
    verdicts: Counter[str] = Counter()
    refused = 0
    with TemporaryDirectory(dir=MEMORY) as name:
        bases = []
        for number, make in enumerate(BASES):
            bases.append(Path(name) / str(number))
            bases[-1].mkdir()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(indexes, "STRETCH_BYTES", 200)
                make(bases[-1])
        for seed in seeds:
            found, several = _damage_round(seed, bases[seed % len(bases)])
            verdicts["usage" if found is None else found.verdict.value] += 1
            refused += several
    return verdicts, refused


def test_pick_never_claims_more_than_the_node_finds() -> None:
    """These are a hundred of the two thousand rounds below."""
    verdicts, refused = _fuzz(range(100))

    assert refused > 10
    assert {"proven", "tie", "clean", "corrupt"} <= verdicts.keys()


@pytest.mark.landing
def test_in_two_thousand_rounds_pick_never_claims_more_than_the_node_finds() -> None:
    """The verdicts PROVEN, TIE, CLEAN, UNPROVEN and CORRUPT occur."""
    verdicts, refused = _fuzz(range(2_000))

    assert refused > 500
    assert {"proven", "tie", "clean", "unproven", "corrupt"} <= verdicts.keys(), verdicts
