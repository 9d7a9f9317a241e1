"""Logs of a real run in the page: in causal order, with the first line that no member would write.

There are two kinds.  Logs of another program come with a world and patterns: each line that reports
a step is followed through the world (`joinproto/check/follow.py`), and the page shows one run that
fits.  Event logs of `joinproto node` are replayed by the member of this version; their lines are
merged so that no line comes before its cause.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, frozen

from joinproto.check.follow import Follower, LoggedStep, lines_of
from joinproto.errors import JoinprotoError
from joinproto.explore.graph import Json
from joinproto.explore.session import Session

LINES_MAX = 5_000
"""The most lines of all logs together that the page shows."""

STATES_MAX = 20_000
"""The most states in which the world may be at one line."""


@frozen
class RecordedLine:
    """A line of a log.  `fits`: whether a member would write it there; None if that is not known.

    `phase`: the member's phase after the line, if it is known.
    `sends`, `hears`: the messages that the line sends and receives, as keys that are the same on
    both sides.  `sender`: the sender of the received message.
    """

    node: str
    text: str
    fits: bool | None = None
    note: str = ""
    sends: tuple[str, ...] = ()
    hears: str | None = None
    phase: str = ""
    sender: str | None = None

    def json(self, where: str = "") -> Json:
        found = {"node": self.node, "text": self.text, "fits": self.fits, "note": self.note}
        return {**found, "where": where}


def in_causal_order(
    lines: Mapping[str, Sequence[RecordedLine]], cut: Collection[str] = ()
) -> list[RecordedLine]:
    """Return the lines of several logs as one list.

    Each log keeps its order, and a line that receives a message comes after the line that sends it,
    if some log has that line.  `cut`: nodes whose logs have more lines than these, so that a
    missing line may send any message.
    """
    waiting = {node: deque(found) for node, found in lines.items() if found}
    sent_by_some = {key for found in lines.values() for line in found for key in line.sends}
    sent: set[str] = set()

    def can_follow(line: RecordedLine) -> bool:
        return line.hears in sent or (line.hears not in sent_by_some and line.sender not in cut)

    merged: list[RecordedLine] = []
    while waiting:
        ready = [node for node, found in waiting.items() if can_follow(found[0])]
        # If each line waits for a line that never comes, the first log goes on: a log is cut, or
        # the log of a sender is wrong.
        node = ready[0] if ready else next(iter(waiting))
        while waiting[node] and (not ready or can_follow(waiting[node][0])):
            line = waiting[node].popleft()
            sent.update(line.sends)
            merged.append(line)
            if not ready:
                break
        if not waiting[node]:
            del waiting[node]
    return merged


@define
class Logs:
    """The lines of all logs, for the question `logs`.  `run`: a run of the world that fits them."""

    nodes: list[str]
    lines: list[RecordedLine]
    says: str = ""
    run: Json | None = None

    def answer(self, _session: Session, _given: Json, /) -> Json:
        shown = self.lines[:LINES_MAX]
        more = len(self.lines) - len(shown)
        says = f"{self.says} {more:,} more lines are not shown." if more else self.says
        phases: dict[str, str] = {}
        lines = []
        for line in shown:
            if line.phase:
                phases[line.node] = line.phase
            lines.append(line.json(_expression_of(phases) if line.phase else ""))
        return {"nodes": self.nodes, "lines": lines, "says": says.strip(), "run": self.run}


def _expression_of(phases: dict[str, str]) -> str:
    """Return an expression for states in which as many members are in each of these phases."""
    counts = Counter(phases.values())
    return " and ".join(f'count("phase", "{phase}") == {n}' for phase, n in counts.items())


# -- logs that a world is followed through ----------------------------------------------------


def follow_logs(
    session: Session,
    lines: Sequence[tuple[str, str, LoggedStep]],
    is_logged: Callable[[LoggedStep], bool],
) -> Logs:
    """Return the lines of logs, (node, text, step), each with whether it fits the open world.

    The run fits all lines up to the first line that does not fit.
    """
    graph = session.now.graph
    follower = Follower(graph.world, is_logged, states_max=STATES_MAX)
    found, says = [], ""
    taken: list[LoggedStep] = []
    for node, text, step in lines:
        fits: bool | None = None
        note = ""
        if not says:
            try:
                fits = follower.take(step)
            except JoinprotoError as problem:
                says = f"{problem.message}: the lines after it were not judged."
            if fits is False:
                options = follower.options(step.member)[:6]
                note = f"possible: {', '.join(options) or 'no step that a log reports'}"
                says = "The lines after it were not judged."
            elif fits:
                taken.append(step)
        found.append(RecordedLine(node, text, fits, note))
    run = run_of(session, taken, is_logged)
    nodes = list(dict.fromkeys(line.node for line in found))
    return Logs(nodes, found, says, run)


def run_of(
    session: Session, steps: Sequence[LoggedStep], is_logged: Callable[[LoggedStep], bool]
) -> Json | None:
    """Return a run of the world whose logged steps are as many first items of `steps` as fit."""
    graph = session.now.graph
    # (state, lines written so far); the lines of one joint step follow each other.
    start: list[tuple[int, int]] = [(at, 0) for at in graph.firsts]
    parent: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = dict.fromkeys(start)
    queue, best = list(start), start[0]
    for place in queue:
        at, done = place
        if done > best[1]:
            best = place
        if done == len(steps) or len(parent) > 50_000:
            break
        for index, (move, to) in enumerate(graph.steps_out(at)):
            ones = lines_of(move)
            logged = [one for one in ones if is_logged(one)]
            after = done
            if logged:
                wanted = list(steps[done : done + len(logged)])
                if not _match(wanted, logged):
                    continue
                after = done + len(wanted)
            key = to, after
            if key not in parent:
                parent[key] = place, index
                queue.append(key)
    return graph.run_to(best, parent)


def _match(wanted: list[LoggedStep], logged: list[LoggedStep]) -> bool:
    rest = list(logged)
    for step in wanted:
        one = next((other for other in rest if step.may_mean(other)), None)
        if one is None:
            return False
        rest.remove(one)
    return bool(wanted)
