"""The metadata of a store: the record, its owner, and operators' actions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TypeAlias

from attrs import field, frozen

from joinproto.codec.malformed import Verbatim, require, require_text, require_type
from joinproto.join.store import StoreRecord

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | float | bool | None"

DEPTH_MAX = 32
"""Maximal nesting of a carried value: each value that can be read must also be writable."""

INT_BITS_MAX = 10_000
"""Maximal length of a carried number in bits; Python's own limit, 4,300 digits, is higher."""

# Characters that JSON does not escape and a terminal obeys, and surrogates, which have no UTF-8
# form.  A newline is allowed: it is written as backslash and n.
_FORBIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@frozen(kw_only=True)
class Contents:
    """The contents of one metadata file.

    `member`: the member's name, so that an operator knows whose directory this is. `cluster_name`:
    None if not known; if the record has a tip, the tip's cluster name.  `frames`: the name of the
    file with the frames, in the data directory; None if the host keeps the frames elsewhere.
    `frames_dropped`: the first frames may be gone from that file; this needs format 2.  `history`:
    operators' actions on this store, the oldest first; here only their form is checked.
    `source`: the payload that these contents were read from, with the fields of other versions.
    """

    member: str
    record: StoreRecord
    cluster_name: str | None = None
    frames: str | None = None
    frames_dropped: bool = False
    history: tuple[Mapping[str, Json], ...] = ()
    source: Mapping[str, Json] = field(factory=dict, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Raise `Malformed` for contents that cannot be on a disk."""
        require_text("member", self.member)
        require_type("record", self.record, StoreRecord)
        require(
            "record", not self.record.transient, Verbatim("transient"), "one with a store on disk"
        )
        if self.cluster_name is not None:
            require_text("cluster_name", self.cluster_name)
            tip = self.record.tip
            fits = tip is None or tip.cluster_name == self.cluster_name
            found = None if tip is None else tip.cluster_name
            require("cluster_name of the tip", fits, found, repr(self.cluster_name))
        if self.frames is not None:
            require_text("frames", self.frames)
        require_type("frames_dropped", self.frames_dropped, bool)
        require_type("history", self.history, tuple)
        for at, entry in enumerate(self.history):
            require(f"history[{at}]", isinstance(entry, dict), entry, "an object")
            verify_carried(f"history[{at}]", entry)


def verify_carried(what: str, value: object, *, depth: int = 0) -> None:
    """Raise `Malformed` unless `value` can be written as JSON and shown by `cat`."""
    require(what, depth <= DEPTH_MAX, Verbatim("more"), f"at most {DEPTH_MAX} levels of nesting")
    match value:
        case str():
            is_fit = _FORBIDDEN.search(value) is None
            require(what, is_fit, value, "no control character, line separator or surrogate")
        case float():
            require(what, isfinite(value), value, "a finite number")
        case dict():
            for key, part in value.items():
                require_type(f"key in {what}", key, str)
                verify_carried(f"key in {what}", key, depth=depth + 1)
                verify_carried(f"{what}.{key}", part, depth=depth + 1)
        case list():
            for at, part in enumerate(value):
                verify_carried(f"{what}[{at}]", part, depth=depth + 1)
        case int():  # also a bool
            is_short = value.bit_length() <= INT_BITS_MAX
            require(what, is_short, Verbatim("more"), f"at most {INT_BITS_MAX} bits")
        case None:
            pass
        case _:
            require(what, False, value, "a JSON value")
