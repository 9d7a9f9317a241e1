"""The verdict about directories of PostgreSQL: which has the whole log, and which forked.

No file shows which commits were acknowledged to clients: that depends on `synchronous_commit` and
on which server was the primary.  So the verdict is about the log alone: a directory that has the
whole log of each other directory is the latest.

Source: PostgreSQL, `pg_rewind`; "Timelines" in its manual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from joinproto.errors import UsageProblem
from joinproto.pick.findings import MissingStore
from joinproto.pick.table import NOT_READ, Verdict
from joinproto.recovery.foreign.postgresql import CommonLog, Control, common_log, control_of, lsn
from joinproto.recovery.found import Found, State
from joinproto.recovery.judged import FormatVerdict, pick_of
from joinproto.recovery.rafts import NOT_EXAMINED
from joinproto.recovery.words import and_, collect_on, has

TWICE = "a store is there twice"
NOT_KNOWN = (State.NEWER, State.UNKNOWN)
MORE = "it may have a part of the log that is in no directory here"


def verdict_on(stores: Sequence[Found], *, nodes: int | None) -> FormatVerdict:
    """Return the verdict about directories of PostgreSQL.

    `nodes`: how many nodes there are, None if not known.  Raises `UsageProblem` for more stores.
    """
    if nodes is not None and len(stores) > nodes:
        raise UsageProblem(
            f"--nodes {nodes}, and {len(stores)} directories are given",
            next="name one directory of each node",
        )
    read = [(one, control) for one in stores if (control := control_of(one)) is not None]
    pairs = [
        (one, other, common_log(mine, theirs))
        for (one, mine), (other, theirs) in combinations(read, 2)
    ]
    latest = [one for one, control in read if _has_all(control, read)]
    verdict, case = _verdict(stores, read, latest, nodes)
    lines = [_line(*pair) for pair in pairs]
    absent = 0 if nodes is None else max(nodes - len(read), 0)
    unknown = f"{absent} of {nodes} nodes" if absent else ""
    where = f"{and_([one.name for one in latest])} {has(latest)}"
    sentence = after = ""
    match verdict:
        case Verdict.IN_USE | Verdict.DIFFERENT_CLUSTERS:
            pass
        case Verdict.CORRUPT:
            sentence = "Not one of these directories can be read."
            after = "look for other directories of this system, or for a backup"
        case Verdict.DIVERGED:
            sentence = "These directories have gone different ways, and no log is complete."
            after = (
                "save all of them; choose the side to keep, and copy from the other side the data"
                " that only it has; then, on that side: pg_rewind --target-pgdata DIR"
                " --source-server ..."
            )
        case _ if case == TWICE:
            twins = and_([one.name for one in _twins(read)])
            sentence = f"{twins} are of one server: an old state, or a copy."
            after = "find out in which of them the server really ran, and name only that one"
        case _ if case == NOT_READ:
            named = and_([one.name for one in stores if one.state in NOT_KNOWN])
            sentence = f"{named}: of a PostgreSQL that joinproto cannot read; it is not judged."
            after = (
                "use the programs of that release: pg_controldata DIR shows the timeline and the"
                " last checkpoint, and pg_rewind --dry-run where two directories part"
            )
        case _ if case == MORE:
            sentence = f"{where} all of the log that is here, and that is not proven: {case}."
            after = (
                f"{collect_on('the other hosts')}, and give --nodes N, the number of nodes, which"
                " no file says"
            )
        case _:
            sentence = f"{where} the whole log of every directory here, and it is proven."
            after = (
                f"start {latest[0].name} as the primary (pg_ctl promote, if it is a standby); the"
                " others follow it"
            )
    return FormatVerdict(
        pick=pick_of(
            stores,
            verdict,
            rule="timelines",
            case=case,
            latest=tuple(one.name for one in latest),
            missing=(MissingStore(unknown, "", may_know_more=True, text=MORE),) if unknown else (),
        ),
        sentence=sentence,
        lines=(
            *lines,
            "no file shows which commits were acknowledged to clients (synchronous_commit)",
            "assumed, as no file shows it: each directory is of a different node; none is a copy",
        ),
        not_examined=NOT_EXAMINED,
        next=after,
    )


def _has_all(control: Control, read: Sequence[tuple[Found, Control]]) -> bool:
    parts = (common_log(control, other) for _, other in read)
    return all(found is not None and found.theirs <= 0 for found in parts)


def _twins(read: Sequence[tuple[Found, Control]]) -> list[Found]:
    """Return directories that share data which two servers never write alike."""
    times = Counter(mark for _, control in read for mark in {*control.marks})
    return [one for one, control in read if any(times[mark] > 1 for mark in control.marks)]


def _verdict(
    stores: Sequence[Found],
    read: Sequence[tuple[Found, Control]],
    latest: Sequence[Found],
    nodes: int | None,
) -> tuple[Verdict, str]:
    if any(one.state is State.IN_USE for one in stores):
        return Verdict.IN_USE, "a process has a store open"
    if any(one.state in NOT_KNOWN for one in stores):
        return Verdict.UNPROVEN, NOT_READ
    if not read:
        return Verdict.CORRUPT, "no store can be read"
    if len({one.cluster for one, _ in read}) > 1:
        return Verdict.DIFFERENT_CLUSTERS, "stores of several clusters"
    if _twins(read):
        return Verdict.UNPROVEN, TWICE
    if not latest:
        return Verdict.DIVERGED, "two timelines"
    if nodes is None or nodes > len(read) or len(read) < len(stores):
        return Verdict.UNPROVEN, MORE
    return (Verdict.TIE if len(latest) > 1 else Verdict.PROVEN), "all are here"


def _line(one: Found, other: Found, found: CommonLog | None) -> str:
    if found is None:
        return f"{one.name} and {other.name} have no beginning in common"
    at = f"{lsn(found.at)} of timeline {found.timeline}"
    if found.mine > 0 and found.theirs > 0:
        return (
            f"{one.name} and {other.name} part at {at}: beyond it the one has {found.mine} bytes"
            f" of log, the other {found.theirs}"
        )
    left = "" if found.left is None else f", and it left that timeline at {lsn(found.left)}"
    if found.mine == found.theirs:
        return f"{one.name} and {other.name} both end at {at}"
    ahead, behind = (one, other) if found.mine > 0 else (other, one)
    return f"{behind.name} ends at {at}, and {ahead.name} has all of that and continues{left}"
