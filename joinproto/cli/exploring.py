"""Make the session of `joinproto explore` from a world, from runs of a check, or from logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from joinproto.check import catalogue
from joinproto.errors import UsageProblem
from joinproto.explore.graph import Json, key_of
from joinproto.explore.recorded import (
    LINES_MAX,
    Logs,
    RecordedLine,
    follow_logs,
    in_causal_order,
)
from joinproto.explore.session import OpenWorld, Session

if TYPE_CHECKING:
    from joinproto.cli.validate.logs import Run
    from joinproto.cli.validate.replay import ReplayedLine

WORLD_OF_NODES = "join"
"""The world that is walked alongside event logs of `joinproto node` without --world."""

TEXT_MAX = 160

STEP_LINES_MAX = 100_000
"""The most lines that may report a step in logs of another program: the run is held in memory."""


def session_of(
    targets: Sequence[str],
    options: Mapping[str, Any],
    *,
    world: str | None = None,
    patterns: Path | None = None,
) -> Session:
    """Return the session of a command line; raises `UsageProblem` and `ModelProblem`."""
    session = Session()
    paths = [Path(target) for target in targets]
    if patterns is not None:
        if world is None:
            raise UsageProblem(
                "--patterns without --world", next="name a model of the program with --world"
            )
        session.open(catalogue.load(world, options))
        session.logs = _logs_of_program(session, paths, patterns)
    elif all(path.suffix == ".json" for path in paths):
        _open_runs(session, paths, options, world)
    elif all(_is_event_log(path) for path in paths):
        session.open(catalogue.load(world or WORLD_OF_NODES, options))
        session.logs = _logs_of_nodes(paths)
    elif len(targets) > 1:
        raise UsageProblem(
            f"{len(targets)} targets, and they are neither runs (.json) nor event logs (.jsonl)",
            next="name one world; two versions are compared on the page",
        )
    else:
        session.open(catalogue.load(targets[0], options))
    return session


def _is_event_log(path: Path) -> bool:
    """Return whether `path` is an event log or a folder, and not the name of a world."""
    if path.suffix == ".jsonl":
        return True
    return path.is_dir() and not catalogue.ships(str(path))


# -- runs that a check wrote -------------------------------------------------------------------


def _open_runs(
    session: Session, paths: Sequence[Path], options: Mapping[str, Any], world: str | None
) -> None:
    if len(paths) > 2:
        raise UsageProblem(
            f"{len(paths)} runs are named, and at most two can be compared",
            next="name one run, or two runs to compare",
        )
    runs = [_read_run(path) for path in paths]
    worlds = [world or _world_of(path, run.world) for path, run in zip(paths, runs, strict=True)]
    session.open(catalogue.load(worlds[0], options))
    session.begin = runs[0].beginning_in(session.now)
    if len(runs) == 2:
        session.other = OpenWorld.of(catalogue.load(worlds[1], options))
        session.begin["other"] = runs[1].beginning_in(session.other)


def _world_of(path: Path, name: str) -> str:
    """Return `name`, if it is a world that ships; raises `UsageProblem` for another name.

    A run may come from another machine, so it must not decide which file is loaded.
    """
    if not catalogue.ships(name):
        raise UsageProblem(
            f"{path} is a run of {name!r}, which is not a shipped world",
            next="name its model: --world FILE.py",
        )
    return name


@frozen
class _WrittenRun:
    """A run in a file.  `initial`: the members' states at its beginning; None: not known."""

    world: str
    initial: Any
    keys: list[str]

    def beginning_in(self, opened: OpenWorld) -> Json:
        """Return the run's steps, and the number of the world's first state that it begins in."""
        with opened.loaded.at_work():
            return {"start": opened.graph.beginning(self.initial), "keys": self.keys}


def _read_run(path: Path) -> _WrittenRun:
    """Return the run in a file; raises `UsageProblem`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        steps = found["trace"]
        keys = [key_of(step["member"] or "", step["label"]) for step in steps]
        return _WrittenRun(str(found["world"]), found.get("initial"), keys)
    except OSError as error:
        raise UsageProblem(f"{path}: {error.strerror}", next="name a file that is there") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageProblem(
            f"{path} holds no run", next="joinproto check WORLD --trace run.json writes one"
        ) from error


# -- logs ----------------------------------------------------------------------------------


def _logs_of_program(session: Session, paths: Sequence[Path], patterns: Path) -> Logs:
    from joinproto.cli.validate.patterns import Patterns

    read = Patterns.read(patterns)
    found, _ = read.step_lines(paths, most=STEP_LINES_MAX)
    lines = [(line.step.member, line.text[:TEXT_MAX], line.step) for line in found]
    with session.now.loaded.at_work():
        return follow_logs(session, lines, read.is_logged)


def _logs_of_nodes(paths: Sequence[Path]) -> Logs:
    from joinproto.cli.validate.logs import read_runs
    from joinproto.cli.validate.replay import Assumed, replay

    lines: dict[str, list[RecordedLine]] = {}
    notes = []
    cut: set[str] = set()
    for run in read_runs(paths):
        own = lines.setdefault(run.member, [])

        def record(seen: ReplayedLine, own: list[RecordedLine] = own) -> None:
            line = _line(seen)
            if not line.text:
                return
            # The page shows at most this many lines of all logs, so it needs no more of this log.
            if len(own) == LINES_MAX:
                raise _EnoughError(seen.line["n"])
            own.append(line)

        try:
            mismatch = replay(run, record, Assumed())
        except _EnoughError as enough:
            if run.member not in cut:
                notes.append(
                    f"{run.path}: the first {enough.read:,} lines were read;"
                    " joinproto validate judges all lines."
                )
            cut.add(run.member)
            continue
        if mismatch is not None:
            note = f"{mismatch.field}: seen {mismatch.seen}, allowed {mismatch.allowed}"
            text = _text_at(run, mismatch.matching)
            own.append(RecordedLine(run.member, text, fits=False, note=note[:600]))
            notes.append(f"{mismatch.path}: the lines after the line that differs were not judged.")
    return Logs(list(lines), in_causal_order(lines, cut), " ".join(notes))


class _EnoughError(Exception):
    """The page would not show the rest of a log; `read` lines of the log were read."""

    def __init__(self, read: int) -> None:
        super().__init__()
        self.read = read


def _text_at(run: Run, number: int) -> str:
    """Return a line of a log in words; `number` counts from 0."""
    for at, line in enumerate(run.lines()):
        if at == number:
            return (_words(line) or str(line["kind"]))[:TEXT_MAX]
    return "the end"


def _line(seen: ReplayedLine) -> RecordedLine:
    """Return a line of a log, with the member's phase after it."""
    line, own = seen.line, seen.run.member
    sends: tuple[str, ...] = ()
    hears = sender = None
    if line["kind"] == "batch":
        sends = tuple(f"{own}>{to} {json.dumps(told)}" for to, told in line.get("sends") or ())
    elif line["kind"] == "receive":
        sender = line["peer"]
        hears = f"{sender}>{own} {json.dumps(line['message'])}"
    phase = str(seen.member.phase.value)
    text = _words(line)[:TEXT_MAX]
    return RecordedLine(own, text, True, phase, sends, hears, phase, sender)


def _words(line: Mapping[str, Any]) -> str:
    """Return a line of an event log in words; "" for a line about the host itself."""
    kind = line.get("kind", "start")
    match kind:
        case "receive":
            return f"hears {_name(line['message'])} from {line['peer']}"
        case "batch":
            sends = [f"says {_name(message)} to {to}" for to, message in line.get("sends") or ()]
            acts = [str(one[0] if isinstance(one, list) else one) for one in line.get("events", ())]
            return "; ".join([*acts, *sends]) or "requests no effect"
        case "peer_up" | "peer_down":
            return f"{line['peer']} {'is there' if kind == 'peer_up' else 'is gone'}"
        case "tick" | "done":
            return ""
        case _:
            return str(kind).replace("_", " ")


def _name(message: Any) -> str:
    """Return the name of a message: its first item, if it is a list."""
    return str(message[0]) if isinstance(message, list) and message else str(message)
