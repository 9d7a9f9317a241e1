"""The verdict on each Raft group of a RabbitMQ cluster: the nodes with the latest log.

Each group (a quorum queue, the metadata of Khepri) has its own voters, so each has its own verdict
(`joinproto/pick/raft.py`): "b is best for 311 of 312 queues; q17 only on c".

Two logs of one group have the same entry under one index and term.  If they have different entries,
they are logs of two queues with one name, or a store was put back, and nothing is proven.

If a queue is deleted and declared again under its name while a node is away, an older log stays on
that node.  This log may have more entries, and a snapshot in place of the entries that would
differ.  But all first members of a queue are created at one moment.  So a first member that was
created later began again, and does not count.  If a majority of the first members may have been
created later, the older logs may belong to another queue.

Source: Ongaro, 3.5 (Log Matching); RabbitMQ, `rabbit_quorum_queue` (`ra_machine_config`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations

from attrs import evolve, frozen

from joinproto.pick.raft import ASSUMED, RaftVerdict, judge
from joinproto.recovery.foreign.ra.log import GroupLog, RaSystem
from joinproto.recovery.words import and_, collect_on, grouped, typed

KHEPRI = ("coordination", "rabbitmq_metadata")
SHOWN_MAX = 20
MOMENT_MS = 1_000
PLAIN = " _-./:@"
"""Characters, besides letters and digits, that need no escape in an Erlang text."""


@frozen(kw_only=True)
class GroupVerdict:
    """One group: its logs by the store's name, and the verdict.

    `conflict`: a sentence about logs that contradict each other, "" if there are none.
    """

    system: str
    logs: Mapping[str, GroupLog]
    verdict: RaftVerdict
    conflict: str = ""

    @property
    def any_log(self) -> GroupLog:
        return next(iter(self.logs.values()))

    @property
    def title(self) -> str:
        return self.any_log.title

    @property
    def is_khepri(self) -> bool:
        return (self.system, self.any_log.group) == KHEPRI

    @property
    def is_proven(self) -> bool:
        return self.verdict.is_proven and not self.conflict

    @property
    def best(self) -> tuple[str, ...]:
        """Return the nodes whose logs are the latest."""
        return tuple(sorted({self.logs[name].node for name in self.verdict.latest}))


@frozen(kw_only=True)
class GroupVerdicts:
    """The verdicts about all groups.

    `problems`: sentences about the nodes' Ra systems that cannot be read.
    """

    rows: tuple[GroupVerdict, ...]
    problems: tuple[str, ...] = ()

    @property
    def is_proven(self) -> bool:
        return all(row.is_proven for row in self.rows) and not self.problems

    @property
    def khepri(self) -> GroupVerdict | None:
        return next((row for row in self.rows if row.is_khepri), None)

    @property
    def unproven(self) -> tuple[GroupVerdict, ...]:
        return tuple(row for row in self.rows if not row.is_proven)

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the nodes whose logs are needed for a proof, those that help most groups first."""
        wanted = Counter(
            node for row in self.unproven if row.verdict.needed for node in row.verdict.missing
        )
        return tuple(
            node for node, _ in sorted(wanted.items(), key=lambda item: (-item[1], item[0]))
        )

    @property
    def doubt(self) -> str:
        """Return the first reason why a group is not proven, "" if there is none."""
        if self.problems:
            return f"{self.problems[0]}."
        if not (doubts := self._doubts()):
            return ""
        said = doubts[0].replace("not proven: ", "", 1)
        others = len(doubts) - 1
        more = f" (and {others} other reason{'s' if others > 1 else ''})" if others else ""
        unproven = len(self.unproven)
        are = "is" if unproven == 1 else "are"
        return f"{unproven} of {_count(self.rows)} {are} not proven: {said}{more}."

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the table in sentences: problems, the best node, doubts, damaged logs."""
        if not self.rows:
            return self.problems
        return (*self.problems, *self._best_lines(), *self._doubts(), *self._damage_lines())

    def _best_lines(self) -> list[str]:
        proven = [row for row in self.rows if row.is_proven]
        if not proven:
            return []
        times = Counter(node for row in proven for node in row.best)
        best = max(sorted(times), key=lambda node: times[node])
        whole = [node for node in sorted(times) if times[node] == len(proven)]
        names = and_(whole) if len(whole) > 1 else best
        said = f"{names} {'are' if len(whole) > 1 else 'is'} best for"
        said += f" {times[best]} of {_count(self.rows)}"
        elsewhere = grouped((row.best, row.title) for row in proven if best not in row.best)
        rest = [
            f"; {_shortened(titles)} only on {and_(nodes)}" for nodes, titles in elsewhere.items()
        ]
        return [said + "".join(rest), f"assumed: {ASSUMED}"]

    def _doubts(self) -> list[str]:
        doubts = grouped((_unproven_reason(row), row.title) for row in self.unproven)
        return [f"{_shortened(titles)}: {why}" for why, titles in doubts.items()]

    def _damage_lines(self) -> list[str]:
        damaged = grouped(
            (f"{log.node}: {log.damaged}", row.title)
            for row in self.rows
            for log in row.logs.values()
            if log.damaged
        )
        return [f"{_shortened(titles)} on {why}" for why, titles in damaged.items()]

    def shrink_advice(self, members: Collection[str]) -> str:
        """Return the advice for queues without a majority here, "" if there are none."""
        by_node: dict[str, list[GroupVerdict]] = {}
        for row in self.rows:
            best = [node for node in row.best if node in members]
            if best and len(row.verdict.voters & {*members}) * 2 <= len(row.verdict.voters):
                by_node.setdefault(best[0], []).append(row)
        return "".join(
            f"; then {_shrink_command(node, rows)}" for node, rows in sorted(by_node.items())
        )

    def advice(self, lost: Collection[str]) -> str:
        """Return the advice for the groups that are not proven, "" if there are none.

        `lost`: nodes whose disks are lost.
        """
        if not self.unproven:
            return ""
        if self.problems:
            return "first find out why Ra's files cannot be read: see the problems above"
        missing = [node for node in self.missing if node not in lost]
        if missing:
            return collect_on(f"the hosts of {', '.join(missing)}")
        save = "save all these directories before any node starts"
        if forgotten := [row.title for row in self.unproven if not row.verdict.latest]:
            why = "RabbitMQ starts these queues empty, because none of their logs counts"
            return f"{save}. {why}: {_shortened(forgotten)}"
        forced = [row for row in self.unproven if row.verdict.latest and not row.conflict]
        if not forced or any(row.verdict.went_back or row.verdict.branches for row in forced):
            return f"{save}: a majority that lost entries continues without them"
        by_node: dict[str, list[GroupVerdict]] = {}
        alone = next((row.best[0] for row in forced if row.is_khepri), "")
        for row in forced:
            if not row.is_khepri:
                node = alone if alone in row.best else row.best[0]
                by_node.setdefault(node, []).append(row)
        steps = [_force_boot_command(row) for row in forced if row.is_khepri]
        # After one node is started alone, all others must join it with empty directories.
        elsewhere = {node: by_node.pop(node) for node in sorted(by_node) if alone not in ("", node)}
        steps += [_shrink_command(node, rows) for node, rows in sorted(by_node.items())]
        steps += [
            f"save the directory of {node}: its log is the latest of"
            f" {_shortened([row.title for row in rows])}, and {alone} continues without it"
            for node, rows in elsewhere.items()
        ]
        return "; then ".join(steps)


def judge_groups(
    stores: Mapping[str, Sequence[RaSystem]], *, is_defined: Callable[[GroupLog], bool]
) -> GroupVerdicts:
    """Return the verdicts about the groups in these stores.

    `stores`: the Ra systems, by the store's name.  `is_defined`: whether a log's queue is still
    defined; logs of other queues are left out.
    """
    groups: dict[tuple[str, str, str, str], dict[str, GroupLog]] = {}
    problems = []
    for name, systems in stores.items():
        for system in systems:
            if system.problem:
                problems.append(f"{name}: {system.problem}, so its logs are not known")
            for log in system.logs:
                if not log.queue or is_defined(log):
                    key = (system.system, log.vhost, log.queue or log.group, log.group)
                    known = groups.setdefault(key, {})
                    # A node that was renamed may have two logs; its former log does not count.
                    if name not in known or known[name].damaged:
                        known[name] = log
    rows = []
    for key in sorted(groups):
        logs, other = _of_one_queue(groups[key])
        verdict = judge([log.raft(name) for name, log in logs.items()], at_commit=False)
        conflict = _conflict(logs) or other
        rows.append(GroupVerdict(system=key[0], logs=logs, verdict=verdict, conflict=conflict))
    return GroupVerdicts(rows=tuple(rows), problems=tuple(problems))


def _of_one_queue(logs: Mapping[str, GroupLog]) -> tuple[Mapping[str, GroupLog], str]:
    """Return the logs, in which logs that began again are marked as damaged, and a doubt.

    The doubt is the reason why the logs may be of two queues, "" if all logs that count are of one.
    """
    first = [log for log in logs.values() if log.made and not log.damaged]
    since = min((log.made for log in first), default=0)
    later = [log for log in first if log.made - since > MOMENT_MS]
    if not later:
        return logs, ""
    oldest = {log.node for log in first if log not in later}
    known = {log.node for log in logs.values()}
    founders = next({*log.founders} for log in first if log.node in oldest)
    may_be_new = any(
        len({*one.founders} - (known - {log.node for log in later})) * 2 > len(one.founders)
        for one in later
    )
    if may_be_new or len(founders & oldest) * 2 <= len(founders):
        times = sorted({(_time(log.made), log.node) for log in first})
        said = and_([f"{node} {when}" for when, node in times])
        return logs, f"its logs were made at different times ({said})"
    anew = "was made at {}, later than the queue: its node had lost the log, and began an empty one"
    return {
        name: evolve(log, damaged=anew.format(_time(log.made))) if log in later else log
        for name, log in logs.items()
    }, ""


def _time(made: int) -> str:
    """Return a moment (milliseconds since 1970) as date and time in UTC, if it has such a form."""
    try:
        return f"{datetime.fromtimestamp(made / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(made)


def _conflict(logs: Mapping[str, GroupLog]) -> str:
    prints = {
        name: {(at, term): said for at, term, said in log.prints} for name, log in logs.items()
    }
    for one, other in combinations(prints, 2):
        if any(prints[one][at] != prints[other][at] for at in prints[one].keys() & prints[other]):
            return (
                f"{logs[one].node} and {logs[other].node} have different entries under one number"
            )
    return ""


def _unproven_reason(row: GroupVerdict) -> str:
    """Return the reason why a group is not proven, without the group's name."""
    verdict = row.verdict
    if row.conflict:
        return (
            f"not proven: {row.conflict}; these are two queues of one name, or a store was put back"
        )
    if shown := (*verdict.branches, *verdict.went_back):
        return f"not proven: {shown[0]}"
    if verdict.duplicates:
        return f"not proven: {and_(verdict.duplicates)} are of one node"
    missing = f"{verdict.needed} more of {and_(verdict.missing)}"
    if not verdict.latest and not verdict.missing:
        return "not proven: none of its logs counts; see the damaged logs below"
    if not verdict.latest:
        return f"not proven: none of its logs here counts; needed: {missing}"
    return f"not proven: {and_(row.best)} has the latest log here; needed: {missing}"


def _force_boot_command(row: GroupVerdict) -> str:
    """Return how to reduce the metadata's group to one node, and the entries that this loses."""
    node = row.best[0]
    return (
        f"start {node} alone; it waits five minutes for a majority; within this time, run:"
        f" rabbitmqctl -n {typed(node)} force_standalone_khepri_boot"
        f" ({_losses(node, [row])}; other nodes join it again with empty directories: save their"
        " directories first)"
    )


def _shrink_command(node: str, rows: Sequence[GroupVerdict]) -> str:
    """Return one command that reduces queues to one node, and the entries that this loses."""
    shrink = "rabbit_quorum_queue:force_shrink_member_to_current_member"
    names = [(_binary(row.any_log.vhost), _binary(row.any_log.queue)) for row in rows]
    code = f"{shrink}({names[0][0]}, {names[0][1]})."
    if names[1:]:
        listed = ", ".join(f"{{{vhost}, {queue}}}" for vhost, queue in names)
        code = f"[{shrink}(V, Q) || {{V, Q}} <- [{listed}]]."
    call = f"rabbitmqctl -n {typed(node)} eval {typed(code)}"
    since = "needs RabbitMQ 3.12 or later"
    return f"once {node} runs: {call} ({since}; {_losses(node, rows)})"


def _losses(node: str, rows: Sequence[GroupVerdict]) -> str:
    unsure = rows[0].verdict.uncertain
    unproven = [row for row in rows if not row.is_proven]
    gone = sorted({one for row in unproven for one in row.verdict.missing if one != node})
    given_up = (
        f"entries that {and_(gone)} confirmed and {node} lacks are lost"
        if gone
        else "no entry is lost"
    )
    if rows[1:]:
        return f"the last entries of {node}, confirmed or not, are kept; {given_up}"
    entries = (
        f"entries {unsure.start} to {unsure.stop - 1} of {node}, which may or may not have been"
        " confirmed, are kept; "
        if unsure
        else ""
    )
    return f"{entries}{given_up}"


def _binary(text: str) -> str:
    """Return any text as an Erlang binary."""
    plain = "".join(
        char if char in PLAIN or (char.isascii() and char.isalnum()) else f"\\x{{{ord(char):x}}}"
        for char in text
    )
    return f'<<"{plain}"/utf8>>'


def _count(rows: Sequence[GroupVerdict]) -> str:
    what = "queue" if all(row.any_log.queue for row in rows) else "Raft group"
    return f"{len(rows)} {what}{'s' if len(rows) > 1 else ''}"


def _shortened(titles: Sequence[str]) -> str:
    if len(titles) > SHOWN_MAX:
        return f"{', '.join(titles[:SHOWN_MAX])} and {len(titles) - SHOWN_MAX} others"
    return ", ".join(titles)
