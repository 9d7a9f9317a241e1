"""Damage to durable state: a flipped bit, or an older file that an operator restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from random import Random
from zlib import crc32

from attrs import evolve

from joinproto.durable.envelope import Envelope, seal, unseal
from joinproto.durable.journal.journal import FILE as FRAMES
from joinproto.durable.journal.journal import Frame, Journal, Run
from joinproto.durable.journal.records import (
    BASE_MAGIC,
    BODY,
    HEAD,
    MAGIC,
    base_head,
    base_line,
)
from joinproto.errors import StoreError
from joinproto.log.dropping import dropping
from joinproto.log.rebasing import BasePieces
from joinproto.swarm.disk import Disk, Node
from tests.durable.kind import APPLICATION, PLACE, Kind, Value
from tests.durable.logs import LogOpen
from tests.durable.schedules import WrongValue

WRITES = 12
FLIPS = 40
BASE_BYTES = 2_000
"""Maximal bytes of a base that comes from another member, in these tests."""


def count_refused(kind: Kind, seed: int, *, flips: int = FLIPS) -> int:
    """Damage a written disk; return how many damages were refused; raises `WrongValue`."""
    if not kind.is_checked:
        return 0
    chance = Random(f"damage {kind.name} {seed}")
    disk = Disk(chance)
    disk.make(PLACE)
    value, earlier = _write_history(kind, disk)
    refused = 0
    for _ in range(flips):
        copy = disk.copied()
        name, node, at = _place(copy, chance)
        node.shown[at] ^= 1 << chance.randrange(8)
        refused += _is_refused(kind, copy, value, f"a bit of {name}, byte {at}")
    if kind.name == "log":
        _damaged_while_open(kind, disk, value)
        _cut_in_a_base(kind, disk, value)
        _damaged_while_copied(kind, disk, value)
        _wrong_bases(disk)
        _require_torn_tail_cut()
    for name, data in earlier.items():
        now, before = (bytes(dict(disk.files())[each].shown) for each in (name, f"{name}.previous"))
        of_same_write = evolve(_envelope(data), generation=_envelope(before).generation)
        for what, other in (("an earlier", data), ("another of that write", seal(of_same_write))):
            if other in (now, before):
                continue
            copy = disk.copied()
            dict(copy.files())[name].shown[:] = other
            if not _is_refused(kind, copy, value, f"{what} {name}"):
                raise WrongValue(f"{kind.name}, seed {seed}: {what} {name} was believed")
    return refused


def _damaged_while_open(kind: Kind, disk: Disk, value: Value) -> None:
    """A frame that has changed since the journal was opened is refused when it is read."""
    assert isinstance(value, tuple)
    for at in range(disk.chance.randrange(1, 40)):
        copy = disk.copied()
        opened = kind.open(copy)
        assert isinstance(opened, LogOpen)
        node = dict(copy.files())[f"{PLACE}/{FRAMES}"]
        place = opened.journal.begins(opened.journal.first_seq)
        if place < len(node.shown):
            node.shown[disk.chance.randrange(place, len(node.shown))] ^= 1 << at % 8
        try:
            frames = opened.journal.read(opened.journal.first_seq)
        except StoreError:
            continue
        texts = value[opened.journal.first_seq - 1 :]
        if tuple(frame.data for frame in frames) != texts[: len(frames)]:
            raise WrongValue(f"{kind.name}: a frame that has changed was read")


def _damaged_while_copied(kind: Kind, disk: Disk, value: Value) -> None:
    """A frame that changes while the first frames are dropped is not copied."""
    for _ in range(4):
        copy = disk.copied()
        opened = kind.open(copy)
        assert isinstance(opened, LogOpen)
        opened.append(1, [b"before it"]).do()
        opened.make_snapshot()
        opened.append(2, [b"behind it", b"and this"]).do()
        texts = opened.texts
        node = dict(copy.files())[f"{PLACE}/{FRAMES}"]
        at = disk.chance.randrange(opened.journal.begins(opened.journal.last_seq), len(node.shown))
        left = iter(range(disk.chance.randrange(12)))

        def harm(call: str, left: Iterator[int] = left, node: Node = node, at: int = at) -> None:
            if call == "read_at" and next(left, None) is None:
                node.shown[at] ^= 1

        copy.before = harm
        for work in dropping(opened.journal, lambda: None):
            work()
        copy.before = lambda _: None
        opened.close()
        if dict(copy.files())[f"{PLACE}/{FRAMES}"] is not node:
            _require_whole(kind, copy, texts)


def _require_whole(kind: Kind, disk: Disk, value: Value) -> None:
    if _is_refused(kind, disk, value, "a shorter journal"):
        raise WrongValue(f"{kind.name}: a frame that had changed was copied")


def _wrong_bases(disk: Disk) -> None:
    """A base that differs from its announcement leaves the journal as it is."""
    runs, others = (Run("9" * 64, 1, 2),), (Run("9" * 64, 1, 3),)
    body = base_line(runs, APPLICATION) + b"x" * 20
    whole = base_head(len(body), crc32(body)) + body
    for data, said, of in (
        (whole + b"x", runs, APPLICATION),
        (whole[:-1], runs, APPLICATION),
        (whole, others, APPLICATION),
        (whole, runs, "another"),
    ):
        journal = Journal.open(PLACE, files=disk.copied())
        pieces = BasePieces(journal=journal, common=0, runs=said, kind=of)
        pieces.take(data)
        pieces.finish(lambda: None)
        if not pieces.problem:
            raise WrongValue(f"log: {len(data)} bytes of {said}, {of} were taken for a base")
    pieces = BasePieces(
        journal=Journal.open(PLACE, files=disk.copied()), common=0, runs=runs, kind=APPLICATION
    )
    pieces.take(bytes(HEAD.size + BASE_BYTES + 1))
    if not pieces.problem:
        raise WrongValue("log: a base that is too long was written")


def _cut_in_a_base(kind: Kind, disk: Disk, value: Value) -> None:
    """A base that is cut off is refused, or is not used."""
    for name, plain in disk.files():
        if plain.shown.startswith(BASE_MAGIC):
            copy = disk.copied()
            size = HEAD.size + HEAD.unpack_from(plain.shown)[1]
            del dict(copy.files())[name].shown[disk.chance.randrange(len(BASE_MAGIC), size) :]
            _is_refused(kind, copy, value, f"a part of {name}")


def _require_torn_tail_cut() -> None:
    """A torn append is cut away: after a later append no frame of it is read."""
    disk = Disk(Random(1))
    disk.make(PLACE)
    journal = Journal.open(PLACE, files=disk)
    journal.append([Frame("1" * 64, 1, b"torn now"), Frame("1" * 64, 2, b"of it")])
    journal.close()
    (node,) = (node for name, node in disk.files() if name.endswith(FRAMES))
    node.shown[HEAD.size + BODY.size] ^= 1
    again = Journal.open(PLACE, files=disk)
    again.append([Frame("2" * 64, 1, b"in place")])
    again.close()
    if (last := Journal.open(PLACE, files=disk).last_seq) != 1:
        raise WrongValue(f"log: frame {last} came back")


def _write_history(kind: Kind, disk: Disk) -> tuple[Value, dict[str, bytes]]:
    """Write, and return the value, and each record as it was two writes before the last one."""
    opened = kind.open(disk)
    history: list[dict[str, bytes]] = []
    number = 0
    while number < WRITES or len(history) < 4:
        number += 1
        step = opened.step(disk.chance, number)
        step.do()
        records = {name: bytes(node.shown) for name, node in disk.files() if _is_record(name, disk)}
        if not history or records != history[-1]:
            history.append(records)
        if number > 40:
            break
    value = opened.value
    opened.close()
    disk.process_ends()
    if not kind.is_record:
        return value, {}
    if not history[-1]:
        raise WrongValue(
            f"{kind.name}: after {number} writes there is no record before the last one"
        )
    return value, history[-4] if len(history) > 3 else {}


def _envelope(data: bytes) -> Envelope:
    found = unseal(data)
    assert isinstance(found, Envelope)
    return found


def _is_record(name: str, disk: Disk) -> bool:
    return f"{name}.previous" in dict(disk.files())


def _is_refused(kind: Kind, disk: Disk, value: Value, what: str) -> bool:
    try:
        opened = kind.open(disk)
    except StoreError:
        return True
    found = opened.value
    opened.close()
    if found != value:
        raise WrongValue(f"{kind.name}: {what}: found {found}, expected {value}")
    return False


def _place(disk: Disk, chance: Random) -> tuple[str, Node, int]:
    """Return the place of a byte whose damage must be noticed."""
    found = [
        (name, node, size)
        for name, node in disk.files()
        if not name.endswith((".lock", ".node"))
        and (size := _durable_bytes(PurePath(name).name, node))
    ]
    name, node, size = chance.choice(found)
    return name, node, chance.randrange(size)


def _durable_bytes(name: str, node: Node) -> int:
    """Return how many bytes of a file count: a damaged tail of a journal may be a torn one."""
    if name != FRAMES:
        return len(node.shown)
    data, durable = bytes(node.shown), 0
    for place, mark in _records(data):
        durable = min(place, mark)
    return durable


def _records(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each frame begins, and how much it says was durable before."""
    at = 0
    if data.startswith(BASE_MAGIC):
        at = HEAD.size + HEAD.unpack_from(data)[1]
    while data[at : at + len(MAGIC)] == MAGIC:
        yield at, BODY.unpack_from(data, at + HEAD.size)[2]
        at += HEAD.size + HEAD.unpack_from(data, at)[1]
