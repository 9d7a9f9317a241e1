"""PostgreSQL 12 to 18: the history of timelines that a directory is on, and where its log ends.

    global/pg_control          a checksum over: system identifier, state, last checkpoint, timeline,
                               how far a standby must go before it is consistent
    pg_wal/TIMELINE.history    the timelines before this one, and where each was left
    pg_wal/TIMELINE..SEGMENT   the log: followed from the last checkpoint, record by record, to the
                               last record whose checksum is right

Two directories of one system have a common beginning.  It ends where one of them left a timeline on
which the other one continued: the fork point.  A directory whose log ends before the fork point is
behind the other one; a directory whose log goes beyond it has records that the other lacks.  If two
standbys of one primary are both promoted, their new timelines have the same number.  `pg_rewind`
takes these for one timeline; here the first records on them distinguish the two.

Directories written by the real versions 15, 17 and 18 were read, on x86 and ARM.  The other
versions are read by their source.

Source: PostgreSQL, `catalog/pg_control.h`, `access/xlogrecord.h`, `xlog_internal.h`,
`pg_rewind.c` (`findCommonAncestorTimeline`), `timeline.c`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Annotated

from attrs import evolve, frozen

from joinproto.codec.json_form import Absent
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.postgresql_wal import WAL, Walk
from joinproto.recovery.foreign.text import NotAsWritten, packed, unpacked
from joinproto.recovery.foreign.tree import Tree, reader
from joinproto.recovery.found import Fact, Found, Raw, State

NAMES = ("postgresql facts",)
SIGNS = ("global/pg_control",)
RELEASE = "PG_VERSION"
GLOBS = (RELEASE, "global/pg_control", "postmaster.pid", "pg_wal/*")
MARKS = ("recovery.signal", "standby.signal", "backup_label")
LOCKED = ()
CONTROL, PID = "global/pg_control", "postmaster.pid"
VERSIONS = {1201: "12", 1300: "13 to 16", 1700: "17", 1800: "18"}
OLDEST, NEWEST = 12, 18
CONTROL_BYTES = 8192
CHECKSUMS_AT = (292, 288)  # the places in version 18 and in older versions
ANY_CHECKSUM_AT = range(512 - 4, 64, -4)  # possible places in an unknown version
HEAD_BYTES = 40  # longest head of a page; the end of a record may be before or after it
STATES = (
    "starting up",
    "shut down",
    "shut down in recovery",
    "shutting down",
    "in crash recovery",
    "in archive recovery",
    "in production",
)
STOPPED = (1, 2)
OF_A_PRIMARY = (1, 6)
LINE = re.compile(rb"([1-9][0-9]{0,9})\t([0-9A-F]{1,8})/([0-9A-F]{1,8})\t.*")
TIMELINES_MAX, HISTORY_BYTES_MAX = 10_000, 4 << 20


@frozen(kw_only=True)
class TimelineSpan:
    """A timeline from one place in the log to another; the last timeline goes to the log's end."""

    timeline: Annotated[int, "the timeline's number"]
    begin: Annotated[int, "where the timeline begins"]
    end: Annotated[int, "where it was left, or the log ends"]
    birth: Annotated[str, "checksums of its first records; empty: they are gone"] = ""


@frozen(kw_only=True)
class Control:
    """The control data of a directory.  Positions in the log are in bytes."""

    system: Annotated[str, "the system identifier"] = ""
    release: Annotated[str, "the release that wrote it"] = ""
    state: Annotated[int, "as `STATES` counts"] = 0
    checkpoint: Annotated[int, "the last checkpoint"] = 0
    timeline: Annotated[int, "the last timeline"] = 0
    consistent: Annotated[int, "the place that a standby must reach"] = 0
    is_standby: Annotated[bool, "standby.signal or recovery.signal is there"] = False
    history: Annotated[tuple[TimelineSpan, ...], "timelines, the first one first"] = ()
    why_end: Annotated[str, "why the log ends there"] = ""
    damaged: Annotated[str, "why it is not believed"] = ""
    not_known: Annotated[str, Absent(""), "its version, if joinproto cannot read it"] = ""
    ran_in: Annotated[str, Absent(""), "the directory that its server ran in, by its pid file"] = ""
    marks: Annotated[tuple[str, ...], Absent(()), "data that no two servers write alike"] = ()

    @property
    def end(self) -> int:
        return self.history[-1].end if self.history else 0


def is_here(tree: Tree) -> bool:
    """Return whether this looks like a data directory of PostgreSQL."""
    return {"PG_VERSION", "global"} <= set(tree.names(""))


def digest(tree: Tree) -> bytes:
    """Return the facts of a directory as bytes, however damaged the directory is."""
    try:
        return packed(facts_of(tree))
    except NotAsWritten as error:
        return packed(Control(damaged=str(error)))


def facts_of(tree: Tree) -> Control:
    """Return the facts of a directory; raises `NotAsWritten`."""
    data = tree.read(CONTROL, 0, CONTROL_BYTES) if tree.size(CONTROL) else b""
    checked = _checksum(data, CHECKSUMS_AT)
    version = int.from_bytes(data[8:12], "little")
    release = _release(tree)
    if version not in VERSIONS or not checked or release > NEWEST:
        return _unknown_release(data, version, release)
    system, _, _, state, checkpoint = struct.unpack_from("<QIIi12xQ", data)
    (timeline,) = struct.unpack_from("<I", data, 48)
    consistent, consistent_timeline = struct.unpack_from("<QI", data, 136)
    (segment,) = struct.unpack_from("<I", data, 228)
    if not 0 <= state < len(STATES):
        raise NotAsWritten(f"{CONTROL}: state {state}, which PostgreSQL does not write")
    if segment not in (1 << bits for bits in range(20, 31)):
        raise NotAsWritten(f"{CONTROL}: files of the log have {segment} bytes")
    names = tree.names("")
    ran_in, run = _pid_file(tree)
    # Only a primary writes these states; a base backup that was never started has a copy.
    is_own = state in OF_A_PRIMARY and MARKS[2] not in names
    control = Control(
        ran_in=ran_in,
        marks=(*((f"control {checked}",) if is_own else ()), *run),
        system=str(system),
        release=VERSIONS[version],
        state=state,
        checkpoint=checkpoint,
        timeline=max(timeline, consistent_timeline),
        consistent=consistent,
        is_standby=not {*MARKS[:2]}.isdisjoint(names),
    )
    before = _history(tree, control.timeline)
    known = [*before, (control.timeline, 0)]
    walks = [Walk(tree, segment, control.system, known[: at + 1]) for at in range(len(known))]
    end, why, is_damaged = walks[-1].end(checkpoint)
    faults = [f"{WAL}: at {lsn(end)}: {why}"] if is_damaged else []
    missing = "from the last checkpoint on" if end <= checkpoint else ""
    if not missing and end + HEAD_BYTES < consistent:
        missing = f"from {lsn(end)} to {lsn(consistent)}, without which the server does not start,"
    if missing:
        why = f"the log {missing} is not there ({why})"
        faults.append(why)
    begins = [0, *(left for _, left in before)]
    ends = [*(left for _, left in before), max(end, consistent)]
    numbers = [*(number for number, _ in before), control.timeline]
    stretches = [
        TimelineSpan(timeline=number, begin=begin, end=stop, birth=walk.birth(begin, stop))
        for number, begin, stop, walk in zip(numbers, begins, ends, walks, strict=True)
    ]
    last = stretches[-1]
    if last.begin and not last.birth and walks[-1].is_there(last.begin):
        faults.append(f"{WAL}: timeline {last.timeline} does not begin at {lsn(last.begin)}")
    # A standby reads its log to the end before it leaves a timeline, so no later files can follow.
    if before and any(one > last.begin // segment for one in walks[-1].written(before[-1][0])):
        faults.append(f"{WAL}: timeline {before[-1][0]} continues after {lsn(last.begin)}")
    damaged = faults[0] if faults else ""
    return evolve(control, history=tuple(stretches), why_end=why, damaged=damaged)


def _checksum(data: bytes, places: Sequence[int]) -> str:
    """Return the checksum at the first of these places where it is right, "" if it never is."""
    for at in places:
        found = data[at : at + 4]
        if len(found) == 4 and crc32c(data[:at]) == int.from_bytes(found, "little"):
            return found.hex()
    return ""


def _release(tree: Tree) -> int:
    """Return the release that the directory names, 0 if it names none."""
    said = tree.read(RELEASE, 0, 16).split() if tree.size(RELEASE) else []
    return int(said[0]) if said and re.fullmatch(rb"[0-9]{2,3}", said[0]) else 0


def _unknown_release(data: bytes, version: int, release: int) -> Control:
    """Return the facts of a directory of an unknown release; raises `NotAsWritten` if damaged."""
    is_whole = bool(_checksum(data, ANY_CHECKSUM_AT))
    if not (data and release > NEWEST) and not (is_whole and version not in VERSIONS):
        raise NotAsWritten(f"{CONTROL}: {'its checksum is wrong' if data else 'is not there'}")
    age = "newer" if release > NEWEST or version > max(VERSIONS) else "older"
    of = f" of PostgreSQL {release}" if release else ""
    return Control(
        not_known=f"{CONTROL}: version {version}{of}, {age} than is known ({OLDEST} to {NEWEST})",
        system=str(int.from_bytes(data[:8], "little")) if is_whole else "",
        release=str(release or ""),
    )


def _pid_file(tree: Tree) -> tuple[str, tuple[str, ...]]:
    """Return the directory that the server's pid file names, and a mark of that run."""
    size = tree.size(PID)
    data = tree.read(PID, 0, min(size, 4096)) if size else b""
    # The lines: process, directory, start, port, sockets, address, a key with an inode in it.
    lines = data.decode("utf-8", "replace").splitlines()
    return (lines[1], (f"run {crc32c(data):08x}",)) if len(lines) >= 7 else ("", ())


def _history(tree: Tree, timeline: int) -> list[tuple[int, int]]:
    """Return the timelines before `timeline`, and where each was left."""
    if timeline == 1:
        return []
    name = f"{WAL}/{timeline:08X}.history"
    size = tree.size(name)
    if size is None or size > HISTORY_BYTES_MAX:
        raise NotAsWritten(f"{name}: is not there" if size is None else f"{name}: has {size} bytes")
    found: list[tuple[int, int]] = []
    for line in tree.read(name, 0, size).splitlines():
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        said = LINE.fullmatch(line)
        if said is None or len(found) == TIMELINES_MAX:
            raise NotAsWritten(f"{name}: a line is not as PostgreSQL writes it")
        number, left = int(said[1]), (int(said[2], 16) << 32) | int(said[3], 16)
        if found and (number <= found[-1][0] or left < found[-1][1]):
            raise NotAsWritten(f"{name}: its timelines are not in order")
        found.append((number, left))
    if not found or found[-1][0] >= timeline:
        raise NotAsWritten(f"{name}: names no timeline before it")
    return found


def _found_of(raw: Raw, control: Control) -> Found:
    if control.not_known:
        is_newer = "newer than is known" in control.not_known
        return Found.of(
            raw,
            State.NEWER if is_newer else State.UNKNOWN,
            control.not_known,
            cluster=control.system,
        )
    stopped = State.CLEAN if control.state in STOPPED else State.DIRTY
    return Found.of(
        raw,
        State.CORRUPT if control.damaged else stopped,
        control.damaged,
        _copy_warning(raw, control),
        cluster=control.system,
        seq=control.end or None,
        facts=(
            Fact("system", control.system),
            Fact("release", control.release),
            Fact("state", STATES[control.state] if control.state < len(STATES) else "?"),
            Fact("is", "a standby" if control.is_standby else "a primary"),
            Fact("timeline", str(control.timeline)),
            Fact("checkpoint", lsn(control.checkpoint)),
            Fact("consistent from", lsn(control.consistent)),
            Fact("the log ends", f"{lsn(control.end)}: {control.why_end}"),
            Fact("timelines", lineage(control) or "none"),
        ),
    )


def _copy_warning(raw: Raw, control: Control) -> str:
    """Return a warning if the pid file names another directory, so that this is a copy; else ""."""
    if control.ran_in in ("", raw.path):
        return ""
    return (
        f"a copy of {control.ran_in}, by {PID}: the facts are right only if its server had ended"
        " before it was copied"
    )


read = reader(Control, "PostgreSQL", NAMES[0], _found_of)


def control_of(found: Found) -> Control | None:
    """Return the control data of a directory, None if it cannot be believed."""
    data = found.raw.file(NAMES[0]).data
    if data is None or not (found.state.is_readable or found.state is State.IN_USE):
        return None
    return unpacked(Control, data)


def lsn(at: int) -> str:
    """Return a place in the log in PostgreSQL's form."""
    return f"{at >> 32:X}/{at & 0xFFFFFFFF:X}"


def lineage(control: Control) -> str:
    return ", ".join(f"{one.timeline} to {lsn(one.end)}" for one in control.history)


@frozen
class CommonLog:
    """The log that two directories have in common: it is equal up to `at` on `timeline`.

    `left`: where one of them left this timeline, the fork point; None if neither did.  `mine`,
    `theirs`: how many bytes of log each has after `at`.
    """

    timeline: int
    at: int
    left: int | None
    mine: int
    theirs: int


def _differ(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the first records of two timelines differ, as far as both have them."""
    both = min(len(mine), len(theirs))
    return mine[:both] != theirs[:both]


def common_log(one: Control, other: Control) -> CommonLog | None:
    """Return where the histories of two directories part, None without a common beginning."""
    common: CommonLog | None = None
    for mine, theirs in zip(one.history, other.history, strict=False):
        if (mine.timeline, mine.begin) != (theirs.timeline, theirs.begin):
            break
        if _differ(mine.birth.split(), theirs.birth.split()):
            break
        at = min(mine.end, theirs.end)
        ends = {last.end for last, of in ((mine, one), (theirs, other)) if last != of.history[-1]}
        left = min(ends, default=None)
        common = CommonLog(mine.timeline, at, left, one.end - at, other.end - at)
        if mine.end != theirs.end:
            break
    return common
