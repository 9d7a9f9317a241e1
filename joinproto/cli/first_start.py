"""The facts of a first start, from JSON or from a configuration, and a search of that start.

The command `joinproto discovery would-it-split` uses it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from attrs import evolve, field, frozen

from joinproto.cli.inputs import placing
from joinproto.codec.json_form import AtLeast, Count, filled
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.discovery import values
from joinproto.discovery.boot import Rules, rules_of
from joinproto.discovery.chosen import chosen, require_start
from joinproto.discovery.configuration import Configuration
from joinproto.discovery.first_start import STANDS_FOR, FirstStart, first_start
from joinproto.discovery.lint import LintInput
from joinproto.discovery.questions import Told
from joinproto.discovery.releases import release
from joinproto.discovery.rules import does
from joinproto.errors import UsageProblem

FIELDS = "joinproto discovery would-it-split --help   lists the fields"
NODES_MAX = 6
TRIES_MAX = 1000
TRIES_COUNTED = 10
"""If the facts give at most this many rounds, the search counts them; else any may be the last."""


@frozen(kw_only=True)
class Start:
    """The facts of a first start; a fact that is null follows from the release and the backend."""

    nodes: Annotated[tuple[str, ...], "nodes that start, blank, at any moments; at most six"]
    release: Annotated[str, "a release, such as 4.1.0 or 3.8.4; ours: our own rules"] = "head"
    backend: Annotated[
        Literal[
            "lists", "selects", "seed", "classic_config", "dns", "aws", "k8s", "consul", "etcd"
        ],
        "its name, or its kind. lists: it lists all nodes; selects: it names the oldest"
        " registered node; seed: every node knows the first of nodes",
    ] = "lists"
    answers: Annotated[
        Mapping[str, Told], "a node's name to the answer that it gets in place of the backend's"
    ] = field(factory=dict)
    cut: Annotated[
        tuple[tuple[str, ...], ...],
        "groups of nodes that hear only themselves, until the network heals",
    ] = ()
    tries: Annotated[
        int | None, AtLeast(0), "rounds after the first; null: as many as the release makes"
    ] = None
    gives_up: Annotated[bool | None, "false: no node ever gives up, with any tries"] = None
    fails: Annotated[bool, "the backend may answer with an error"] = False
    partial_lists: Annotated[bool, "a list may lack any one other node"] = False
    stale: Annotated[bool, "the record of a dead node is there (selects)"] = False
    lapses: Annotated[int, AtLeast(0), "how many records may lapse (selects)"] = 0
    wipes: Annotated[bool, "the first node may lose its disk once it runs"] = False
    registers_late: Annotated[
        bool | None, "a node looks before it registers (selects); null: as the release does"
    ] = None
    locks: Annotated[
        bool | None, "a node holds a lock from its look to its record; null: as the release does"
    ] = None
    expires: Annotated[bool, "that lock may expire"] = False
    expected: Annotated[
        int | None, AtLeast(1), "ours: how many members there will be; null: as many as nodes"
    ] = None


@frozen(kw_only=True)
class Split:
    """`discovery would-it-split --json`: one cluster, or the shortest run to two."""

    splits: Annotated[bool, "whether the start can end in two clusters"]
    joins: Annotated[bool | None, "whether it can end in one cluster of all nodes; null: not known"]
    run: Annotated[tuple[str, ...], "the steps of the shortest run to two clusters"]
    states: Annotated[Count, "states that were searched"]
    ended: Annotated[bool, "whether the search came to its end, or to a split"]
    facts: Annotated[tuple[str, ...], "decisions of the release and the backend, in words"] = ()


def start_of(text: bytes, release_name: str | None, nodes: int) -> Start:
    """Return the facts of a file with JSON or a configuration.

    `release_name`: the release, in place of the one that JSON names.  `nodes`: how many nodes
    start, if a configuration does not list them.
    """
    if not text.lstrip().startswith(b"{"):
        return _of_configuration(text, release_name or "head", nodes)
    with placing(next=FIELDS):
        start = fitted(Start, _with_short_name(parse(text)))
    return start if release_name is None else evolve(start, release=release_name)


def _with_short_name(facts: Any) -> Any:
    """Return the facts with the short name of the backend, if they name its module or plugin."""
    match facts:
        case {"backend": str(name)}:
            short = name.removeprefix("rabbitmq_").removeprefix("rabbit_")
            return {**facts, "backend": short.removeprefix("peer_discovery_")}
    return facts


def _of_configuration(text: bytes, release_name: str, count: int) -> Start:
    if release_name == "ours":
        raise UsageProblem("--release ours takes no rabbitmq.conf", next="give the facts as JSON")
    given = LintInput(release=release(release_name))
    require_start(text, given)
    about = chosen(text, given).about
    names = tuple(dict.fromkeys(about.below("classic_config.nodes").values()))
    if about.backend != values.CLASSIC or not names:
        names = tuple(f"n{number}" for number in range(1, count + 1))
    if about.backend not in values.ALIASES.values():
        raise UsageProblem(
            f"{about.backend} is not a backend that ships", next="give the facts as JSON"
        )
    is_endless = first_start(release(release_name), about.backend).kind == "seed"
    limit = None if is_endless else about.values.get("discovery_retry_limit")
    return fitted(
        Start,
        {
            "nodes": list(names),
            "release": release_name,
            "backend": about.backend.removeprefix("rabbit_peer_discovery_"),
            "answers": _answers_without_list(about, names),
            "tries": limit if isinstance(limit, int) else None,
            "gives_up": False if limit == "unlimited" else None,
        },
    )


def _answers_without_list(
    about: Configuration, names: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Return each node's answer if classic_config is chosen and lists no node; else {}.

    For another backend without settings, the command assumes that the settings are elsewhere.
    """
    if about.backend == values.CLASSIC and not about.below("classic_config.nodes"):
        adds = does(about.release, "ADDS_ITSELF")
        return {name: {"list": [name] if adds else []} for name in names}
    return {}


def searched(start: Start, seconds: float | None = None) -> Split:
    """Return the result of a search of this start, limited in seconds; raises `DoesNotFit`.

    If any try may be the last, runs in which no node gives up are searched first.  If one of them
    splits, then the split needs no node that starts late.
    """
    from joinproto_worlds.discovery.race import world_of

    begun = time.monotonic()
    facts, words = facts_of(start)

    def left() -> float | None:
        return None if seconds is None else max(0.0, seconds - (time.monotonic() - begun))

    found = _search(world_of(evolve(facts, gives_up=False)), left())
    if facts.gives_up and found.ended and not found.splits:
        found = _search(world_of(facts), left())
    if found.splits:
        joins = _search(world_of(facts, only_joins=True), left()).joins
        found = evolve(found, joins=joins)
    return evolve(found, facts=words)


def _search(world: Any, seconds: float | None) -> Split:
    from joinproto.check.plain import Bounds, Ends, check_small

    report = None
    if find_spec("numpy") is None:
        # Without the engine, a search within these bounds takes a minute or two at most.
        bounds = Bounds(1_000_000, 10_000_000, 1_000_000, 100_000_000)
        report = check_small(world, ends=Ends(seconds_max=seconds), bounds=bounds)
    if report is None:
        from joinproto.check.check import check

        report = check(world, seconds_max=seconds)
    results = {one.name: one.result for one in report.properties}
    splits = results.get("one cluster") == "violated"
    trace = report.trace if splits else None
    last = list(results.values())[-1]
    return Split(
        splits=splits,
        joins={"reached": True, "not-reached": False}.get(last),
        run=tuple(map(_step_as_text, trace.steps)) if trace else (),
        states=report.distinct,
        ended=splits or report.result != "incomplete",
    )


def _step_as_text(step: Any) -> str:
    member = f"{step.member}: " if step.member else ""
    rules = f" ({'; '.join(step.rules)})" if step.rules else ""
    return f"{member}{step.label}{rules}"


def require_names(start: Start) -> None:
    """Raise `DoesNotFit` for a bad list of nodes, too many tries, or a node that is not listed."""
    names = start.nodes
    if not 1 <= len(names) <= NODES_MAX:
        raise DoesNotFit(
            "nodes",
            f"nodes: expected 1 to {NODES_MAX} names, found {len(names)}",
            next="list fewer nodes" if names else "list the nodes that start",
        )
    for at, name in enumerate(names):
        if not name or name in names[:at] or name in ("links", "service"):
            raise DoesNotFit(
                f"nodes[{at}]",
                f"nodes[{at}]: {name!r} is empty, listed twice, or reserved (links, service)",
                next="give each node a name of its own",
            )
    if start.tries is not None and start.tries > TRIES_MAX:
        raise DoesNotFit(
            "tries",
            f"tries: expected at most {TRIES_MAX}, found {start.tries}",
            next="give fewer: more rounds only make runs longer",
        )
    for place, named in (("answers", start.answers), *(("cut", group) for group in start.cut)):
        unknown = sorted(set(named) - set(names))
        if unknown:
            raise DoesNotFit(
                place, f"{place}: {unknown[0]!r} is not in nodes", next="add it to nodes"
            )


def facts_of(start: Start) -> tuple[Any, tuple[str, ...]]:
    """Return the facts for the world, and the derived facts in words; raises `DoesNotFit`."""
    from joinproto_worlds.discovery.facts import Facts

    require_names(start)
    usual, names = derived(start), start.nodes
    tries = usual.tries if start.tries is None else start.tries
    if start.gives_up is False:
        tries = None
    is_counted = tries == 0 or (start.tries is not None and start.tries <= TRIES_COUNTED)
    named = None if start.release == "ours" else release(start.release)
    facts = filled(
        Facts,
        start,
        names=tuple(sorted(names)) if named is not None and does(named, "BY_NAME") else names,
        rules=Rules.OURS if named is None else rules_of(named),
        backend=start.backend if start.backend in STANDS_FOR else usual.kind,
        tries=tries if is_counted else None,
        gives_up=tries is not None and not is_counted,
        told=tuple((name, one.answer()) for name, one in sorted(start.answers.items())),
        groups=tuple(frozenset(group) for group in start.cut),
        registers_late=_given_or(start.registers_late, usual.registers_late),
        locks=_given_or(start.locks, usual.locks),
        is_global=start.locks is None and usual.locks and usual.is_global,
        expected=start.expected or 0,
    )
    words = usual.words
    if len(names) == 1:
        words += (f"only {names[0]} starts, and one node makes no second cluster",)
    if len(start.answers) == len(names) > 1 and all(
        one.error or (set(one.list or ()) <= {name} and not one.one)
        for name, one in start.answers.items()
    ):
        words += ("no node's answer lists another node",)
    return facts, words


def derived(start: Start) -> FirstStart:
    """Return the facts that follow from the release and the backend.

    With our own rules, only the kind of the backend follows.
    """
    if start.release == "ours":
        kind: Any = "selects" if start.backend in ("consul", "etcd") else "lists"
        return FirstStart(
            kind=kind, tries=None, registers_late=False, locks=False, is_global=False, words=()
        )
    try:
        return first_start(release(start.release), start.backend)
    except UsageProblem as error:
        raise DoesNotFit("release", f"release: {error.message}", next=error.next) from None


def _given_or(given: bool | None, usual: bool) -> bool:
    return usual if given is None else given
