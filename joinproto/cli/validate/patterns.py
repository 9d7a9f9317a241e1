r"""Logs of other programs: which lines report which steps of a world, by patterns in a TOML file.

    [[step]]
    line = 'rabbit on node rabbit@(?P<peer>\w+) down'
    member = "{log}"
    action = "sees {peer} down"

`line` is searched for in each line; the other texts may use its named groups.  `{log}` is the name
of the log's file, without its suffix and up to an `@`.  `time` is a pattern with a group `time`, in
ISO 8601.  It orders the lines of several logs; lines of one log keep their own order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from attrs import define, field, frozen

from joinproto.check.follow import LoggedStep
from joinproto.codec.strict import DoesNotFit
from joinproto.codec.toml_file import read_settings
from joinproto.errors import UsageProblem

NEXT = "`joinproto validate --help` names docs/how-to/logs.md, which has a whole file"


@frozen(kw_only=True)
class StepPattern:
    """A pattern of lines, and the step that they report.

    `sender`, `content`: the sender and the content of the received message.
    """

    line: str
    member: str
    action: str
    sender: str | None = None
    content: str | None = None


@frozen(kw_only=True)
class PatternFile:
    """A file of patterns.  `names`: maps a member's name in the log to its name in the world."""

    step: tuple[StepPattern, ...]
    time: str | None = None
    names: Mapping[str, str] = field(factory=dict)


@frozen
class StepLine:
    """A line of a log that reports a step.  `number`: from 1."""

    log: Path
    number: int
    text: str
    step: LoggedStep
    kind: str
    at: datetime | None


@define
class Patterns:
    """The patterns of a file, compiled.  `members`: the members that have a log or a line."""

    file: PatternFile
    members: frozenset[str] = frozenset()
    lines: list[re.Pattern[str]] = field(init=False)
    times: re.Pattern[str] | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lines = [
            _compiled(one.line, f"step[{at}].line") for at, one in enumerate(self.file.step)
        ]
        if not self.lines:
            raise DoesNotFit("step", "it is empty", next="name at least one step")
        self.times = None if self.file.time is None else _compiled(self.file.time, "time")
        if self.times is not None and "time" not in self.times.groupindex:
            raise DoesNotFit("time", "it has no group `time`", next="write (?P<time>...)")
        for at, (one, line) in enumerate(zip(self.file.step, self.lines, strict=True)):
            for text in (one.member, one.action, one.sender, one.content):
                for name in re.findall(r"{(\w*)}", text or ""):
                    if name != "log" and name not in line.groupindex:
                        groups = ", ".join(["log", *line.groupindex])
                        raise DoesNotFit(
                            f"step[{at}]",
                            f"{{{name}}} is not a group of its line",
                            next=f"use one of {groups}",
                        )

    @classmethod
    def read(cls, path: Path) -> Patterns:
        """Return the patterns of a file; raises `UsageProblem` if it does not fit."""
        return read_settings(path, PatternFile, lambda file, _: cls(file), next=NEXT)

    def step_lines(
        self, logs: Sequence[Path], *, most: int | None = None
    ) -> tuple[list[StepLine], int]:
        """Return the lines that report a step, in order, and the number of all lines.

        Raises `UsageProblem` for unreadable logs, for times that give no order, and if more than
        `most` lines report a step.
        """
        found, count, has_zones = list[StepLine](), 0, dict[bool, str]()
        twice = [log for log, many in Counter(map(Path.resolve, logs)).items() if many > 1]
        if twice:
            raise UsageProblem(f"{twice[0]} is given twice", next="name each log once")
        for log in logs:
            time: datetime | None = None
            for number, text in enumerate(_lines(log), start=1):
                count += 1
                place = f"{log}:{number}"
                if (here := self._time(text, place)) is not None:
                    has_zones.setdefault(here.tzinfo is not None, place)
                    here = here if here.tzinfo is not None else here.replace(tzinfo=UTC)
                    # A log is in order, even if the clock was set back.
                    time = here if time is None else max(time, here)
                found += self._step_line(log, number, text, time)
                if most is not None and len(found) > most:
                    raise UsageProblem(
                        f"{place}: more than {most:,} lines report a step",
                        next="give a part of the logs, or judge all: joinproto validate",
                    )
        if len(logs) > 1:
            if len(has_zones) > 1:
                raise UsageProblem(
                    f"the time in {has_zones[True]} has a time zone, and that in"
                    f" {has_zones[False]} has none, so they have no order",
                    next="give logs that all have time zones, or that all have none",
                )
            if self.times is None or any(line.at is None for line in found):
                raise UsageProblem(
                    "several logs, and the patterns do not say when a line was written",
                    next="add `time` to the file of patterns, or give one log",
                )
            found.sort(key=lambda line: line.at or datetime.min.replace(tzinfo=UTC))
        self.members = frozenset(
            {line.step.member for line in found} | {self._name(_name_of(log)) for log in logs}
        )
        return found, count

    def is_logged(self, one: LoggedStep) -> bool:
        """Return whether these logs would have a line for this step of the world."""
        return one.member in self.members and any(
            _fits_template(pattern.action, one.action)
            and _fits_template(pattern.content, one.content)
            and self._may_name(pattern.member, one.member)
            and self._may_name(pattern.sender, one.sender)
            for pattern in self.file.step
        )

    def _may_name(self, template: str | None, name: str | None) -> bool:
        """Return whether a line can name this member by `template`."""
        names = self.file.names
        in_logs = [logged for logged, in_world in names.items() if in_world == name]
        in_logs += [name] if name is not None and name not in names else []
        return template is None or any(_fits_template(template, logged) for logged in in_logs)

    def _step_line(
        self, log: Path, number: int, text: str, at: datetime | None
    ) -> Iterator[StepLine]:
        for pattern, line in zip(self.file.step, self.lines, strict=True):
            if (found := line.search(text)) is not None:
                words = {"log": _name_of(log), **found.groupdict(default="")}
                action = _filled(pattern.action, words)
                step = LoggedStep(
                    self._name(_filled(pattern.member, words)),
                    action,
                    None if pattern.sender is None else self._name(_filled(pattern.sender, words)),
                    None if pattern.content is None else _filled(pattern.content, words),
                )
                yield StepLine(log, number, text, step, pattern.action, at)
                return

    def _name(self, name: str) -> str:
        return self.file.names.get(name, name)

    def _time(self, text: str, place: str) -> datetime | None:
        found = None if self.times is None else self.times.search(text)
        if found is None or found["time"] is None:
            return None
        try:
            return datetime.fromisoformat(found["time"])
        except ValueError as error:
            raise UsageProblem(
                f"{place}: {found['time']!r} is not a time: {error}",
                next="match with the group `time` a time in ISO 8601: 2026-11-27 17:21:09.123",
            ) from error


def _compiled(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, RecursionError) as error:
        raise DoesNotFit(
            where, f"{text!r} is not a pattern: {error}", next="write it as Python's re takes it"
        ) from None


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda found: words[found[1]], text)


def _fits_template(template: str | None, text: str | None) -> bool:
    """Return whether a text fits a template, in which a name in braces stands for any text."""
    if template is None:
        return True
    parts = re.split(r"{\w+}", template)
    return text is not None and re.fullmatch(".*".join(map(re.escape, parts)), text) is not None


def _name_of(log: Path) -> str:
    return log.stem.partition("@")[0]


def _lines(log: Path) -> Iterator[str]:
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            for at, line in enumerate(file):
                if at == 0 and ("\0" in line or line.startswith("\x1f\ufffd")):
                    raise UsageProblem(
                        f"{log}: is not text in UTF-8",
                        next="unpack it if it is compressed; convert it if it is in UTF-16",
                    )
                yield line.rstrip("\n")
    except OSError as error:
        raise UsageProblem(
            f"{log}: cannot be read: {error.strerror or error}", next="check the path"
        ) from error
