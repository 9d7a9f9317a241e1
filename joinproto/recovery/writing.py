"""Write to a joinproto store: no other file of the recovery tool does so.

    apply    lock, compare with the plan, keep the former file, write the mark
    undo     lock, check that no view followed, take the mark back

Each does one ordinary write of the store (`joinproto.store.handle`).  So after a crash at any
moment the store is as before or as after it, and the same command finishes the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from joinproto.codec.malformed import Malformed
from joinproto.durable.filesystem import REAL, JournalFileSystem, Progress, let_go, reason, replace
from joinproto.durable.record import Record
from joinproto.errors import JoinprotoError, StoreInUse, StoreUnreadable, StoreWriteFailed
from joinproto.join.store import StoreRecord
from joinproto.recovery.access import (
    ABSENT,
    DISK,
    SUDO,
    USAGE,
    WRITE_ERROR,
    code_of,
    require_permitted,
    require_reachable,
)
from joinproto.recovery.found import Format, Found, Raw, State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.history import chained
from joinproto.recovery.own import NAMES, contents_of
from joinproto.recovery.plan import STALE, Force, Input, Plan, backup_name, forced_view
from joinproto.recovery.words import shown
from joinproto.store.contents import Contents
from joinproto.store.handle import Store, open_store
from joinproto.store.places import open_folder
from joinproto.store.slots import CURRENT, FOLDER, KIND

IN_USE = 6


class Stale(JoinprotoError):
    """The stores have changed since the plan was made."""

    default_code = STALE


class Outcome(Enum):
    """The outcome of a writing command."""

    DONE = "done"
    DONE_BEFORE = "done before"
    NOTHING = "nothing to do"


@frozen(kw_only=True)
class Done:
    """The result of a command.  `said`: sentences; `backup`: the path of the former metadata."""

    outcome: Outcome
    said: tuple[str, ...]
    backup: str = ""


def check(plan: Plan, *, host: str, files: JournalFileSystem = REAL) -> Done | None:
    """Return the result if the plan was applied before, None if it can be applied now.

    `host`: the name of this machine.  No file is changed.  Raises `Stale`, or `StoreError`.
    """
    path = Path(plan.step.path)
    raw = gather(path, host=host, kind=Format.JOINPROTO, files=files)
    require_permitted(raw)
    found = read(raw)
    _require_target(plan, found)
    assert found.record is not None
    done = _done_if_repeated(plan, found)
    if done is not None:
        return done
    _require_target_same(plan, files)
    for one in other_inputs_here(plan, host):
        kind = one.format
        raw = gather(Path(one.path), host=host, kind=kind, files=files)
        require_permitted(raw)
        if raw.in_use:
            raise StoreInUse(
                f"{one.name}: in use by {raw.in_use}\n  nothing was changed",
                next="look at the running broker; if it must not run, stop it, then pick again",
                code=IN_USE,
            )
        if _present_input(one, raw) != one:
            _require_given(one.name, raw)
            raise _stale(
                one.name,
                raw.problem.rpartition(": ")[2],
                "; if it is on another machine of that name: collect --host NAME",
            )
    return None


def other_inputs_here(plan: Plan, host: str) -> tuple[Input, ...]:
    """Return the plan's other stores on this machine, which are read again before a write."""
    return tuple(one for one in plan.inputs if one.host == host and one.path != plan.step.path)


def apply(
    plan: Plan, *, host: str, made: Mapping[str, str], files: JournalFileSystem = REAL
) -> Done:
    """Carry out the plan durably; this may be repeated at any time.

    `made`: who, when, why and with which tool, for the history.  Raises as `check` does.
    """
    done = check(plan, host=host, files=files)
    path = Path(plan.step.path)
    if done is not None:
        _make_durable(path, files)
        return done
    with _codes(), open_store(path, files=files) as store:
        # Check again with the lock, because a member may have run since the first check.
        raw = _require_target_same(plan, files)
        backup = _keep(path, backup_name(plan), raw, files)
        store.write_contents(_contents_after(plan, store, made))
    step = plan.step
    if step.force is None:
        said = "a restart from its tip is permitted, once"
    else:
        said = "it begins anew with other electors; this was not proven"
    said = f"{step.member} at {shown(str(path))}: {said}"
    return Done(outcome=Outcome.DONE, said=(said,), backup=backup)


def undo(
    path: Path, *, host: str, made: Mapping[str, str], files: JournalFileSystem = REAL
) -> Done:
    """Take the mark or the forced restart that `apply` wrote back, durably.

    A mark can be taken back until a successor of its tip has been accepted, and a forced
    restart until the store has been used.  Raises `Stale` after that.
    """
    require_reachable(gather(path, host=host, kind=Format.JOINPROTO, files=files))
    with _codes(), open_store(path, files=files) as store:
        entry = last_permission(store.contents)
        if entry is None or _is_taken_back(store.record, entry):
            said = f"{shown(str(path))}: no mark of the recovery tool is here"
            return Done(outcome=Outcome.NOTHING, said=(said,))
        former = _record_after_undo(path, store, entry)
        fields = {**made, "host": host, "what": "undo", "plan": str(entry.get("plan", ""))}
        history = chained(store.contents.history, fields)
        store.write_contents(evolve(store.contents, record=former, history=history))
    said = f"{shown(str(path))}: the {entry['what']} is taken back"
    return Done(outcome=Outcome.DONE, said=(said,))


@contextmanager
def _codes() -> Iterator[None]:
    """Change the exit codes of errors of a write to those of the recovery tool."""
    try:
        yield
    except StoreInUse as error:
        error.code = IN_USE
        raise
    except StoreWriteFailed as error:
        error.code = WRITE_ERROR
        raise
    except StoreUnreadable as error:
        error.code = code_of(error)
        error.next = SUDO if error.code == USAGE else error.next
        raise


# -- reading back ------------------------------------------------------------------------------


def last_permission(contents: Contents) -> Mapping[str, Any] | None:
    """Return the newest mark or forced restart in the history that was not taken back."""
    undone = {entry.get("plan") for entry in contents.history if entry.get("what") == "undo"}
    for entry in reversed(contents.history):
        if entry.get("what") in ("mark", "force") and entry.get("plan") not in undone:
            return entry
    return None


def _done_if_repeated(plan: Plan, found: Found) -> Done | None:
    contents = contents_of(found)
    # A store with a record was read as a whole.
    assert contents is not None
    entry = last_permission(contents)
    if entry is None or entry.get("plan") != plan.hash:
        return None
    stands = contents.record.is_marked or plan.step.force is not None
    more = "it is still valid" if stands else "it is void now: a view followed"
    said = f"{plan.step.member} at {shown(plan.step.path)}: this plan was applied before; {more}"
    return Done(outcome=Outcome.DONE_BEFORE, said=(said,))


def _require_target(plan: Plan, found: Found) -> None:
    step = plan.step
    if found.state is State.IN_USE:
        raise StoreInUse(
            f"{found.name}: in use by {found.raw.in_use}\n  nothing was changed",
            next="stop that process; a running cluster needs no recovery",
            code=IN_USE,
        )
    if found.record is None:
        why = found.problems[0] if found.problems else found.state.value
        is_here = found.host == step.host
        if is_here and found.state is not State.UNREADABLE:
            raise _stale(found.name, why)
        raise StoreUnreadable(
            f"{found.name}: {why}\n  the plan is for the store of {step.member} on {step.host}",
            next="look at the disk, then run the same command again"
            if is_here
            else f"run this on {step.host}, where {shown(step.path)} is",
            code=WRITE_ERROR if found.raw.errors - ABSENT else None,
        )
    if found.record.store_id != step.store_id:
        raise Stale(
            f"{found.name}: store {found.record.store_id} of {found.member}, expected"
            f" {step.store_id} of {step.member}\n  nothing was changed",
            next=f"run this on {step.host}, where {shown(step.path)} is",
        )


def _require_target_same(plan: Plan, files: JournalFileSystem) -> bytes:
    """Return the target's metadata; raises `Stale` if the target changed since the plan."""
    step = plan.step
    # Two machines with the same name may have stores at the same path.  The bytes show which
    # store is here.
    known = [one for one in plan.inputs if (one.host, one.path) == (step.host, step.path)]
    raw = gather(Path(step.path), host=step.host, kind=Format.JOINPROTO, files=files)
    _require_given(step.path, raw)
    data = raw.file(NAMES[0]).data or b""
    digest = sha256(data).hexdigest()
    now = [_present_input(one, raw) for one in known]
    is_same = not known or any(
        # An interrupted apply may have copied the present generation over the one before.
        one in (then, evolve(then, previous=digest))
        for one, then in zip(now, known, strict=True)
    )
    if digest != step.before or not is_same:
        raise _stale(step.path)
    return data


def _require_given(name: str, raw: Raw) -> None:
    """Raise `StoreUnreadable` if the disk returned an error instead of the content."""
    for number, why in raw.refusals:
        if number not in ABSENT:
            raise StoreUnreadable(
                f"{name}: {why}\n  nothing was changed by this", next=DISK, code=WRITE_ERROR
            )


def _present_input(one: Input, raw: Raw) -> Input:
    """Return the input for the present contents `raw`, with the position given for `one`."""
    return Input.of(one.name, evolve(raw, recovered=one.recovered.encode("latin-1")))


def _stale(name: str, why: str = "", more: str = "") -> Stale:
    return Stale(
        f"{name}: {why or 'changed since the plan was made'}\n  nothing was changed by this",
        next=f"joinproto recover pick, with the stores as they are now{more}",
    )


def _is_taken_back(record: StoreRecord, entry: Mapping[str, Any]) -> bool:
    """Return whether the mark of `entry` is gone, although the tip did not change.

    Two plans may have written the same mark, and one of them was undone.
    """
    tip = None if record.tip is None else str(record.tip.id)
    return entry["what"] == "mark" and record.mark is None and tip == entry.get("tip")


def _record_after_undo(path: Path, store: Store, entry: Mapping[str, Any]) -> StoreRecord:
    record = store.record
    tip = record.tip
    accepted = None if record.accepted is None else str(record.accepted.view.id)
    if entry["what"] == "mark":
        is_open = tip is not None and str(tip.id) == entry.get("tip") and record.is_marked
        if is_open and accepted == entry.get("accepted"):
            return evolve(record, mark=None)
        raise Stale(
            f"{path}: the mark cannot be taken back: a successor of its view was accepted\n"
            "  nothing was changed",
            next="start the members; the restart has begun",
        )
    # After the store was used, other members may know the forced view.  Taking it back here would
    # then make two chains.
    is_unused = str(store.generation) == entry.get("generation")
    if tip is None or not is_unused or record.position != tip.position:
        raise Stale(
            f"{path}: the forced restart cannot be taken back: the store was used after it\n"
            "  nothing was changed",
            next="start the members; the restart has begun",
        )
    lineage = evolve(record.lineage, views=record.lineage.views[:-1])
    return evolve(record, lineage=lineage, promised=None, accepted=None, mark=None)


# -- writing -----------------------------------------------------------------------------------


def _contents_after(plan: Plan, store: Store, made: Mapping[str, str]) -> Contents:
    contents, record, step = store.contents, store.record, plan.step
    fields = {
        **made,
        "what": step.what,
        "tip": step.tip,
        "plan": plan.hash,
        "verdict": plan.verdict,
        "before": step.before,
        "generation": str(store.generation + 1),
    }
    if step.accepted is not None:
        fields["accepted"] = step.accepted
    tip = record.tip
    if tip is None or str(tip.id) != step.tip:
        raise Stale(f"{step.path}: its tip is not that of the plan", next="make the plan again")
    if step.force is None:
        record = evolve(record, mark=tip.id)
    else:
        record = _with_forced_view(step.path, record, step.force)
    return evolve(contents, record=record, history=chained(contents.history, fields))


def _with_forced_view(path: str, record: StoreRecord, force: Force) -> StoreRecord:
    try:
        return record.learn(record.lineage.append(forced_view(record.lineage, force)))
    except Malformed as malformed:
        raise Stale(f"{path}: {malformed}", next="make the plan again") from malformed


def _make_durable(path: Path, files: JournalFileSystem) -> None:
    # Otherwise: an apply is killed before the fsync of the directory.  The next apply reads the
    # mark from memory and reports success.  Then the power fails, and there is no mark.
    folder = open_folder(files, path)
    try:
        Record(files, folder, path / FOLDER, KIND).make_durable()
    except OSError as error:
        raise StoreWriteFailed(
            f"{path / FOLDER / CURRENT}: written, but perhaps not on the disk: {reason(error)}",
            next="look at the disk, then run the same command again",
            code=WRITE_ERROR,
        ) from error
    finally:
        let_go(files, folder)


def _keep(path: Path, name: str, data: bytes, files: JournalFileSystem) -> str:
    """Write the former metadata into a backup file, whole or not at all; return its path."""
    folder = open_folder(files, path)
    try:
        if name not in files.names(folder):
            # After a crash the next opening of the store removes a temporary file of this name.
            replace(files, folder, name, data, Progress(), shows=False, prefix=CURRENT)
        files.sync_directory(folder)
    except OSError as error:
        raise StoreWriteFailed(
            f"{path / FOLDER / name}: the backup was not written: {reason(error)}\n"
            "  on disk: the store as before",
            next="look at the disk, then run the same command again",
        ) from error
    finally:
        let_go(files, folder)
    return str(path / FOLDER / name)
