"""What the logs of two members say to each other, as bytes and back.

    bytes       a line of JSON (an array: the name, then the fields), then the data of the frames

What a field may be is said by its type.  `read` believes nothing: whatever no correct log sends
raises `Malformed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

from attrs import frozen

from joinproto.codec.array_form import Field, Form, marks_of
from joinproto.codec.malformed import (
    INT_MAX,
    Malformed,
    Said,
    require,
    require_int,
    require_text,
    require_type,
)
from joinproto.durable.journal.journal import FRAME_BYTES_MAX, Frame, Run
from joinproto.durable.journal.records import listed

BYTES_MAX = 8 * 2**20
RUNS_MAX = 100_000
_ID = re.compile("[0-9a-f]{64}")
_AS_JSON = json.JSONEncoder(separators=(",", ":")).encode

# -- what a field may be -------------------------------------------------------------------------


def _require_id(name: str, found: Any) -> None:
    if not isinstance(found, str) or _ID.fullmatch(found) is None:
        raise Malformed(name, Said(str(found)[:80]), "64 hexadecimal digits")


def _at_least(least: int) -> Field:
    def check(name: str, found: Any) -> None:
        if type(found) is not int or not least <= found <= INT_MAX:
            require_int(name, found, at_least=least)  # says which of these it is

    return Field(check)


def _require_flag(name: str, found: Any) -> None:
    require_type(name, found, bool)


def _require_counts(name: str, found: Any) -> None:
    require_type(name, found, list)
    for number in found:
        require_int("number", number, at_least=1)


def _require_runs(name: str, found: Any) -> None:
    require_type(name, found, list)
    require(name, len(found) <= RUNS_MAX, Said(f"{len(found)} runs"), f"up to {RUNS_MAX}")
    before = 0
    for one in found:
        require("run", isinstance(one, list) and len(one) == 3, one, "view, first, last")
        view, first, last = one
        _require_id("view", view)
        require_int("first", first, at_least=1)
        require_int("last", last, at_least=first)
        require("first", first == before + 1, first, str(before + 1))
        before = last


def _take_runs(found: list[list[Any]]) -> tuple[Run, ...]:
    return tuple(Run(*one) for one in found)


Id = Annotated[str, Field(_require_id)]
Text = Annotated[str, Field(require_text)]
Flag = Annotated[bool, Field(_require_flag)]
Count = Annotated[int, _at_least(1)]
Last = Annotated[int, _at_least(0)]
Counts = Annotated[tuple[int, ...], Field(_require_counts, list, tuple)]
Runs = Annotated[tuple[Run, ...], Field(_require_runs, listed, _take_runs)]

# -- the data behind the line --------------------------------------------------------------------


@frozen
class _Behind:
    """A last field whose bytes stand behind the line.

    `bodies`: these bytes; `sizes`: what the line says of them, None: nothing, it is all the rest.
    `take`: from that, the rest and the other fields to the value.
    """

    bodies: Callable[[Any], Sequence[bytes]]
    take: Callable[[Any, bytes, Sequence[Any]], Any]
    sizes: Callable[[Any], Any] | None = None


def _cut(sizes: Any, rest: bytes) -> tuple[bytes, ...]:
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


def _take_body(_: None, rest: bytes, others: Sequence[Any]) -> bytes:
    require("frame", len(rest) <= FRAME_BYTES_MAX, Said(f"{len(rest)} bytes"), "less")
    return rest


def _take_frames(pairs: Any, rest: bytes, others: Sequence[Any]) -> tuple[Frame, ...]:
    require_type("frames of a piece", pairs, list)
    for pair in pairs:
        require("frame", isinstance(pair, list) and len(pair) == 2, pair, "a view and a size")
        _require_id("view", pair[0])
    numbered = enumerate(_cut([size for _, size in pairs], rest), start=others[1])
    views = [view for view, _ in pairs]
    return tuple(Frame(view, at, body) for view, (at, body) in zip(views, numbered, strict=True))


_BODY = _Behind(lambda body: (body,), _take_body)
_REST = _Behind(lambda data: (data,), lambda sizes, rest, others: rest)
_BODIES = _Behind(
    lambda bodies: bodies,
    lambda sizes, rest, others: _cut(sizes, rest),
    lambda bodies: [len(body) for body in bodies],
)
_FRAMES = _Behind(
    lambda frames: [frame.data for frame in frames],
    _take_frames,
    lambda frames: [[frame.view, len(frame.data)] for frame in frames],
)

# -- the letters ---------------------------------------------------------------------------------


@frozen
class Frames:
    """From the sequencer: write these, all of one view, numbered from `first`."""

    view: Id
    first: Count
    bodies: Annotated[tuple[bytes, ...], _BODIES]


@frozen
class Kept:
    """To the sequencer: all frames of this view up to `seq` are on my disk.

    `store_id`: whose disk.  `is_gap`: frames before those that came are missing.
    """

    view: Id
    seq: Last
    store_id: Text
    is_gap: Flag


@frozen
class Committed:
    """From the sequencer: every member of the view has them, up to `seq`."""

    view: Id
    seq: Last


@frozen
class Submit:
    """To the sequencer: order this frame, for a client of mine, once.

    `number`: of the frame, from 1; all those below `oldest` are settled.
    """

    view: Id
    origin: Text
    number: Count
    oldest: Count
    body: Annotated[bytes, _BODY]


@frozen
class Submits:
    """To the sequencer: the same for several frames at once, in the order of `numbers`."""

    view: Id
    origin: Text
    oldest: Count
    numbers: Counts
    bodies: Annotated[tuple[bytes, ...], _BODIES]

    def __attrs_post_init__(self) -> None:
        found = Said(f"{len(self.bodies)} frames")
        require("frames", len(self.bodies) == len(self.numbers), found, f"{len(self.numbers)}")


@frozen
class Ask:
    """To the source of an update: what do you have?  `view`: the tip that we share."""

    view: Id


@frozen
class Have:
    """From the source: this is what I have."""

    view: Id
    runs: Runs


@frozen
class HaveFrom:
    """From the source: the same, and that its frames up to `dropped` are in one piece.

    `size`: bytes of the base that stands for them.
    """

    view: Id
    dropped: Count
    size: Count
    runs: Runs

    def __attrs_post_init__(self) -> None:
        is_held = bool(self.runs) and self.runs[-1].last >= self.dropped
        require("dropped", is_held, self.dropped, "a frame of the runs")


@frozen
class FetchBase:
    """To the source: send the base up to `dropped`, from the byte `at` on."""

    view: Id
    dropped: Count
    at: Last


@frozen
class BasePiece:
    """From the source: a part of that base."""

    view: Id
    dropped: Count
    at: Last
    data: Annotated[bytes, _REST]


@frozen
class Fetch:
    """To the source: send what comes from `first` on."""

    view: Id
    first: Count


@frozen
class Piece:
    """From the source: frames from `first` on, each with the view it was sent in."""

    view: Id
    first: Count
    frames: Annotated[tuple[Frame, ...], _FRAMES]


@frozen
class Rest:
    """To the sequencer: order nothing more in this view; the cluster is to be closed."""

    view: Id


@frozen
class AtRest:
    """From the sequencer: every member of the view has all frames up to `seq`, and no more come."""

    view: Id
    seq: Last


FromSequencer: TypeAlias = Frames | Committed | AtRest
ToSequencer: TypeAlias = Kept | Submit | Submits | Rest
OfUpdates: TypeAlias = Ask | Have | HaveFrom | Fetch | Piece | FetchBase | BasePiece
Letter: TypeAlias = FromSequencer | ToSequencer | OfUpdates

SECOND = 2
"""The version of the wire from which on `Submits`, `Rest` and `AtRest` are understood."""

THIRD = 3
"""And `HaveFrom`, `FetchBase` and `BasePiece`."""


@frozen
class _Kind:
    """A letter's word, its fields, how many stand in the line, and the one behind it."""

    word: str
    form: Form
    count: int
    name: str = ""
    behind: _Behind | None = None

    @classmethod
    def of(cls, word: str, kind: type) -> _Kind:
        form = Form.of(kind)
        for name, mark in marks_of(kind).items():
            if isinstance(mark, _Behind):
                count = len(form.fields) + (mark.sizes is not None)
                return cls(word, form, count, name, mark)
        return cls(word, form, len(form.fields))


_KINDS = {
    word: _Kind.of(word, kind)
    for word, kind in {
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
    }.items()
}
_OF = {one.form.kind: one for one in _KINDS.values()}


def write(letter: Letter) -> bytes:
    """Return the letter as bytes."""
    kind = _OF[type(letter)]
    tree = [kind.word, *kind.form.put(letter)]
    if kind.behind is None:
        return _AS_JSON(tree).encode() + b"\n"
    value = getattr(letter, kind.name)
    if kind.behind.sizes is not None:
        tree.append(kind.behind.sizes(value))
    return _AS_JSON(tree).encode() + b"\n" + b"".join(kind.behind.bodies(value))


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
    kind = _KINDS.get(word) if isinstance(word, str) else None
    if kind is None or len(fields) != kind.count:
        raise Malformed("letter", Said(str(word)[:40]), "a letter with its fields")
    values = kind.form.take(fields[: len(kind.form.fields)])
    if kind.behind is None:
        require("letter", not rest, Said("data"), f"none behind {word}")
    else:
        sizes = None if kind.behind.sizes is None else fields[-1]
        values.append(kind.behind.take(sizes, rest, values))
    letter: Letter = kind.form.kind(*values)
    return letter
