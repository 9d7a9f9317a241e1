"""The verdict on event logs of brokers of hot standby: did the brokers keep their promises?

Each broker logs its roles, views, commits and confirmations; a commit names only the messages
that are durable and replicated.  Times are not compared, because generations order the events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from attrs import define, field, frozen

from joinproto.apps.standby.recording import ids_in
from joinproto.cli.validate.judge import JudgedClaim, LogVerdict
from joinproto.cli.validate.logs import ADVICE, ReadingStart, lines_in, refuse_incomplete, runs_in
from joinproto.codec.json_form import Count, Key
from joinproto.errors import UsageProblem
from joinproto.standby.broker import Role
from joinproto.standby.roles import SERVING, machine

FIRST_KINDS = ("role", "started")
MessageId = tuple[str, str]
"""The queue of a message, and its identity."""


@frozen(kw_only=True)
class StandbyVerdict(LogVerdict):
    """`joinproto validate LOG... --json`, for brokers of hot standby"""

    runs: Annotated[Count, "processes, one log each"]
    lines: Annotated[Count, "events in these logs"]
    brokers: Annotated[tuple[str, ...], "the brokers whose logs were read"]
    generations: Annotated[Count, "generations in which a broker served"]
    confirmed: Annotated[Count, "durable messages that were confirmed to their senders"]
    claims: Annotated[tuple[JudgedClaim, ...], Key("properties"), "every claim"]
    notes: Annotated[tuple[str, ...], "parts that were not judged, and why"]

    @property
    def counted(self) -> str:
        """Return the amount of input, in a sentence."""
        return (
            f"{self.runs} runs of the brokers {', '.join(self.brokers)}: {self.lines} events,"
            f" {self.generations} generations, {self.confirmed} durable messages confirmed"
        )


@frozen
class BrokerLog:
    """One process of one broker."""

    path: Path
    broker: str
    lines: tuple[dict[str, Any], ...]

    def of(self, kind: str) -> Iterator[dict[str, Any]]:
        return (line for line in self.lines if line["kind"] == kind)


@define
class BrokerLogs:
    """All logs together.  `served`: for each generation, the primary and its messages.

    `confirmed`: messages that were confirmed to publishers.  `taken`: messages that a consumer
    took.  `forgotten`: messages whose acknowledgement was confirmed.  Each with its generation.
    """

    logs: tuple[BrokerLog, ...]
    served: dict[int, dict[str, set[MessageId]]] = field(factory=dict)
    confirmed: dict[MessageId, int] = field(factory=dict)
    taken: dict[MessageId, int] = field(factory=dict)
    forgotten: dict[MessageId, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for log in self.logs:
            generation, commits = 0, dict[int, dict[str, Any]]()
            for line in log.lines:
                match line["kind"]:
                    case "serves":
                        generation = line["generation"]
                        primaries = self.served.setdefault(generation, {})
                        primaries[log.broker] = {*ids_in(line["has"])}
                    case "commit":
                        commits[line["token"]] = line
                        for message in ids_in(line["takes"]):
                            earlier = self.taken.get(message, generation)
                            self.taken[message] = min(generation, earlier)
                    case "confirm" if line["token"] in commits:
                        commit = commits.pop(line["token"])
                        self.confirmed |= dict.fromkeys(ids_in(commit["puts"]), generation)
                        self.forgotten |= dict.fromkeys(ids_in(commit["takes"]), generation)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of generations whose primary has no log; its messages are not known."""
        seen = {view["generation"] for log in self.logs for view in log.of("view")}
        last = max(seen | {*self.served}, default=0)
        for before, after in pairwise(sorted({0, last + 1, *self.served})):
            if after - before > 1:
                yield before + 1, after - 1

    def later(self, generation: int) -> Iterator[tuple[int, str, set[MessageId]]]:
        """Yield later primaries with their messages, up to the next generation without a log."""
        later = generation + 1
        while later in self.served:
            for broker, has in self.served[later].items():
                yield later, broker, has
            later += 1


# -- the claims ------------------------------------------------------------------------------


def one_primary(story: BrokerLogs) -> Iterator[str]:
    """Yield generations in which two brokers served (H2)."""
    for generation, primaries in sorted(story.served.items()):
        if len(primaries) > 1:
            yield f"generation {generation}: {' and '.join(sorted(primaries))} served"


def generations_rise(story: BrokerLogs) -> Iterator[str]:
    """Yield brokers that went back to an older view (H2)."""
    for broker in sorted({log.broker for log in story.logs}):
        views = [
            (view["generation"], view["number"])
            for log in story.logs
            if log.broker == broker
            for view in log.of("view")
        ]
        for before, after in pairwise(views):
            if after < before:
                yield f"{broker}: view {after[0]}.{after[1]} after {before[0]}.{before[1]}"


def views_agree(story: BrokerLogs) -> Iterator[str]:
    """Yield views for which two brokers have different members (H4)."""
    first: dict[tuple[int, int], tuple[str, list[str]]] = {}
    for log in story.logs:
        for view in log.of("view"):
            name = (view["generation"], view["number"])
            broker, members = first.setdefault(name, (log.broker, view["of"]))
            if members != view["of"]:
                differing = f"{broker} has {members}, {log.broker} has {view['of']}"
                yield f"view {name[0]}.{name[1]}: {differing}"


def roles_follow(story: BrokerLogs) -> Iterator[str]:
    """Yield changes of a role that the machine of roles does not allow (H1).

    Two changes at once are allowed, if the machine allows one after the other.
    """
    single = {
        (was, case.outcome)
        for arrow in machine().arrows
        for was in arrow.sources
        for case in arrow.table.cases
    }
    allowed = single | {(was, to) for was, via in single for again, to in single if via is again}
    for log in story.logs:
        now = Role.STOPPED
        for line in log.of("role"):
            was, role = Role(line["was"]), Role(line["role"])
            if was is not now or (was, role) not in allowed:
                yield f"{log.path.name}, line {line['n'] + 1}: {was.value} to {role.value}"
            now = role


def who_serves_was_promoted(story: BrokerLogs) -> Iterator[str]:
    """Yield runs that began to serve more often than they accepted a promotion (H3)."""
    serving = {role.value for role in SERVING}
    for log in story.logs:
        begun = [
            line
            for line in log.of("role")
            if line["role"] in serving and line["was"] not in serving
        ]
        accepted = [line for line in log.of("promote") if line["verdict"] == "accepted"]
        # A process that was killed between the two lines has one line more in `begun`.
        if len(begun) > len(accepted) + (log.lines[-1] is begun[-1] if begun else 0):
            yield f"{log.path.name}: served {len(begun)} times, promoted {len(accepted)} times"


def confirmed_is_kept(story: BrokerLogs) -> Iterator[str]:
    """Yield messages that a later primary lacked and that no consumer took before (H4)."""
    for message, generation in story.confirmed.items():
        queue, identity = message
        for later, broker, has in story.later(generation):
            if message not in has and story.taken.get(message, later) >= later:
                text = f"{identity} of {queue}, confirmed in {generation}"
                yield f"{text}: {broker} lacks it in {later}"
                break


def taken_stays_gone(story: BrokerLogs) -> Iterator[str]:
    """Yield messages that a later primary had after their acknowledgement was confirmed (LM4)."""
    for message, generation in story.forgotten.items():
        queue, identity = message
        for later, broker, has in story.later(generation):
            if message in has:
                text = f"{identity} of {queue}, taken in {generation}"
                yield f"{text}: {broker} has it in {later}"
                break


CLAIMS: Mapping[str, Callable[[BrokerLogs], Iterator[str]]] = {
    "one_primary_for_each_generation": one_primary,
    "generations_rise": generations_rise,
    "views_agree": views_agree,
    "roles_follow_the_machine": roles_follow,
    "who_serves_was_promoted": who_serves_was_promoted,
    "confirmed_is_kept": confirmed_is_kept,
    "taken_stays_gone": taken_stays_gone,
}


# -- the logs --------------------------------------------------------------------------------


def is_of_brokers(paths: Iterable[Path]) -> bool:
    """Return whether the first of these logs is the log of a broker."""
    try:
        with runs_in(paths)[0][0].open("rb") as stream:
            first = json.loads(stream.readline())
    except (UsageProblem, OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "broker" in first


def validate_brokers(paths: Iterable[Path]) -> StandbyVerdict:
    """Return the verdict on these logs; raises `UsageProblem` for files that are not logs."""
    logs, notes = _logs(paths)
    try:
        story = BrokerLogs(tuple(logs))
        claims = tuple(JudgedClaim(name, tuple(claim(story))) for name, claim in CLAIMS.items())
        notes += _notes(story)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageProblem(f"not the event logs of brokers: {error!r}", next=ADVICE) from error
    return StandbyVerdict(
        runs=len(logs),
        lines=sum(len(log.lines) for log in logs),
        brokers=tuple(sorted({log.broker for log in logs})),
        generations=len(story.served),
        confirmed=len(story.confirmed),
        claims=claims,
        notes=tuple(notes),
    )


def _logs(paths: Iterable[Path]) -> tuple[list[BrokerLog], list[str]]:
    """Return the logs, the earliest first, and notes about logs left out because a part is gone.

    The messages in a log that is left out are not known, like those of a broker without a log.
    """
    logs, notes = list[BrokerLog](), list[str]()
    until = ReadingStart.now()
    for parts in runs_in(paths):
        try:
            refuse_incomplete(parts)
        except UsageProblem as problem:
            notes.append(f"{problem.message}: the run is left out")
        else:
            if (log := _read(parts, until)) is not None:
                logs.append(log)
    if not logs:
        raise UsageProblem("; ".join(notes), next="give a log that is whole")
    return sorted(logs, key=lambda log: log.lines[0]["t"]), notes


def _read(parts: tuple[Path, ...], until: ReadingStart) -> BrokerLog | None:
    """Return the log in these files; None if its process began later."""
    path, lines = parts[0], tuple(lines_in(parts, until))
    if not lines and path.stat().st_mtime_ns > until.wall:
        return None
    if not lines or lines[0]["kind"] not in FIRST_KINDS:
        raise UsageProblem(f"{path}: does not begin with the start of a broker", next=ADVICE)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line.get("broker"), str) or not isinstance(line.get("t"), int):
            raise UsageProblem(f"{path}: line {number} is not a broker's event", next=ADVICE)
    return BrokerLog(path, lines[0]["broker"], lines)


def _notes(story: BrokerLogs) -> Iterator[str]:
    gaps = [f"{first} to {last}" if first < last else f"{first}" for first, last in story.gaps()]
    if gaps:
        generations = ", ".join(gaps)
        yield f"no log of serving brokers in {generations}: messages are not judged across them"
    if not story.confirmed:
        yield "no durable message was confirmed, so most claims were not put to the test"
