"""The reader of joinproto's own stores: the contents of a store's two files.

The same code judges a directory on this machine and the bytes that came in an .info file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.durable.envelope import Validity
from joinproto.errors import StoreMissing, StoreNewer, StoreUnreadable
from joinproto.join.ids import short
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.recovery.found import Fact, Found, Raw, RawFile, State
from joinproto.recovery.frames import with_frames
from joinproto.recovery.history import broken_link
from joinproto.store.contents import Contents
from joinproto.store.slots import CURRENT, FOLDER, PREVIOUS, Slot, Slots, judge, problems, refusal

NAMES = (f"{FOLDER}/{CURRENT}", f"{FOLDER}/{PREVIOUS}")
MARKS = (FOLDER,)
"""Names that a store still has if its files are gone; a blank disk does not have them."""

SALVAGED_MAX = 120
"""The most characters of a damaged value that are shown."""


def read(raw: Raw, *, has_log: bool = False) -> Found:
    """Return the contents of a store's files; never raises, whatever the bytes are.

    `has_log`: its frames are in joinproto's own log, even if the metadata does not say so.
    """
    slots = Slots(*(_slot(raw, name) for name in NAMES))
    refused = refusal(slots)
    found = list(problems(slots))
    if raw.lock_problem:
        found.append(f"whether a process has it open is not known: {raw.lock_problem}")
    if refused is None:
        # A file that is not refused is valid.
        assert slots.current.contents is not None
        return _found_of_contents(
            raw, slots.current, slots.current.contents, found, has_log=has_log
        )

    state = State.CORRUPT
    if isinstance(refused, StoreMissing):
        state = State.NONE
        found.append(f"the directory {FOLDER} has no store in it")
    elif isinstance(refused, StoreNewer):
        state = State.NEWER
    elif isinstance(refused, StoreUnreadable):
        state = State.UNREADABLE
    # The member's name helps the operator to find a damaged store, and has no other effect.
    newest = slots.current.contents or slots.previous.contents
    return Found.of(
        raw,
        state,
        *(found or [str(refused).partition("\n")[0]]),
        member="" if newest is None else newest.member,
        facts=(*_damaged_facts(slots.current), *_damaged_facts(slots.previous)),
    )


def with_shared_log(stores: Sequence[Found]) -> tuple[Found, ...]:
    """Return the stores; a store without a journal is read again if its cluster keeps journals.

    Earlier versions did not write down that the frames are in a journal.  But all members of a
    cluster keep their frames in the same way, so one store with a journal shows this for all.
    """
    with_log = {one.cluster for one in stores if one.raw.journal is not None and one.cluster}
    return tuple(
        read(one.raw, has_log=True)
        if one.record is not None and one.raw.journal is None and one.cluster in with_log
        else one
        for one in stores
    )


def contents_of(found: Found) -> Contents | None:
    """Return the contents of a store's current file, None if it cannot be read."""
    return judge(Path(found.path), found.raw.file(NAMES[0]).data or b"").contents


def _with_recovered(raw: Raw, record: StoreRecord) -> tuple[StoreRecord, str]:
    """Return the record with the position that the operator gave, and why it does not fit, or "".

    A broker that keeps positions with its frames writes them here only now and then.  The broker's
    own recovery says where the data really ends.
    """
    text = raw.recovered.decode("ascii", "replace").strip()
    if not text:
        return record, ""
    held = None if record.held is None else record.lineage.find(record.held)
    if not text.isdecimal() or held is None or not held.is_open:
        return (
            record,
            f"--position {text[:40]}: expected a number, and a store that was ready in a view",
        )
    seq = int(text)
    if record.position is not None and seq == record.position.seq:
        return record, ""
    if record.position is not None and seq < record.position.seq:
        return record, f"--position {seq}: the store says {record.position.seq} already"
    try:
        return evolve(record, position=Position(held.id, seq)), ""
    except Malformed as malformed:
        return record, f"--position {seq}: {malformed}"


def _slot(raw: Raw, name: str) -> Slot:
    file = raw.file(name)
    path = Path(raw.path) / name
    if file.data is not None:
        return judge(path, file.data)
    validity = Validity.ABSENT if file.is_absent else Validity.UNREADABLE
    return Slot(path=path, validity=validity, problem=file.problem)


def state_of(record: StoreRecord) -> State:
    """Return the state of a store that can be read."""
    if record.update_unfinished:
        return State.UNFINISHED
    return State(record.state.value)


def _found_of_contents(
    raw: Raw, slot: Slot, contents: Contents, found: list[str], *, has_log: bool
) -> Found:
    record, problem = contents.record, ""
    if raw.journal is not None or contents.frames is not None or has_log:
        record, problem = with_frames(record, raw.journal)
    if problem:
        found.insert(0, problem)
        # A member refuses this store, too, because acknowledged frames may be missing.
        is_unread = raw.journal is not None and raw.journal.is_unread
        state = State.UNREADABLE if is_unread else State.CORRUPT
        return _unusable_store(raw, state, slot, contents, found)
    if raw.lock_problem:
        # A process may have it open, and no member opens a store that it cannot lock.
        return _unusable_store(raw, State.UNREADABLE, slot, contents, found)
    record, problem = _with_recovered(raw, record)
    if problem:
        found.insert(0, problem)
        # The operator's position does not fit the metadata, so the store proves nothing.
        return _unusable_store(raw, State.UNREADABLE, slot, contents, found)
    contents = evolve(contents, record=record)
    tip = record.tip
    link = broken_link(contents.history)
    if link:
        found.append(link)
    return Found.of(
        raw,
        state_of(record),
        *found,
        member=contents.member,
        cluster=str(record.lineage.initial or ""),
        cluster_name=(tip.cluster_name if tip else contents.cluster_name) or "",
        record=record,
        seq=None if record.position is None else record.position.seq,
        facts=_facts(raw, slot, contents),
    )


def _unusable_store(
    raw: Raw, state: State, slot: Slot, contents: Contents, problems: Sequence[str]
) -> Found:
    """Return a store from which no member may start, although its metadata is whole."""
    facts = tuple(fact for fact in _facts(raw, slot, contents) if fact.name != "state")
    member = contents.member
    return Found.of(raw, state, *problems, member=member, facts=facts)


# -- texts for people ----------------------------------------------------------------------


def _facts(raw: Raw, slot: Slot, contents: Contents) -> tuple[Fact, ...]:
    record = contents.record
    lineage, tip = record.lineage, record.tip
    accepted = record.accepted
    facts = [
        Fact("member", contents.member),
        Fact("store id", record.store_id),
        Fact("cluster", contents.cluster_name or (tip.cluster_name if tip else "none yet")),
        Fact("signature", str(lineage.initial or "none: it is empty")),
        Fact("state", state_of(record).value),
        Fact("generation", f"{slot.generation}, written {_time(raw.file(NAMES[0]))}"),
        Fact("tip", "none" if tip is None else _view(tip)),
        Fact("views", f"{lineage.length}, {lineage.forgotten} of them forgotten"),
        Fact("held", _held_view(record)),
        Fact("position", _position(record.position, record)),
        Fact("frames", _journal(raw)),
        Fact("update", "unfinished" if record.update_unfinished else "none open"),
        Fact("promised", "nothing" if record.promised is None else str(record.promised.round)),
        Fact("accepted", "nothing" if accepted is None else _view(accepted.view)),
        Fact("mark", _mark(record)),
    ]
    facts += [Fact("history", _entry(entry)) for entry in contents.history]
    facts += [
        Fact("leftover", f"{name}: left by a write that did not end") for name in raw.leftovers
    ]
    return tuple(facts)


def _view(view: View) -> str:
    when = datetime.fromtimestamp(view.time / 1000, UTC) if view.time < 1 << 43 else None
    shown = f", {when:%Y-%m-%d %H:%M:%S} UTC by its clock" if when else ""
    return f"{view}{shown}"


def _held_view(record: StoreRecord) -> str:
    if record.held is None:
        return "no view"
    number = record.lineage.number_of(record.held)
    return f"view {number if number is not None else '?'} ({short(record.held)})"


def _position(position: Position | None, record: StoreRecord) -> str:
    if position is None:
        return "no frame"
    number = record.lineage.number_of(position.view)
    return f"frame {position.seq} of view {number if number is not None else '?'}"


def _journal(raw: Raw) -> str:
    journal = raw.journal
    if journal is None:
        return "not looked at: no frames.log is here"
    if journal.problem:
        return f"not read: frames.log: {journal.problem}"
    return f"{journal.last.seq} in frames.log" if journal.last else "none in frames.log"


def _mark(record: StoreRecord) -> str:
    if record.mark is None:
        return "none"
    return "a restart from the tip is permitted" if record.is_marked else "void: not for the tip"


def _entry(entry: Any) -> str:
    words = [str(entry.get(key, "")) for key in ("when", "what", "who", "host", "why")]
    return ", ".join(word for word in words if word)


def _time(file: RawFile) -> str:
    if file.modified is None:
        return "at an unknown time"
    return f"{datetime.fromtimestamp(file.modified, UTC):%Y-%m-%d %H:%M:%S} UTC by this clock"


# -- texts about a damaged file -------------------------------------------------------------


def _damaged_facts(slot: Slot) -> tuple[Fact, ...]:
    """Return the readable part of a refused file, for display only."""
    name = slot.path.name
    if slot.validity in (Validity.ABSENT, Validity.UNREADABLE):
        return (Fact(name, slot.validity.value),)
    facts = [Fact(name, f"{slot.validity.value}, {len(slot.raw)} bytes")]
    text = slot.raw.decode("utf-8", "replace")
    head, brace, payload = text.partition("{")
    facts += [Fact(f"{name} head", _printable(line)) for line in head.splitlines()[:6]]
    if brace:
        facts += [Fact(f"{name} {key}", value) for key, value in _readable_fields(brace + payload)]
    return tuple(facts)


def _readable_fields(payload: str) -> list[tuple[str, str]]:
    """Return the fields of the payload up to the first that cannot be read, at most 20."""
    decoder = json.JSONDecoder()
    found: list[tuple[str, str]] = []
    at = payload.find('"')
    while at != -1 and len(found) < 20:
        try:
            key, after = decoder.raw_decode(payload, at)
            colon = payload.index(":", after)
            start = len(payload) - len(payload[colon + 1 :].lstrip())
            value, at = decoder.raw_decode(payload, start)
        except (ValueError, RecursionError):
            found.append(("from here on", "cannot be read"))
            break
        found.append((_printable(str(key)), _printable(json.dumps(value))))
        at = payload.find('"', at)
    return found


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= SALVAGED_MAX else f"{shown[:SALVAGED_MAX]}.."
