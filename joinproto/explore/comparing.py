"""Two versions of a world, walked in step: the same steps in both, and where they differ.

Steps with the same words are the same.  The verdicts come from the search on demand, each with its
shortest run.  If a world is too large for the search, the findings so far are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from joinproto.check import catalogue
from joinproto.check.options import TypedText
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property
from joinproto.check.steps import line_of
from joinproto.errors import JoinprotoError, UsageProblem
from joinproto.explore.arguments import keys_of, number_of
from joinproto.explore.graph import Json, key_of
from joinproto.explore.walking import follow

if TYPE_CHECKING:
    from joinproto.explore.session import OpenWorld, Session

SECONDS = 4.0
"""How many seconds each of the two worlds is searched before they are compared."""

STATES_MAX = 20_000
"""The most states of each world that are searched for the shortest run to a difference."""


def load_given(target: Any, options: Any) -> Any:
    """Return the world with this target and options; raises `JoinprotoError`."""
    if not isinstance(target, str) or not isinstance(options, Mapping):
        raise UsageProblem("a world has a target and options", next='{"target": "join"}')
    if not all(isinstance(text, str) for text in options.values()):
        raise UsageProblem(f"options {options!r}", next='write each as text: {"members": "3"}')
    return catalogue.load(target, {name: TypedText(text) for name, text in options.items()})


def compare(session: Session, given: Json) -> Json:
    """Compare this world with another version of it; `pair` then walks through both."""
    now = session.now
    target = given.get("target") or now.loaded.target
    other = type(now).of(load_given(target, given.get("options") or {}))
    session.other = other
    for one in (now, other):
        with one.loaded.at_work():
            one.searching.search_for(SECONDS)
    parting, left_out = _parting(now, other)
    first, second = _verdicts(now), _verdicts(other)
    claims = []
    no_such: tuple[str, Json | None] = "is not claimed", None
    for name in dict.fromkeys([*first, *second]):
        verdict, run = first.get(name, no_such)
        other_verdict, other_run = second.get(name, no_such)
        runs = {"first_run": run, "second_run": other_run}
        claims.append({"name": name, "first": verdict, "second": other_verdict, **runs})
    same = parting is None and all(one["first"] == one["second"] for one in claims)
    return {
        "same": same,
        "words": [now.loaded.words, other.loaded.words],
        "states": [len(now.searching.order), len(other.searching.order)],
        "whole": now.searching.whole and other.searching.whole,
        "claims": claims,
        "parting": parting,
        "left_out": left_out,
    }


def _parting(now: OpenWorld, other: OpenWorld) -> tuple[Json | None, list[str]]:
    """Return the shortest run after which the two worlds differ, by the keys of its steps.

    `only`: for each world, the steps that the other does not have there, with their changes, since
    steps with the same words may lead to different states.
    """
    from joinproto.check.diff import difference

    try:
        found = difference(now.graph.world, other.graph.world, states_max=STATES_MAX)
    except ModelProblem as problem:
        return _first_difference(now, other), [problem.message]
    if found.parting is None:
        return None, list(found.left_out)
    steps = found.parting.steps
    keys = [key_of(step.member or "", step.label) for step in steps]
    only = [
        [{"step": one.step, "changes": list(one.changes)} for one in side]
        for side in found.parting.only
    ]
    # A world may have several first states: the run begins where the two were compared.
    start = now.graph.beginning(found.parting.initial)
    run = {
        "start": start,
        "keys": keys,
        "steps": [line_of(step.member, step.label) for step in steps],
        "only": only,
    }
    return run, list(found.left_out)


def _first_difference(now: OpenWorld, other: OpenWorld) -> Json | None:
    """Return the shortest searched run after which the two worlds have steps with other words."""
    from collections import deque

    begins = [(now.graph.firsts[0], other.graph.firsts[0])]
    parent: dict[tuple[int, int], tuple[tuple[int, int], Json] | None] = {begins[0]: None}
    queue = deque(begins)
    while queue and len(parent) < STATES_MAX // 10:
        pair = queue.popleft()
        steps = [now.graph.steps_json(pair[0]), other.graph.steps_json(pair[1])]
        keys = [{step["key"]: step for step in found} for found in steps]
        if keys[0].keys() != keys[1].keys():
            run: list[Json] = []
            while (before := parent[pair]) is not None:
                pair, step = before
                run.insert(0, step)
            lines = [line_of(step["member"], step["label"]) for step in run]
            return {"start": 0, "keys": [step["key"] for step in run], "steps": lines, "only": []}
        for key, step in keys[0].items():
            after = step["to"], keys[1][key]["to"]
            if after not in parent:
                parent[after] = pair, step
                queue.append(after)
    return None


def _verdicts(one: OpenWorld) -> dict[str, tuple[str, Json | None]]:
    """Return the search's verdict on each claim, and the keys of a shortest run that shows it."""
    found = {}
    with one.loaded.at_work():
        for item in one.graph.world.properties:
            found[item.name] = _verdict(one, item)
    return found


def _verdict(one: OpenWorld, item: Property) -> tuple[str, Json | None]:
    searching = one.searching
    if item.kind not in ("always", "sometimes"):
        return f"{item.kind}: about runs, see joinproto check", None
    wanted = item.kind == "sometimes"
    try:
        at = searching.nearest(
            f"verdict {item.name}", lambda to: one.judging.holds(item, to) is wanted, 2.0
        )
    except JoinprotoError as problem:
        return f"cannot be asked: {problem.message}", None
    if at is None:
        is_sure = searching.whole
        words = "not reached" if wanted else "holds"
        return words if is_sure else f"{words} so far", None
    way = searching.way(at)
    run = {"start": way["start"], "keys": [step["key"] for step in way["steps"]]}
    return ("reached" if wanted else "violated"), run


def pair(session: Session, given: Json) -> Json:
    """Return both worlds after the same steps, and the steps that only one of them has there.

    `other`: the keys of the other world's steps, if these differ.
    """
    if session.other is None:
        raise UsageProblem("no second world is open", next='ask "compare" first')
    start, keys = number_of(given, "start"), keys_of(given)
    their_keys = keys_of({"keys": given["other"]}) if "other" in given else keys
    sides, steps, lines = [], [], []
    for one, wanted in ((session.now, keys), (session.other, their_keys)):
        with one.loaded.at_work():
            run = follow(one.graph, start, wanted)
            state = one.graph.state_json(run["ids"][-1])
            claims = _claims_at(one, run, len(run["steps"]))
            before = one.graph.state_json(run["ids"][-2]) if run["steps"] else None
            sides.append(
                {"fits": run["fits"], "state": {**state, "claims": claims}, "before": before}
            )
            at_end = run["fits"] == len(wanted)
            steps.append(one.graph.steps_json(run["ids"][-1]) if at_end else [])
            lines.append([line_of(step["member"], step["label"]) for step in run["steps"]])
    known = [{step["key"] for step in found} for found in steps]
    return {
        "sides": sides,
        "steps": max(lines, key=len),
        "both": [step for step in steps[0] if step["key"] in known[1]],
        "only_first": [step for step in steps[0] if step["key"] not in known[1]],
        "only_second": [step for step in steps[1] if step["key"] not in known[0]],
    }


def _claims_at(one: OpenWorld, run: Json, place: int) -> list[Json]:
    """Return each claim's verdict after this many steps of a run."""
    ids = run["ids"]
    via = (ids[place - 1], run["steps"][place - 1]["index"]) if place else None
    return one.judging.claims(ids[place], via)


def two_runs(session: Session, _: Json) -> Json:
    """Return two runs side by side, the number of equal first steps, and the claims.

    `claims`: the claims of both worlds, by name and kind.  `says` of a run: a list for each number
    of steps, from 0 on, with the verdict of each of these claims there: `true`, `false`, or null if
    there is no verdict or the run's world does not have the claim.
    """
    if session.other is None or "other" not in session.begin:
        raise UsageProblem(
            "there are not two runs", next="joinproto explore FIRST.json SECOND.json opens two"
        )
    worlds = session.now, session.other
    names = list(dict.fromkeys(item.name for one in worlds for item in one.graph.world.properties))
    found = []
    for one, begin in zip(worlds, (session.begin, session.begin["other"]), strict=True):
        keys = begin["keys"]
        with one.loaded.at_work():
            run = follow(one.graph, begin["start"], keys)
            says = []
            for place in range(len(run["ids"])):
                here = {claim["name"]: claim["is"] for claim in _claims_at(one, run, place)}
                says.append([here.get(name) for name in names])
        steps = [
            {"key": step["key"], "text": line_of(step["member"], step["label"])}
            for step in run["steps"]
        ]
        found.append({"steps": steps, "fits": run["fits"], "of": len(keys), "says": says})
    both = zip(found[0]["steps"], found[1]["steps"], strict=False)
    common = 0
    for first, second in both:
        if first["key"] != second["key"]:
            break
        common += 1
    kinds = {item.name: item.kind for one in worlds for item in one.graph.world.properties}
    claims = [{"name": name, "kind": kinds[name]} for name in names]
    return {"runs": found, "common": common, "claims": claims}
