"""The reader of Galera: where a node stopped, and the last view it was in.

    grastate.dat    uuid: the history (the cluster).  seqno: 0 or more: stopped in order at
                    this position; -1: it runs, or crashed.  safe_to_bootstrap: 1: last to leave
    gvwstate.dat    the last primary view, with the names of its nodes; removed by a stop in order.
                    A node gets a new my_uuid at every start
    galera.cache    the last write-sets with their numbers (`gcache.py`), which show whether two
                    nodes have one history

After a crash only the data has the position.  The server prints it (`mariadbd --wsrep-recover`),
and the operator supplies it: a number, `<uuid>:<number>`, or the text of the server's log.

The number of a view alone does not order stores, because it begins again when a cluster is founded
from one node.  But a view shows which nodes continued: if y was with x in x's last view and has a
later view without x, then x was not last.

Galera takes a missing or a damaged state file for safe.  Here such a node's state is unknown,
unless the operator supplies a position with its uuid; then it counts as a node that was killed.

Source: recovery, "Foreign formats"; Galera 26.4, seen on real nodes (`tools/fixtures`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from joinproto.recovery.foreign import gcache
from joinproto.recovery.foreign.text import NULL_UUID, UUID, NotAsWritten, matched, shown, text_of
from joinproto.recovery.found import Fact, Format, Found, LastView, Raw, RawFile, State

STATE = "grastate.dat"
VIEW = "gvwstate.dat"
NAMES = (STATE, VIEW)

KEYS = ("version", "uuid", "seqno", "safe_to_bootstrap", "cert_index")
VERSION = re.compile(r"^version: *([0-9]{1,6})\.([0-9]{1,6}) *$", re.MULTILINE)
NEWEST = (2, 1)
NUMBER = re.compile(r"-1|[0-9]{1,19}")
POSITION = re.compile(rf"({UUID.pattern}):(-1|[0-9]{{1,19}})")
# MariaDB and older servers write "WSREP: Recovered position", Percona's "[WSREP] Recovered
# position".  After the number MariaDB may write "," and its own id of the transaction.
RECOVERED = re.compile(
    rf"(?:WSREP:|\[WSREP\]) Recovered position:? *({UUID.pattern}):(-1|[0-9]{{1,19}})(?![0-9])"
)
PRIMARY = "3"
MEMBERS_MAX = 4_096


@frozen(kw_only=True)
class SavedState:
    """The contents of `grastate.dat`.  `is_safe`: None if the line is missing."""

    uuid: str
    seqno: int
    is_safe: bool | None


@frozen(kw_only=True)
class View:
    """The contents of `gvwstate.dat`."""

    my_uuid: str
    kind: str
    id: str
    number: int
    bootstrap: str
    members: tuple[str, ...]

    @property
    def member(self) -> str:
        """Return this node's name in the view, "" if the node is not in it.

        A failed start does not change the view, but increases the fourth group of `my_uuid`.
        """
        if self.my_uuid in self.members:
            return self.my_uuid
        mine = _without_incarnation(self.my_uuid)
        same = [one for one in self.members if _without_incarnation(one) == mine]
        return same[0] if len(same) == 1 else ""

    @property
    def is_primary(self) -> bool:
        return self.kind == PRIMARY and self.member != ""

    @property
    def name(self) -> str:
        return f"{self.id}:{self.number}"


def _without_incarnation(uuid: str) -> list[str]:
    parts = uuid.split("-")
    return [*parts[:3], *parts[4:]]


@frozen
class RecoveredPosition:
    """A position that the operator supplied.  `uuid`: "" if only a number was given."""

    uuid: str
    seqno: int


def read(raw: Raw) -> Found:
    """Return the contents of a node's directory; never raises, whatever the bytes are."""
    if all(raw.file(name).is_absent for name in (*NAMES, gcache.DIGEST)):
        return Found.of(raw, State.NONE, f"no {STATE} here")
    if why := raw.file(STATE).problem:
        return Found.of(raw, State.UNREADABLE, f"{STATE}: {why}")

    problems: list[str] = []
    saved = view = recovered = None
    try:
        recovered = recovered_position(raw.recovered)
    except NotAsWritten as error:
        problems.append(str(error))
    try:
        saved = saved_state(raw.file(STATE))
    except NotAsWritten as error:
        near = gcache.FILE if raw.file(VIEW).is_absent else VIEW
        is_absent = raw.file(STATE).is_absent
        problems.insert(0, f"{STATE}: is not there, next to {near}" if is_absent else str(error))
        if version := _newer_version(raw.file(STATE)):
            problems[0] += f"; its version {version} is newer than is known here (2.1)"
            return Found.of(raw, State.NEWER, *problems)
    if saved is None and recovered is not None and recovered.uuid:
        # The server also finds uuid and position in its data, as after a kill.
        saved = SavedState(uuid=recovered.uuid, seqno=-1, is_safe=None)
    elif saved is not None and saved.is_safe is None:
        problems.append(f"{STATE}: no line safe_to_bootstrap: of an old version, or cut off")
    try:
        view = None if raw.file(VIEW).data is None else view_of(raw.file(VIEW))
    except NotAsWritten as error:
        # The file only helps nodes to form a group again by themselves (pc.recovery).
        problems.append(
            f"{error}; it is no evidence: remove it, because some versions do not start with it"
        )
    if why := raw.file(VIEW).problem:
        problems.append(f"{VIEW}: {why}; it is no evidence")
    if saved is None:
        state = State.UNREADABLE if raw.file(STATE).is_absent else State.CORRUPT
        facts = _facts(None, view, recovered)
        return Found.of(raw, state, *problems, facts=facts)
    # Even a view that cannot be read shows that the node was not stopped in order.
    is_open = not raw.file(VIEW).is_absent
    problems += _contradictions(saved, view, recovered, is_open=is_open)
    # A node that others refuse because it is ahead loses the uuid in this file, but keeps its data.
    cluster = "" if saved.uuid == NULL_UUID else saved.uuid
    has_rows = not cluster and recovered is not None and recovered.uuid != ""
    if has_rows and recovered is not None:
        cluster = recovered.uuid
        problems.append(
            f"{STATE} names no history, but its data have one: the node was being copied to, or was"
            " refused because it was ahead of the others; so it cannot be ordered"
        )
    return Found.of(
        raw,
        State.DIRTY if has_rows else _state(saved, is_open=is_open),
        *problems,
        member=(view.member or view.my_uuid) if view else "",
        cluster=cluster,
        seq=_position(saved, recovered, is_open=is_open),
        last_view=LastView(
            members=frozenset(view.members),
            id=view.name,
            step=view.number,
            is_forced=view.bootstrap == "1",
        )
        if view and view.is_primary
        else None,
        stopped_last=_stopped_last(saved, view, is_open=is_open),
        history=None
        if (cache := raw.file(gcache.DIGEST).data) is None
        else gcache.history_in(cache),
        may_be_last=has_rows or _may_be_last(saved, view),
        lost_view=cluster != "" and saved.seqno < 0 and (view is None or not view.is_primary),
        facts=_facts(saved, view, recovered),
    )


def not_last(stores: Sequence[Found]) -> tuple[str, ...]:
    """Return a sentence for each store that was not last, by the view files alone."""
    known = [(store, view) for store in stores if (view := _primary(store)) is not None]
    found = []
    for one, mine in known:
        for other, theirs in known:
            went_on = (
                one.cluster == other.cluster
                and theirs.member != mine.member
                and theirs.member in mine.members
                and mine.member not in theirs.members
                and theirs.number > mine.number
            )
            if went_on:
                found.append(
                    f"{one.name} was not last: {other.name} was with it in its last view"
                    f" ({mine.number}), and later in a view without it ({theirs.number})"
                )
                break
    return tuple(found)


def has_state_file(raw: Raw) -> bool:
    """Return whether the node has a whole state file, which names its history."""
    try:
        saved_state(raw.file(STATE))
    except NotAsWritten:
        return False
    return True


def _newer_version(file: RawFile) -> str:
    """Return the version of a state file if it is newer than the known versions, else ""."""
    said = VERSION.search((file.data or b"").decode("utf-8", "replace"))
    return f"{said[1]}.{said[2]}" if said and (int(said[1]), int(said[2])) > NEWEST else ""


# -- the files -----------------------------------------------------------------------------


def saved_state(file: RawFile) -> SavedState:
    """Return the contents of `grastate.dat`; raises `NotAsWritten`."""
    text = text_of(file)
    found: dict[str, str] = {}
    # Galera rewrites the file in place and pads it with blanks.  So other text after the last
    # newline was cut off, or is older.
    *lines, rest = text.replace("\r\n", "\n").split("\n")  # Galera reads CRLF, too
    if rest.strip(" "):
        raise NotAsWritten(f"{file.name}: ends within the line {shown(rest)}: cut off")
    for line in lines:
        if not line.strip(" ") or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or key not in KEYS:
            raise NotAsWritten(f"{file.name}: {shown(line)} is not a line of this file")
        if key in found:
            raise NotAsWritten(f"{file.name}: has two lines {key}")
        found[key] = value.strip(" ")
    for key in ("uuid", "seqno"):
        if key not in found:
            raise NotAsWritten(f"{file.name}: the line {key} is missing: cut off")
    safe = found.get("safe_to_bootstrap")
    if safe not in (None, "0", "1"):
        raise NotAsWritten(f"{file.name}: safe_to_bootstrap is {shown(safe)}, expected 0 or 1")
    return SavedState(
        uuid=_uuid(file, found["uuid"]),
        seqno=_number(file, found["seqno"]),
        is_safe=None if safe is None else safe == "1",
    )


def view_of(file: RawFile) -> View:
    """Return the contents of `gvwstate.dat`; raises `NotAsWritten`."""
    text = text_of(file)
    lines = text.removesuffix("\n").split("\n")
    if lines[-1] != "#vwend":
        raise NotAsWritten(f"{file.name}: does not end with #vwend: cut off")
    if len(lines) < 6 or lines[1] != "#vwbeg":
        raise NotAsWritten(f"{file.name}: expected my_uuid, #vwbeg, the view, and #vwend")
    if len(lines) > MEMBERS_MAX:
        raise NotAsWritten(f"{file.name}: has {len(lines)} lines")
    kind, name, number = _values(file, lines[2], "view_id", 3)
    (bootstrap,) = _values(file, lines[3], "bootstrap", 1)
    members = [_values(file, line, "member", 2)[0] for line in lines[4:-1]]
    if len(set(members)) < len(members):
        raise NotAsWritten(f"{file.name}: lists a member twice")
    (mine,) = _values(file, lines[0], "my_uuid", 1)
    return View(
        my_uuid=_uuid(file, mine),
        kind=str(_number(file, kind)),
        id=_uuid(file, name),
        number=_number(file, number),
        bootstrap=bootstrap,
        members=tuple(_uuid(file, member) for member in members),
    )


def recovered_position(given: bytes) -> RecoveredPosition | None:
    """Return the position that the operator supplied, None if none; raises `NotAsWritten`.

    If a log has several lines with a position, the last line counts.
    """
    text = given.decode("utf-8", "replace").strip()
    if not text:
        return None
    if NUMBER.fullmatch(text):
        found = RecoveredPosition("", int(text))
    elif whole := POSITION.fullmatch(text):
        found = RecoveredPosition(whole[1], int(whole[2]))
    elif lines := RECOVERED.findall(text):
        found = RecoveredPosition(lines[-1][0], int(lines[-1][1]))
    else:
        raise NotAsWritten(
            f"the position supplied is neither a number, nor a UUID:NUMBER, nor a log with a line"
            f' "WSREP: Recovered position": {shown(text)}'
        )
    if found.seqno < 0:
        raise NotAsWritten("the position supplied is -1: the server found no position in the data")
    return found


def _values(file: RawFile, line: str, key: str, count: int) -> list[str]:
    head, *values = line.split(" ")
    if head != f"{key}:" or len(values) != count:
        raise NotAsWritten(f"{file.name}: {shown(line)}, expected a line {key}")
    return values


def _uuid(file: RawFile, text: str) -> str:
    return matched(UUID, file, text, "a UUID")


def _number(file: RawFile, text: str) -> int:
    return int(matched(NUMBER, file, text, "a number"))


# -- conclusions ----------------------------------------------------------------------------


def _state(saved: SavedState, *, is_open: bool) -> State:
    if saved.uuid == NULL_UUID:
        # The file of a new node looks the same as that of a node that was being copied to.
        return State.UNFINISHED
    # A node that was stopped in order no longer has a view.
    is_clean = saved.seqno >= 0 and not is_open and saved.is_safe is not None
    return State.CLEAN if is_clean else State.DIRTY


def _position(
    saved: SavedState, recovered: RecoveredPosition | None, *, is_open: bool
) -> int | None:
    """Return the number at which the data end, None if unknown or if two sources contradict."""
    if saved.uuid == NULL_UUID:
        return None
    is_of_another = recovered is not None and recovered.uuid not in ("", saved.uuid)
    if recovered is not None:
        differs = saved.seqno >= 0 and not is_open and saved.seqno != recovered.seqno
        return None if is_of_another or differs else recovered.seqno
    return saved.seqno if saved.seqno >= 0 and not is_open else None


def _stopped_last(saved: SavedState, view: View | None, *, is_open: bool) -> bool:
    if saved.uuid == NULL_UUID:
        return False
    # If the view has other members, a mark was made by hand.  If the node was alone in the view,
    # the mark may be missing.
    if view is not None:
        return view.is_primary and len(view.members) == 1
    return saved.is_safe is True and saved.seqno >= 0 and not is_open


def _may_be_last(saved: SavedState, view: View | None) -> bool:
    """Return whether the node may have been alone; without a view, only a mark of 0 excludes it."""
    is_shown = view is not None and view.is_primary
    return saved.uuid != NULL_UUID and not is_shown and saved.is_safe is not False


def _contradictions(
    saved: SavedState, view: View | None, recovered: RecoveredPosition | None, *, is_open: bool
) -> tuple[str, ...]:
    found = []
    if saved.uuid == NULL_UUID:
        found.append(
            f"{STATE} names no history: a node that is new, or whose data were being copied from"
            " another node when it stopped (both look the same)"
        )
    if saved.seqno < 0 and not is_open:
        found.append(
            f"{VIEW} is not there, so the nodes that ran when this node stopped are not known"
        )
    if saved.seqno >= 0 and view is not None:
        found.append(
            f"{STATE} says that the node was stopped in order, and {VIEW} that it started again:"
            f" its position {saved.seqno} may be older than that start"
        )
    if view is not None and not view.is_primary:
        found.append(
            f"{VIEW}: not a view of the primary component with this node in it: it is no evidence"
        )
    if saved.is_safe and view is not None and view.is_primary and len(view.members) > 1:
        found.append(
            f"safe_to_bootstrap is 1, and the last view had {len(view.members)} members: the mark"
            " was made by hand, or by another start; it is no evidence"
        )
    if recovered is not None and recovered.uuid not in ("", saved.uuid):
        found.append(
            f"the position supplied is of another history: {recovered.uuid}, here {saved.uuid}"
        )
    elif recovered is not None and 0 <= saved.seqno != recovered.seqno and view is None:
        found.append(
            f"the position supplied is {recovered.seqno}, and {STATE} says {saved.seqno}: one of"
            " them is of another node, or of another time"
        )
    if saved.seqno < 0 and recovered is None and saved.uuid != NULL_UUID:
        found.append(
            "these files do not show where the data end: run the server with --wsrep-recover, and"
            " supply the position that it prints with --position"
        )
    return tuple(found)


def _primary(store: Found) -> View | None:
    if store.format is not Format.GALERA or store.state not in (State.DIRTY, State.CLEAN):
        return None
    try:
        view = view_of(store.raw.file(VIEW))
    except NotAsWritten:
        return None
    return view if view.is_primary else None


def _facts(
    saved: SavedState | None, view: View | None, recovered: RecoveredPosition | None
) -> tuple[Fact, ...]:
    found = []
    if saved is not None:
        safe = {None: "not there", True: "1", False: "0"}[saved.is_safe]
        found += [
            Fact("uuid", saved.uuid),
            Fact("seqno", str(saved.seqno)),
            Fact("safe_to_bootstrap", safe),
        ]
    if view is not None:
        found += [
            Fact("my_uuid", view.my_uuid),
            Fact("view_id", f"{view.kind} {view.id} {view.number}"),
            Fact("bootstrap", shown(view.bootstrap).strip("'")),
            Fact("members", ", ".join(view.members)),
        ]
    if recovered is not None:
        said = f"{recovered.uuid}:{recovered.seqno}" if recovered.uuid else str(recovered.seqno)
        found.append(Fact("recovered position", said))
    return tuple(found)
