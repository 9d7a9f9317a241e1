"""A shortest run with some steps in a given order: "a sends * to b", then "b crashes".

Each line is compared with a step's phrases, without regard to case; `*` stands for any text.  A
line that begins with `not:` excludes events between the lines around it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from attrs import Factory, define, frozen

from joinproto.errors import UsageProblem
from joinproto.explore.graph import Graph, Json

NODES_MAX = 200_000
"""The most search nodes that a search keeps."""


@frozen
class Pattern:
    """A pattern of steps.

    `lines`: the events, in order.  `excluded[i]`: events that must not happen after line i - 1 (for
    line 0: from the beginning) and before line i.
    """

    lines: tuple[str, ...]
    excluded: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Pattern:
        """Return the pattern of these lines.

        Raises `UsageProblem` if no line names an event, or if a line with `not:` comes last.
        """
        lines: list[str] = []
        excluded: list[list[str]] = [[]]
        for text in texts:
            line = " ".join(str(text).lower().split())
            if line.startswith("not:"):
                excluded[-1].append(line[4:].strip())
            elif line:
                lines.append(line)
                excluded.append([])
        if not lines:
            raise UsageProblem(
                "the pattern has no line without `not:`", next="add an event, such as: b crashes"
            )
        if excluded[-1]:
            raise UsageProblem(
                f"no event follows “not: {excluded[-1][0]}”",
                next="add the event before which it must not happen",
            )
        return cls(tuple(lines), tuple(map(tuple, excluded)))

    def after(self, matched: int, phrases: Sequence[str]) -> Iterator[int]:
        """Yield each number of lines that may be matched after a step."""
        fits = _any_fits(phrases, (self.lines[matched],))
        if fits:
            yield matched + 1
        # A later step may fit the same line, and no excluded event follow that step.
        is_open = not fits or self.excluded[matched + 1]
        if is_open and not _any_fits(phrases, self.excluded[matched]):
            yield matched


def _any_fits(phrases: Sequence[str], lines: Sequence[str]) -> bool:
    globs = [line.replace("[", "[[]").replace("?", "[?]") for line in lines]
    return any(fnmatchcase(phrase, glob) for glob in globs for phrase in phrases)


def phrases_of(step: Json) -> Iterator[str]:
    """Yield a step's phrases, in lower case."""
    member, message = step["member"], step["message"]
    names = step["members"]
    yield step["label"].lower()
    for name in names:
        yield f"{name}: {step['label']}".lower()
        yield f"{name} {step['label']}".lower()
    for name in step["crashed"]:
        yield f"{name} crashes".lower()
    if step["action"] == "start":
        yield f"{member} starts".lower()
    if message is not None and step["kind"] in ("deliver", "fault") and member:
        sender = message["from"] or "?"
        yield f"{member} receives {message['content']} from {sender}".lower()
        yield f"{member} receives {message['content']}".lower()
    for sent in step["sent"]:
        yield f"{sent['from']} sends {sent['content']} to {sent['to'] or 'all'}".lower()
        yield f"{sent['from']} sends {sent['content']}".lower()


@define
class PatternSearch:
    """A search for one pattern.

    A search node is a state, and the number of lines matched on the way there.
    """

    graph: Graph
    pattern: Pattern
    parent: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = Factory(dict)
    _queue: deque[tuple[int, int]] = Factory(deque)
    _found: tuple[int, int] | None = None

    def __attrs_post_init__(self) -> None:
        for at in self.graph.firsts:
            self.parent[at, 0] = None
            self._queue.append((at, 0))

    def search_for(self, seconds: float) -> Json | None:
        """Continue the search for at most `seconds`; return the run once it is found."""
        until = time.perf_counter() + seconds
        while self._found is None and self._queue and len(self.parent) < NODES_MAX:
            self._expand(self._queue.popleft())
            if time.perf_counter() > until:
                break
        return None if self._found is None else self.graph.run_to(self._found, self.parent)

    @property
    def whole(self) -> bool:
        """Whether all runs were searched, and none fits."""
        return self._found is None and not self._queue

    @property
    def stop_reason(self) -> str:
        """Return why the search cannot continue; "" if it can."""
        if self._found is None and self._queue and len(self.parent) >= NODES_MAX:
            return f"The search ends at {NODES_MAX:,} search nodes. Use a smaller world."
        return ""

    def _expand(self, node: tuple[int, int]) -> None:
        at, matched = node
        for index, (_, to) in enumerate(self.graph.steps_out(at)):
            phrases = list(phrases_of(self.graph.step_json(at, index)))
            for after in self.pattern.after(matched, phrases):
                if (to, after) in self.parent:
                    continue
                self.parent[to, after] = node, index
                if after == len(self.pattern.lines):
                    self._found = to, after
                    return
                self._queue.append((to, after))
