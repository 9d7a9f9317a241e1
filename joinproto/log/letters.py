"""What the logs of two members say to each other, as bytes and back.

    bytes       a line of JSON (an array: the name, then the fields), then the data of the frames

`read` believes nothing: whatever no correct log sends raises `Malformed`.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

from attrs import frozen

from joinproto.join.malformed import (
    Malformed,
    Said,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.log.journal import FRAME_BYTES_MAX, Frame, Run

BYTES_MAX = 8 * 2**20
_ID = re.compile("[0-9a-f]{64}")
_AS_JSON = json.JSONEncoder(separators=(",", ":")).encode
RUNS_MAX = 100_000


@frozen
class Frames:
    """From the sequencer: write these, all of one view, numbered from `first`."""

    view: str
    first: int
    bodies: tuple[bytes, ...]


@frozen
class Kept:
    """To the sequencer: all frames of this view up to `seq` are on my disk.

    `store_id`: whose disk.  `is_gap`: frames before those that came are missing.
    """

    view: str
    seq: int
    store_id: str
    is_gap: bool


@frozen
class Committed:
    """From the sequencer: every member of the view has them, up to `seq`."""

    view: str
    seq: int


@frozen
class Submit:
    """To the sequencer: order this frame, for a client of mine, once.

    `number`: of the frame, from 1; all those below `oldest` are settled.
    """

    view: str
    origin: str
    number: int
    oldest: int
    body: bytes


@frozen
class Submits:
    """To the sequencer: the same for several frames at once, in the order of `numbers`."""

    view: str
    origin: str
    oldest: int
    numbers: tuple[int, ...]
    bodies: tuple[bytes, ...]


@frozen
class Ask:
    """To the source of an update: what do you have?  `view`: the tip that we share."""

    view: str


@frozen
class Have:
    """From the source: this is what I have."""

    view: str
    runs: tuple[Run, ...]


@frozen
class HaveFrom:
    """From the source: the same, and that its frames up to `dropped` are in one piece.

    `size`: bytes of the base that stands for them.
    """

    view: str
    dropped: int
    size: int
    runs: tuple[Run, ...]


@frozen
class FetchBase:
    """To the source: send the base up to `dropped`, from the byte `at` on."""

    view: str
    dropped: int
    at: int


@frozen
class BasePiece:
    """From the source: a part of that base."""

    view: str
    dropped: int
    at: int
    data: bytes


@frozen
class Fetch:
    """To the source: send what comes from `first` on."""

    view: str
    first: int


@frozen
class Piece:
    """From the source: frames from `first` on, each with the view it was sent in."""

    view: str
    first: int
    frames: tuple[Frame, ...]


@frozen
class Rest:
    """To the sequencer: order nothing more in this view; the cluster is to be closed."""

    view: str


@frozen
class AtRest:
    """From the sequencer: every member of the view has all frames up to `seq`, and no more come."""

    view: str
    seq: int


FromSequencer: TypeAlias = Frames | Committed | AtRest
ToSequencer: TypeAlias = Kept | Submit | Submits | Rest
OfUpdates: TypeAlias = Ask | Have | HaveFrom | Fetch | Piece | FetchBase | BasePiece
Letter: TypeAlias = FromSequencer | ToSequencer | OfUpdates

SECOND = 2
"""The version of the wire from which on `Submits`, `Rest` and `AtRest` are understood."""

THIRD = 3
"""And `HaveFrom`, `FetchBase` and `BasePiece`."""


def write(letter: Letter) -> bytes:
    """Return the letter as bytes."""
    match letter:
        case Frames(view, first, bodies):
            return _written(["frames", view, first, [len(body) for body in bodies]], bodies)
        case Kept(view, seq, store_id, is_gap):
            return _written(["kept", view, seq, store_id, is_gap])
        case Committed(view, seq):
            return _written(["committed", view, seq])
        case Submit(view, origin, number, oldest, body):
            return _written(["submit", view, origin, number, oldest], (body,))
        case Submits(view, origin, oldest, numbers, bodies):
            counted = [list(numbers), [len(body) for body in bodies]]
            return _written(["submits", view, origin, oldest, *counted], bodies)
        case Ask(view):
            return _written(["ask", view])
        case Have(view, runs):
            return _written(["have", view, [[run.view, run.first, run.last] for run in runs]])
        case HaveFrom(view, dropped, size, runs):
            said = [[run.view, run.first, run.last] for run in runs]
            return _written(["have-from", view, dropped, size, said])
        case FetchBase(view, dropped, at):
            return _written(["fetch-base", view, dropped, at])
        case BasePiece(view, dropped, at, data):
            return _written(["base", view, dropped, at], (data,))
        case Fetch(view, first):
            return _written(["fetch", view, first])
        case Rest(view):
            return _written(["rest", view])
        case AtRest(view, seq):
            return _written(["at-rest", view, seq])
        case Piece(view, first, frames):
            sizes = [[frame.view, len(frame.data)] for frame in frames]
            return _written(["piece", view, first, sizes], tuple(one.data for one in frames))


def read(data: bytes) -> Letter:
    """Return the letter; raises `Malformed`."""
    require("letter", len(data) <= BYTES_MAX, Said(f"{len(data)} bytes"), f"up to {BYTES_MAX}")
    line, _, rest = data.partition(b"\n")
    try:
        tree = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise Malformed("letter", Said("no JSON"), "a line of JSON") from None
    require_type("letter", tree, list)
    word, *fields = tree or [None]
    count = _FIELDS.get(word, -1) if isinstance(word, str) else -1
    require("letter", len(fields) == count, Said(str(word)[:40]), "a letter with its fields")
    _id(fields[0])
    if word not in ("frames", "submit", "submits", "piece", "base"):
        require("letter", not rest, Said("data"), f"none behind {word}")
    return _made(word, fields, rest)


_FIELDS = {
    "frames": 3,
    "kept": 4,
    "committed": 2,
    "submit": 4,
    "submits": 5,
    "ask": 1,
    "have": 2,
    "have-from": 4,
    "fetch-base": 3,
    "base": 3,
    "fetch": 2,
    "piece": 3,
    "rest": 1,
    "at-rest": 2,
}


def _made(word: str, fields: list[Any], rest: bytes) -> Letter:
    view = fields[0]
    match word:
        case "frames":
            require_int("first", fields[1], at_least=1)
            return Frames(view, fields[1], _bodies(fields[2], rest))
        case "kept":
            require_int("seq", fields[1], at_least=0)
            require_text("store_id", fields[2])
            require_type("is_gap", fields[3], bool)
            return Kept(view, fields[1], fields[2], fields[3])
        case "committed":
            require_int("seq", fields[1], at_least=0)
            return Committed(view, fields[1])
        case "submits":
            require_text("origin", fields[1])
            require_int("oldest", fields[2], at_least=1)
            require_type("numbers", fields[3], list)
            for number in fields[3]:
                require_int("number", number, at_least=1)
            bodies = _bodies(fields[4], rest)
            found = Said(f"{len(bodies)} frames")
            require("frames", len(bodies) == len(fields[3]), found, f"{len(fields[3])}")
            return Submits(view, fields[1], fields[2], tuple(fields[3]), bodies)
        case "rest":
            return Rest(view)
        case "at-rest":
            require_int("seq", fields[1], at_least=0)
            return AtRest(view, fields[1])
        case "submit":
            require_text("origin", fields[1])
            require_int("number", fields[2], at_least=1)
            require_int("oldest", fields[3], at_least=1)
            require("frame", len(rest) <= FRAME_BYTES_MAX, Said(f"{len(rest)} bytes"), "less")
            return Submit(view, fields[1], fields[2], fields[3], rest)
        case "ask":
            return Ask(view)
        case "have":
            return Have(view, _runs(fields[1]))
        case "have-from":
            require_int("dropped", fields[1], at_least=1)
            require_int("size", fields[2], at_least=1)
            runs = _runs(fields[3])
            is_held = bool(runs) and runs[-1].last >= fields[1]
            require("dropped", is_held, fields[1], "a frame of the runs")
            return HaveFrom(view, fields[1], fields[2], runs)
        case "fetch-base" | "base":
            require_int("dropped", fields[1], at_least=1)
            require_int("at", fields[2], at_least=0)
            if word == "base":
                return BasePiece(view, fields[1], fields[2], rest)
            return FetchBase(view, fields[1], fields[2])
        case "fetch":
            require_int("first", fields[1], at_least=1)
            return Fetch(view, fields[1])
    require_int("first", fields[1], at_least=1)
    pairs = fields[2]
    require_type("frames of a piece", pairs, list)
    for pair in pairs:
        require("frame", isinstance(pair, list) and len(pair) == 2, pair, "a view and a size")
        _id(pair[0])
    bodies = _bodies([pair[1] for pair in pairs], rest)
    numbered = enumerate(zip(pairs, bodies, strict=True), start=fields[1])
    return Piece(view, fields[1], tuple(Frame(pair[0], at, body) for at, (pair, body) in numbered))


def _written(tree: list[Any], bodies: tuple[bytes, ...] = ()) -> bytes:
    return _AS_JSON(tree).encode() + b"\n" + b"".join(bodies)


def _bodies(sizes: Any, rest: bytes) -> tuple[bytes, ...]:
    require_type("sizes", sizes, list)
    for size in sizes:
        require_int("size", size, at_least=0)
        require("size", size <= FRAME_BYTES_MAX, size, f"up to {FRAME_BYTES_MAX}")
    require("data", sum(sizes) == len(rest), Said(f"{len(rest)} bytes"), f"{sum(sizes)}")
    bodies, at = [], 0
    for size in sizes:
        bodies.append(rest[at : at + size])
        at += size
    return tuple(bodies)


def _runs(found: Any) -> tuple[Run, ...]:
    require_type("runs", found, list)
    require("runs", len(found) <= RUNS_MAX, Said(f"{len(found)} runs"), f"up to {RUNS_MAX}")
    runs: list[Run] = []
    for one in found:
        require("run", isinstance(one, list) and len(one) == 3, one, "view, first, last")
        view, first, last = one
        _id(view)
        require_int("first", first, at_least=1)
        require_int("last", last, at_least=first)
        expected = runs[-1].last + 1 if runs else 1
        require("first", first == expected, first, str(expected))
        runs.append(Run(view, first, last))
    return tuple(runs)


def _id(view: Any) -> None:
    is_hash = isinstance(view, str) and _ID.fullmatch(view) is not None
    require("view", is_hash, Said(str(view)[:80]), "64 hexadecimal digits")
