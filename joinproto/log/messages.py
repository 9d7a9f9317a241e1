"""The codec of messages between the logs of two members.

    bytes       a line of JSON (an array: the name, then the fields), then the data of the frames

`read` raises `Malformed` for a message that no correct log sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from attrs import evolve, frozen

from joinproto.codec.codec import Codec
from joinproto.codec.json_text import ascii_line, parsed
from joinproto.codec.malformed import (
    INT_MAX,
    Malformed,
    Verbatim,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.codec.marks import AtLeast, Count
from joinproto.durable.journal.journal import FRAME_BYTES_MAX, Frame, Run
from joinproto.durable.journal.records import listed

BYTES_MAX = 8 * 2**20
RUNS_MAX = 100_000

_is_id = re.compile("[0-9a-f]{64}").fullmatch

Id = Annotated[str, "64 hexadecimal digits"]
Number = Annotated[int, AtLeast(1)]

# -- the messages ---------------------------------------------------------------------------------


@frozen
class Frames:
    """From the sequencer: write these frames of the view, which are numbered from `first` on."""

    view: Id
    first: Number
    bodies: tuple[bytes, ...]


@frozen
class Kept:
    """To the sequencer: all frames of this view up to `seq` are on my disk.

    `store_id`: the store on this disk.  `is_gap`: frames before the received ones are missing.
    """

    view: Id
    seq: Count
    store_id: str
    is_gap: bool


@frozen
class Committed:
    """From the sequencer: every member of the view has all frames up to `seq`."""

    view: Id
    seq: Count


@frozen
class Submit:
    """To the sequencer: order this frame of one of my clients, but only once.

    `number`: the frame's number at its `origin`, from 1; frames of `origin` with a number below
    `oldest` are settled.
    """

    view: Id
    origin: str
    number: Number
    oldest: Number
    body: bytes


@frozen
class Submits:
    """To the sequencer: order several frames, as with `Submit`, in the order of `numbers`."""

    view: Id
    origin: str
    oldest: Number
    numbers: tuple[Number, ...]
    bodies: tuple[bytes, ...]

    def __attrs_post_init__(self) -> None:
        found = Verbatim(f"{len(self.bodies)} frames")
        expected = f"{len(self.numbers)} frames"
        require("frames", len(self.bodies) == len(self.numbers), found, expected)


@frozen
class Ask:
    """To the source of an update: which frames do you have?  `view`: the tip of both members."""

    view: Id


@frozen
class Have:
    """From the source: these are my frames."""

    view: Id
    runs: tuple[Run, ...]


@frozen
class HaveFrom:
    """From the source: these are my frames; a base replaces the frames up to `dropped`.

    `size`: the size of the base in bytes.
    """

    view: Id
    dropped: Number
    size: Number
    runs: tuple[Run, ...]

    def __attrs_post_init__(self) -> None:
        is_held = bool(self.runs) and self.runs[-1].last >= self.dropped
        require("dropped", is_held, self.dropped, "a frame of the runs")


@frozen
class FetchBase:
    """To the source: send the base up to `dropped`, from the byte `at` on."""

    view: Id
    dropped: Number
    at: Count


@frozen
class BasePiece:
    """From the source: a part of the base, from the byte `at` on; no data at its end."""

    view: Id
    dropped: Number
    at: Count
    data: bytes


@frozen
class Fetch:
    """To the source: send the frames from `first` on."""

    view: Id
    first: Number


@frozen
class Piece:
    """From the source: frames from `first` on, each with the view in which it was ordered."""

    view: Id
    first: Number
    frames: tuple[Frame, ...]


@frozen
class Rest:
    """To the sequencer: order no more frames in this view, because the cluster shuts down."""

    view: Id


@frozen
class AtRest:
    """From the sequencer: ordering has ended, and all members have all frames, up to `seq`."""

    view: Id
    seq: Count


FromSequencer: TypeAlias = Frames | Committed | AtRest
ToSequencer: TypeAlias = Kept | Submit | Submits | Rest
OfUpdates: TypeAlias = Ask | Have | HaveFrom | Fetch | Piece | FetchBase | BasePiece
Message: TypeAlias = FromSequencer | ToSequencer | OfUpdates

RESTS_VERSION = 2
"""The version of the wire that added `Submits`, `Rest` and `AtRest`."""

BASES_VERSION = 3
"""The version of the wire that added `HaveFrom`, `FetchBase` and `BasePiece`."""


KINDS: dict[str, type] = {
    "frames": Frames,
    "kept": Kept,
    "committed": Committed,
    "submit": Submit,
    "submits": Submits,
    "ask": Ask,
    "have": Have,
    "have-from": HaveFrom,
    "fetch-base": FetchBase,
    "base": BasePiece,
    "fetch": Fetch,
    "piece": Piece,
    "rest": Rest,
    "at-rest": AtRest,
}
"""The classes of messages by their first words."""

# -- as bytes ------------------------------------------------------------------------------------


def write(message: Message) -> bytes:
    """Return the message as bytes."""
    kind = type(message)
    word, put = _WRITE[kind]
    tree = [word, *put(message)]
    if kind not in _READ_DATA:
        return ascii_line(tree) + b"\n"
    data = tree.pop()
    if kind is Piece:
        tree.append([[view, len(body)] for view, body in data])
        data = [body for _, body in data]
    elif isinstance(data, list):
        tree.append([len(body) for body in data])
    else:
        data = [data]
    return ascii_line(tree) + b"\n" + b"".join(data)


def read(data: bytes) -> Message:
    """Return the message; raises `Malformed`."""
    found_bytes = Verbatim(f"{len(data)} bytes")
    require("message", len(data) <= BYTES_MAX, found_bytes, f"at most {BYTES_MAX} bytes")
    line, _, rest = data.partition(b"\n")
    tree = parsed(line, "message")
    require_type("message", tree, list)
    word, *found = tree or [None]
    known = _READ.get(word) if isinstance(word, str) else None
    if known is None:
        raise Malformed("message", Verbatim(str(word)[:40]), f"one of {' '.join(KINDS)}")
    take, read_data = known
    try:
        if read_data is not None:
            read_data(found, rest)
        elif rest:
            raise Malformed("data", Verbatim(f"{len(rest)} bytes"), "none")
        message: Message = take(found)
    except Malformed as error:
        raise error.within(word) from None
    return _numbered(message) if isinstance(message, Piece) else message


def _numbered(piece: Piece) -> Piece:
    frames = enumerate(piece.frames, start=piece.first)
    return evolve(piece, frames=tuple(Frame(one.view, at, one.data) for at, one in frames))


def _read_whole(found: list[Any], rest: bytes) -> None:
    found.append(rest)


def _read_bodies(found: list[Any], rest: bytes) -> None:
    """Replace the sizes, the last field of the line, by the bodies that follow the line."""
    found[-1:] = [_cut(one, rest) for one in found[-1:]]


def _read_frames(found: list[Any], rest: bytes) -> None:
    require_type("frames", found[-1:] and found[-1], list)
    for pair in found[-1]:
        require("frame", isinstance(pair, list) and len(pair) == 2, pair, "a view and a size")
    bodies = _cut([size for _, size in found[-1]], rest)
    found[-1] = [[view, body] for (view, _), body in zip(found[-1], bodies, strict=True)]


def _cut(sizes: Any, rest: bytes) -> list[bytes]:
    require_type("sizes", sizes, list)
    for size in sizes:
        require_int("size", size, at_least=0)
    expected = f"{sum(sizes)} bytes"
    require("data", sum(sizes) == len(rest), Verbatim(f"{len(rest)} bytes"), expected)
    bodies, at = [], 0
    for size in sizes:
        bodies.append(rest[at : at + size])
        at += size
    return bodies


def _take_id(found: Any) -> Any:
    if type(found) is not str or _is_id(found) is None:
        raise Malformed("", found, "64 hexadecimal digits")
    return found


def _take_text(found: Any) -> Any:
    require_text("", found)
    return found


def _take_body(found: Any) -> bytes:
    found_bytes = Verbatim(f"{len(found)} bytes")
    require("", len(found) <= FRAME_BYTES_MAX, found_bytes, f"at most {FRAME_BYTES_MAX} bytes")
    return bytes(found)


def _take_frame(found: Sequence[Any]) -> Frame:
    view, body = found
    return Frame(_take_id(view), 1, _take_body(body))


def _take_runs(found: Any) -> tuple[Run, ...]:
    require_type("", found, list)
    require("", len(found) <= RUNS_MAX, Verbatim(f"{len(found)} runs"), f"at most {RUNS_MAX} runs")
    runs, before = [], 0
    for one in found:
        require("run", isinstance(one, list) and len(one) == 3, one, "view, first, last")
        view, first, last = one
        require_int("first", first, at_least=1)
        require_int("last", last, at_least=first)
        require("first", first == before + 1, first, str(before + 1))
        runs.append(Run(_take_id(view), first, last))
        before = last
    return tuple(runs)


_CODEC = Codec(arrays=True, items_max=BYTES_MAX, int_max=INT_MAX)
_CODEC.give(str, take=_take_text)
_CODEC.give(Id, take=_take_id)
_CODEC.give(bytes, take=_take_body)
_CODEC.give((BasePiece, "data"))
_CODEC.give(Frame, lambda frame: [frame.view, frame.data], _take_frame)
_CODEC.give(tuple[Run, ...], listed, _take_runs)

_READ_DATA: Mapping[type, Callable[[list[Any], bytes], None]] = {
    Submit: _read_whole,
    BasePiece: _read_whole,
    Frames: _read_bodies,
    Submits: _read_bodies,
    Piece: _read_frames,
}
"""For messages whose last field follows the line, the function that reads it from there."""
_READ = {word: (_CODEC.take_of(kind), _READ_DATA.get(kind)) for word, kind in KINDS.items()}
_WRITE = {kind: (word, _CODEC.put_of(kind)) for word, kind in KINDS.items()}
