"""One explorer's session: questions in JSON, answers in JSON.  `joinproto.explore` lists the verbs.

session = Session()
session.answer("open", {"target": "join", "options": {"members": "3"}})
session.answer("state", {"id": 0})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from joinproto.check import catalogue
from joinproto.check.events import plain
from joinproto.check.loaded import Loaded
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property
from joinproto.check.world import World
from joinproto.errors import JoinprotoError, UsageProblem, did_you_mean
from joinproto.explore import asked
from joinproto.explore.arguments import keys_of, list_of, number_of
from joinproto.explore.comparing import compare, load_given, pair, two_runs
from joinproto.explore.disks import disks
from joinproto.explore.graph import Graph, Json
from joinproto.explore.injecting import inject_here
from joinproto.explore.judging import ClaimJudge, Via
from joinproto.explore.patterns import PatternSearch
from joinproto.explore.rows import why
from joinproto.explore.searching import PageSearch
from joinproto.explore.walking import StateTest, follow, walk
from joinproto.explore.wanted import Predicate, evaluated, predicate_of

if TYPE_CHECKING:
    from joinproto.explore.deep import Engine
    from joinproto.explore.recorded import Logs

VERSION = 1
"""The version of the protocol."""


@define
class OpenWorld:
    """A world that is explored: how it was loaded, and its graph so far."""

    loaded: Loaded
    graph: Graph
    judging: ClaimJudge
    matching: dict[str, PatternSearch] = field(factory=dict)
    _searching: PageSearch | None = None

    @property
    def searching(self) -> PageSearch:
        """Return the search on demand, which begins with the first call."""
        if self._searching is None:
            self._searching = PageSearch(self.graph)
        return self._searching

    @classmethod
    def of(cls, loaded: Loaded, world: World | None = None) -> OpenWorld:
        """Return a loaded world with its first states only; `world`: replaces the loaded one."""
        with loaded.at_work():
            graph = Graph(world or loaded.world)
        return cls(loaded, graph, ClaimJudge(graph))


@define
class Session:
    """The session of one page with one world; it keeps the states that were met, by number.

    `deep`: the engine in another process, for worlds that are too large for plain Python; None if
    it is not installed.  `other`: the world to compare with.  `stamp`: the time and size of the
    model's file when it was loaded.  `begin`: the run to begin with, as `start` and `keys` of
    `follow`; its `other` is the run to compare it with.  `logs`: the logs of a real run, if any.
    """

    opened: OpenWorld | None = None
    deep: Engine | None = None
    other: OpenWorld | None = None
    stamp: tuple[int, int] = (0, 0)
    begin: Json = field(factory=dict)
    logs: Logs | None = None
    columns: list[tuple[str, str, Predicate]] = field(factory=list)

    def answer(self, verb: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """Return the answer to one question; an error is the answer `{"error": ...}`."""
        try:
            call = self._verbs().get(verb)
            if call is None:
                near = did_you_mean(str(verb), self._verbs())
                raise UsageProblem(
                    f"there is no verb {verb!r}",
                    next=f"{near}use one of {', '.join(self._verbs())}",
                )
            given = dict(arguments or {})
            if self.opened is None or verb == "open":
                return call(given)
            with self.opened.loaded.at_work():
                return call(given)
        except JoinprotoError as problem:
            return {"error": error_json(problem)}

    def _verbs(self) -> dict[str, Callable[[Json], Json]]:
        return {
            "open": self._open,
            "world": lambda _: self.world_json(),
            "state": self._state,
            "why": self._why,
            "claim": self._claim,
            "walk": self._walk,
            "follow": self._follow,
            "columns": self._columns,
            "inject": partial(inject_here, self),
            "disks": partial(disks, self),
            "reload": self._reload,
            "compare": partial(compare, self),
            "pair": partial(pair, self),
            "runs": partial(two_runs, self),
            **({} if self.logs is None else {"logs": partial(self.logs.answer, self)}),
            **{name: partial(call, self) for name, call in asked.VERBS.items()},
        }

    @property
    def now(self) -> OpenWorld:
        """Return the open world; raises `UsageProblem` if there is none."""
        if self.opened is None:
            raise UsageProblem("no world is open", next='ask "open" first, with a target')
        return self.opened

    # -- a world ---------------------------------------------------------------------------

    def _open(self, given: Json) -> Json:
        return self.open(load_given(given.get("target"), given.get("options") or {}))

    def open(self, loaded: Loaded) -> Json:
        """Explore a world that is loaded; return the answer to the question `open`."""
        stamp = _stamp_of(loaded.file)
        self.replace(OpenWorld.of(loaded))
        self.stamp = stamp
        return self.world_json()

    def replace(self, opened: OpenWorld) -> None:
        """Replace the open world by a new version, or by the world with one more fault."""
        self.opened, self.other, self.columns = opened, None, []
        if self.deep is not None:
            self.deep.forget(opened)

    def _reload(self, _: Json) -> Json:
        """Load the model's file again if it changed: `changed`, and `world`, or the `problem`."""
        loaded = self.now.loaded
        stamp = _stamp_of(loaded.file)
        if stamp in ((0, 0), self.stamp):
            return {"changed": False}
        self.stamp = stamp
        try:
            self.replace(OpenWorld.of(catalogue.load(loaded.target, loaded.options)))
        except JoinprotoError as problem:
            return {"changed": True, "problem": error_json(problem)}
        return {"changed": True, "world": self.world_json()}

    def world_json(self) -> Json:
        """Return the answer to the question `world`: its name, members, claims and first states."""
        now = self.now
        world, graph = now.graph.world, now.graph
        return {
            "protocol": VERSION,
            "verbs": list(self._verbs()),
            "file": None if now.loaded.file is None else str(now.loaded.file),
            "logs": self.logs is not None,
            "begin": self.begin,
            "mistakes": mistakes_of(now.loaded),
            "name": world.name,
            "target": now.loaded.target,
            "words": now.loaded.words,
            "options": {name: str(value) for name, value in now.loaded.options.items()},
            "about": world.about,
            "expected": world.expected,
            "members": list(graph.names),
            "beside": list(world.beside),
            "monitor": world.monitor is not None,
            "network": type(world.network).__name__,
            "claims": [
                {"name": item.name, "kind": item.kind, "about": item.meaning}
                for item in world.properties
            ],
            "firsts": list(graph.firsts),
        }

    # -- a state -----------------------------------------------------------------------------

    def _state(self, given: Json) -> Json:
        graph, at = self.now.graph, given.get("id", 0)
        graph.state(at)
        via = self._via(given, at)
        graph.steps_out(at)  # first, so that an error in a step is raised before all else
        return {
            **graph.state_json(at),
            "claims": self.now.judging.claims(at, via),
            "columns": self._columns_of(at),
            "steps": graph.steps_json(at),
            "problems": [
                {**error_json(problem), "member": problem.member, "event": str(event)}
                for problem, event in graph.failing.get(at, ())
            ],
        }

    def _via(self, given: Json, at: int) -> Via | None:
        via = given.get("via")
        if via is None:
            return None
        if not isinstance(via, list) or len(via) != 2:
            raise UsageProblem(f"via {via!r}", next="give [state, index of the step]")
        before, index = via
        _, to = self.now.graph.move(before, index)
        if to != at:
            raise UsageProblem(
                f"the step {via!r} leads to state {to}, and not to state {at}",
                next=f"give a step that leads to state {at}",
            )
        return before, index

    def _why(self, given: Json) -> Json:
        at, index = given.get("id"), given.get("index")
        graph = self.now.graph
        graph.state(at)
        return {"tables": why(graph, at, index)}  # type: ignore[arg-type]

    def _claim(self, given: Json) -> Json:
        at = given.get("id", 0)
        self.now.graph.state(at)
        return self.now.judging.explain(given.get("name"), at, self._via(given, at))

    def _columns(self, given: Json) -> Json:
        names = self.now.graph.names
        found = []
        for one in list_of(given, "columns"):
            text = str(one.get("where", "")) if isinstance(one, dict) else str(one)
            name = str(one.get("name") or text) if isinstance(one, dict) else text
            found.append((name, text, predicate_of(text, names)))
        self.columns = found
        return {"columns": [{"name": name, "where": text} for name, text, _ in found]}

    def _columns_of(self, at: int) -> list[Json]:
        found = []
        for name, text, ask in self.columns:
            try:
                value = plain(evaluated(text, ask, self.now.graph.view(at)))
            except UsageProblem as problem:
                value = problem.message
            found.append({"name": name, "text": value})
        return found

    # -- runs --------------------------------------------------------------------------------

    def _walk(self, given: Json) -> Json:
        graph, at = self.now.graph, given.get("id", 0)
        graph.state(at)
        until = given.get("until")
        ends = None if until is None else self.end_of_walk(until, at)
        steps = number_of(given, "steps", 20 if until is None else 2_000)
        return walk(graph, at, steps=steps, seed=number_of(given, "seed"), ends=ends)

    def _follow(self, given: Json) -> Json:
        start, keys = number_of(given, "start"), keys_of(given)
        return follow(self.now.graph, start, keys, given.get("end"))

    # -- states that are asked for -------------------------------------------------------------

    def goal_of(self, given: Mapping[str, Any]) -> tuple[str, StateTest]:
        """Return the goal in words, and as a test of a state by its number.

        `where`: an expression.  `claim`: the name of a claim; `is`: the value that it must have
        there, by default true for a claim of the kind `sometimes` and false for other claims.
        """
        if given.get("where") is not None:
            text = given["where"]
            ask = predicate_of(text, self.now.graph.names)
            return text, lambda at: bool(evaluated(text, ask, self.now.graph.view(at)))
        item: Property = self.now.judging.item(given.get("claim"))
        wanted = bool(given.get("is", item.kind == "sometimes"))
        words = f"“{item.name}” is {'so' if wanted else 'broken'}"
        return words, lambda at: self.now.judging.holds(item, at) is wanted

    def end_of_walk(self, until: Any, at: int) -> StateTest:
        """Return the test that ends a walk: an expression is true, or a claim changes."""
        if not isinstance(until, dict):
            raise UsageProblem("until takes a claim or an expression", next='{"where": "..."}')
        if until.get("where") is not None:
            return self.goal_of(until)[1]
        judging = self.now.judging
        names = [until["claim"]] if until.get("claim") else []
        items = [judging.item(name) for name in names] or [
            one for one in self.now.graph.world.properties if one.scope != "step"
        ]
        before = [judging.holds(item, at) for item in items]
        return lambda to: [judging.holds(item, to) for item in items] != before


def _stamp_of(file: Path | None) -> tuple[int, int]:
    """Return a stamp that changes when the file does; zeros without a file."""
    try:
        held = file.stat() if file is not None else None
    except OSError:
        held = None
    return (0, 0) if held is None else (held.st_mtime_ns, held.st_size)


def mistakes_of(loaded: Loaded) -> dict[str, str]:
    """Return the mistakes with which the world can be built, and the error that each makes."""
    return {} if loaded.file is not None else catalogue.mistakes(catalogue.entry(loaded.target))


def error_json(problem: JoinprotoError) -> Json:
    """Return the error as JSON."""
    place = problem.place if isinstance(problem, ModelProblem) else ""
    return {"message": problem.message, "next": problem.next, "place": str(place or "")}
