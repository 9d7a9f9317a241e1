"""Stories: events of members, and their actions, as text that is read alongside a rule.

This follows etcd raft's datadriven tests.  A file is a sequence of paragraphs: lines with events,
`----`, and the results, up to the next empty line.  `#` begins a comment; the first comments name
the rules that are shown, as anchors of `docs/protocol.md`.  The verbs are the methods of `Story`;
`pytest tests/join/test_stories.py --rewrite` writes the results again.

A line of results has the time in seconds, a member, and its event or its host's action, in the
order in which a host acts: close, write, send, act.  After `deliver` all events and actions are
shown, line by line.  After other verbs only those that an operator would see are shown, and members
that do the same at the same time share a line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from joinproto.errors import MisuseError
from joinproto.join.config import Config, TotalFailure
from joinproto.join.messages import (
    Action,
    Closing,
    ReadRegister,
    Waiting,
)
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position
from tests.join import pictures
from tests.join.bus import Bus, Envelope, Host
from tests.join.story_words import Words, content

END = "----"


@frozen
class Paragraph:
    """A part of a story: the comments above, the events, and their results."""

    above: tuple[str, ...]
    events: tuple[str, ...]
    results: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            [*self.above, *self.events, *([END] if self.events else []), *self.results]
        )


def read(text: str) -> list[Paragraph]:
    """Return the paragraphs of a story; a paragraph without `----` has no results."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        end = lines.index(END) if END in lines else len(lines)
        above = tuple(line for line in lines[:end] if line.startswith("#"))
        events = tuple(line for line in lines[:end] if not line.startswith("#"))
        found.append(Paragraph(above, events, tuple(lines[end + 1 :])))
    return found


def with_present_results(path: Path) -> str:
    """Return the story of this file; its results are those of a new run."""
    story = Story()
    paragraphs = [
        evolve(one, results=tuple(story.tell(path.name, one.events)))
        for one in read(path.read_text())
    ]
    return "\n\n".join(map(str, paragraphs)) + "\n"


@define
class Line:
    """One line of results: time, members and text; without a time only members and text."""

    time: float | None
    names: list[str]
    text: str

    def __str__(self) -> str:
        when = "" if self.time is None else f"{self.time:6.2f} "
        return f"{when}{' '.join(sorted(self.names))}  {self.text}"


@define
class Story:
    """A bus, and the lines that were written about it so far."""

    bus: Bus = field(factory=Bus)
    _config: dict[str, str] = field(factory=dict)
    _all: bool = False  # whether lines that an operator would not see are shown, too
    _lines: list[Line] = field(factory=list)
    _words: Words = field(factory=Words)
    _seen: dict[str, tuple[Host, int, int]] = field(factory=dict)
    _disks: dict[str, tuple[StoreRecord, tuple[Position, ...]]] = field(factory=dict)
    _envelopes: list[Envelope] = field(factory=list)
    _last: dict[tuple[str, str], str] = field(factory=dict)

    def tell(self, file: str, events: tuple[str, ...]) -> list[str]:
        """Perform the lines of a story, and return their results."""
        self._lines = []
        for line in events:
            verb, *words = line.split()
            try:
                function = getattr(self, f"do_{verb}")
                function(*words)
            except (AttributeError, KeyError, TypeError, ValueError, MisuseError) as why:
                raise ValueError(f"{file}: {line!r} cannot be done: {why}") from why
            self._look()
        return list(map(str, self._lines))

    # -- verbs -----------------------------------------------------------------------------

    def do_config(self, *options: str) -> None:
        """`config wait_for=4`: later starts have these options."""
        self._config |= dict(one.split("=") for one in options)

    def do_start(self, *words: str) -> None:
        """`start a b options=other`: these processes start, each with the disk of its last run."""
        more = dict(word.split("=") for word in words if "=" in word)
        for name in words:
            if "=" not in name:
                self.bus.start(_config(name, self._config | more))
                self._look()

    def do_cluster(self, *words: str) -> None:
        """`cluster a b c`: these processes start and become active; shown in one line."""
        self.do_start(*words)
        self.do_wait()
        self._lines = []
        self.do_show()

    def do_crash(self, *names: str) -> None:
        """`crash a b`: these processes end without notice."""
        for name in names:
            self.bus.crash(name)

    def do_wipe(self, name: str) -> None:
        """`wipe a`: the disk of this member, which does not run, is removed."""
        self.bus.wipe(name)

    def do_disk(self, name: str, *picture: str) -> None:
        """`disk d F9:de C1`: d starts, and finds a store with this chain (`pictures`)."""
        chain = pictures.lineage(" ".join(picture), options=_config(name, self._config).digest)
        record = StoreRecord(store_id=f"{name}'", lineage=chain, held=chain.views[-1].id)
        self.bus.start(_config(name, self._config), record=record)

    def do_copy(self, one: str, other: str) -> None:
        """`copy a d`: d starts with a copy of a's disk."""
        self.bus.start(_config(other, self._config), record=self.bus.disks[one].record)

    def do_mark(self, *names: str) -> None:
        """`mark a`: the operator permits a restart from a's store; a does not run."""
        for name in names:
            disk = self.bus.disks[name]
            tip = disk.record.tip
            disk.record = evolve(disk.record, mark=None if tip is None else tip.id)

    def do_write(self, name: str) -> None:
        """`write a`: a client writes a frame at a, which orders the frames."""
        frame = self.bus[name].write()
        self._add(name, "takes no frame" if frame is None else f"writes {self._words.frame(frame)}")

    def do_ask(self, name: str) -> None:
        """`ask a`: show whether a may acknowledge the last frame on its disk, which it ordered."""
        frame = self.bus.disks[name].frames[-1]
        may = "may" if self.bus[name].is_acknowledged(frame) else "may not"
        self._add(name, f"{may} acknowledge {self._words.frame(frame)}")

    def do_leave(self, name: str) -> None:
        """`leave a`: a must leave the cluster."""
        self.bus.tell(name, lambda member: member.leave(self.bus.now))

    def do_shutdown(self, name: str) -> None:
        """`shutdown a`: a is told to stop the whole cluster."""
        self.bus.tell(name, lambda member: member.shutdown_cluster(self.bus.now))

    def do_partition(self, *sides: str) -> None:
        """`partition ab bc`: only members of one word hear each other; `partition`: all do."""
        self.bus.partition(*sides)

    def do_register(self, *names: str) -> None:
        """`register a`: a cannot reach the outside register; `register`: all can."""
        self.bus.off_register = set(names)

    def do_lose(self, kind: str = "") -> None:
        """`lose Ready`: messages of this kind that are under way are lost; `lose`: all are."""
        for envelope in list(self.bus.wire):
            if not kind or type(content(envelope)).__name__ == kind:
                self.bus.wire.remove(envelope)

    def do_deliver(self, count: str = "1") -> None:
        """`deliver 3`: the next messages come; if none is left, the next deadline comes."""
        self._all = True
        for _ in range(int(count)):
            if self.bus.wire:
                envelope = self.bus.wire[0]
                if envelope.to in self.bus.up():
                    self._add(envelope.to, f"hears {envelope.sender}: {self._words.text(envelope)}")
            self.bus.step()
            self._look()
        self._all = False

    def do_wait(self, seconds: str = "8") -> None:
        """`wait 5`: all messages come, and this many seconds pass from deadline to deadline."""
        until = self.bus.now + float(seconds)
        while self.bus.wire or ((due := self.bus.next_deadline()) is not None and due <= until):
            self.bus.step()
            self._look()
        self.bus.now = until

    def do_show(self) -> None:
        """`show`: the state of each member, and of its store."""
        same: dict[str, list[str]] = {}
        for name, host in sorted(self.bus.hosts.items()):
            disk = self.bus.disks.get(name)
            phase = host.member.phase.value if host.is_up else "down"
            held = "no disk" if disk is None else self._words.store(disk.record, disk.frames)
            same.setdefault(f"{phase}: {held}", []).append(name)
        self._lines += [Line(None, names, text) for text, names in same.items()]

    # -- results --------------------------------------------------------------------------

    def _look(self) -> None:
        """Add the news of each host: its disk, its messages, its events and actions."""
        envelopes = [one for one in self.bus.wire if all(one is not old for old in self._envelopes)]
        self._envelopes = list(self.bus.wire)
        self._words.meet(self.bus, envelopes)
        for name, host in sorted(self.bus.hosts.items()):
            old, acted, said_before = self._seen.get(name, (None, 0, 0))
            if old is not host:
                acted, said_before = 0, 0
            for event in host.seen[said_before:]:
                self._say(name, self._words.event(event), once=isinstance(event, Waiting))
            actions = host.told[acted:]
            self._acts(name, [one for one in actions if isinstance(one, Closing)])
            self._look_at_disk(name)
            if self._all:
                self._look_at_envelopes(name, envelopes)
            self._acts(name, [one for one in actions if not isinstance(one, Closing)])
            self._seen[name] = (host, len(host.told), len(host.seen))

    def _acts(self, name: str, actions: list[Action | Closing]) -> None:
        for action in actions:
            if self._all or not isinstance(action, ReadRegister):
                self._add(name, self._words.action(action))

    def _look_at_disk(self, name: str) -> None:
        disk = self.bus.disks.get(name)
        if disk is None:
            self._disks.pop(name, None)
            return
        record, frames = self._disks.get(name, (StoreRecord(store_id="-"), ()))
        self._disks[name] = (disk.record, disk.frames)
        if not self._all:
            return
        if changes := self._words.changes(record, disk.record):
            self._add(name, f"writes {changes}")
        if frames != disk.frames:
            self._add(name, f"has data up to {self._words.frame(disk.frames[-1:])}")

    def _look_at_envelopes(self, name: str, envelopes: list[Envelope]) -> None:
        to: dict[str, list[str]] = {}
        for envelope in envelopes:
            if envelope.sender == name:
                to.setdefault(self._words.text(envelope), []).append(envelope.to)
        for text, names in to.items():
            self._add(name, f"sends {' '.join(sorted(names))}: {text}")

    def _add(self, name: str, text: str) -> None:
        text = self._words.named(text)
        for line in [] if self._all else reversed(self._lines):
            if line.time != self.bus.now or name in line.names:
                break  # the actions of one member stay in their order
            if line.text == text:
                line.names.append(name)
                return
        self._lines.append(Line(self.bus.now, [name], text))

    def _say(self, name: str, text: str, *, once: bool) -> None:
        """Add an event; a member that repeats why it waits gets one line."""
        if not once:
            self._last.pop((name, "waits"), None)
        elif self._last.get((name, "waits")) == text:
            return
        else:
            self._last[name, "waits"] = text
        self._add(name, text)


def _config(name: str, options: dict[str, str]) -> Config:
    """Return a configuration: three electors, N is two, no heartbeats, unless `options` differ."""
    read: dict[str, Any] = {"electors": frozenset("abc"), "wait_for": 2, "heartbeat": 0}
    for key, value in options.items():
        match key:
            case "electors":
                read[key] = frozenset(value)
            case "wait_for" | "found_with":
                read[key] = int(value)
            case "heartbeat" | "patience":
                read[key] = float(value)
            case "outside" | "is_transient":
                read[key] = value == "yes"
            case "total_failure":
                read[key] = TotalFailure(value)
            case _:
                read[key] = value
    return Config(member=name, **read)
