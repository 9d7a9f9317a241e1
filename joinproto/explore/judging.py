"""The verdicts of a world's claims on one state, and on the step that led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import Factory, define

from joinproto.check.asking import ask, ask_of_view, asked_of
from joinproto.check.properties import ON_FAIR_RUNS, Implied, Parts, Property
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import step_view
from joinproto.check.view import View
from joinproto.errors import JoinprotoError, UsageProblem, did_you_mean
from joinproto.explore.graph import Graph, Json
from joinproto.explore.parts import parts_of, source_of

Via = tuple[int, int]
"""A step: the state in which it is taken, and its index among the steps there."""


@define
class ClaimJudge:
    """The claims of one world, asked in one state."""

    graph: Graph
    _of_steps: dict[str, StepClaim] = Factory(dict)
    _known: dict[tuple[str, Any], bool] = Factory(dict)

    def claims(self, at: int, via: Via | None = None) -> list[Json]:
        """Return the verdict of each claim of the world on this state."""
        return [self._one(item, at, via) for item in self.graph.world.properties]

    def holds(self, item: Property, at: int) -> bool:
        """Return whether a claim about states, or another claim's main part, is true in a state."""
        steps, state = self.graph.steps, self.graph.state(at)
        key = item.name, steps.shown(state)
        if key not in self._known:
            self._known[key] = ask_of_view(item, steps.view(state))
        return self._known[key]

    def item(self, name: Any) -> Property:
        """Return the claim of that name; raises `UsageProblem`."""
        claims = {item.name: item for item in self.graph.world.properties}
        if not isinstance(name, str) or name not in claims:
            raise UsageProblem(
                f"the world has no claim {name!r}",
                next=f"{did_you_mean(str(name), claims)}it has {', '.join(claims)}",
            )
        return claims[name]

    def _one(self, item: Property, at: int, via: Via | None) -> Json:
        found: Json = {"name": item.name, "kind": item.kind, "is": None, "says": ""}
        try:
            found["is"], found["says"] = self._verdict(item, at, via)
        except JoinprotoError as problem:
            found["says"] = f"cannot be asked here: {problem.message}"
        return found

    def _verdict(self, item: Property, at: int, via: Via | None) -> tuple[bool | None, str]:
        """Return the verdict on a claim here, and its words; None if it is not about states."""
        if item.kind in ("always step", "implements"):
            return self._of_step(item, at, via)
        view = self.graph.view(at)
        if item.kind == "always":
            if item.premise is not None and not ask(item, item.premise, view):
                return True, "holds: its premise is false here"
            is_so = self.holds(item, at)
            return is_so, "holds" if is_so else "broken"
        if item.kind == "no deadlock":
            if any(not move.is_fault for move, _ in self.graph.steps_out(at)):
                return True, "holds: a step is possible"
            is_so = self.holds(item, at)
            return is_so, "holds: all is done" if is_so else "broken: no step but faults"
        is_so = self.holds(item, at)
        words = "so here" if is_so else "not so here"
        if item.kind in ("leads to", "until") and item.premise is not None:
            begun = ask(item, item.premise, view)
            words = f"{'begins here' if begun else 'does not begin here'}; its goal is {words}"
        elif item.kind in ON_FAIR_RUNS or item.kind == "always possible":
            words = f"about runs: {words}"
        return is_so if item.kind == "sometimes" else None, words

    def _of_step(self, item: Property, at: int, via: Via | None) -> tuple[bool | None, str]:
        claim = self._of_steps.setdefault(item.name, StepClaim(item))
        after = self.graph.view(at)
        if via is None:
            begins = claim.begins(after) if at in self.graph.firsts else None
            return begins, "about steps: take a step"
        move, _ = self.graph.move(*via)
        is_so = claim.holds(self.graph.view(via[0]), step_view(move), after)
        return is_so, "the last step is as claimed" if is_so else "broken by the last step"

    # -- the parts of a claim ------------------------------------------------------------

    def explain(self, name: Any, at: int, via: Via | None) -> Json:
        """Return a claim's verdict here, with the parts of its expression."""
        item = self.item(name)
        found = self._one(item, at, via)
        found["about"] = item.meaning
        found["source"] = source_of(_function_of(item.holds))
        found["cases"] = list(self._cases(item, at, via))
        return found

    def _cases(self, item: Property, at: int, via: Via | None) -> Iterator[Json]:
        """Yield the claim's arguments, and the parts of its answer."""
        view = self.graph.view(at)
        asked = list(self._asked(item, view, via, at))
        wanted = item.kind == "sometimes"
        judged = [(names, shown, _truth(item.holds, shown)) for names, shown in asked]
        decisive = [one for one in judged if one[2] is wanted][:3] or judged[:1]
        for names, shown, is_so in decisive:
            holds, given = item.holds, shown
            if isinstance(holds, Parts):
                given = tuple(of(one) for of, one in zip(holds.of, shown, strict=True))
            tree = parts_of(_function_of(holds), *given)
            yield {"of": names, "is": is_so, "part": tree}
        for words, part in (("premise", item.premise), ("meanwhile", item.meanwhile)):
            if part is not None:
                yield {"of": words, "is": _truth(part, (view,)), "part": parts_of(part, view)}

    def _asked(
        self, item: Property, view: View, via: Via | None, at: int
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        if item.scope != "step":
            monitor = {"monitor": "the monitor", "beside": ", and the monitor"}.get(item.scope, "")
            for names, shown in asked_of(item, view):
                yield " and ".join(names) + monitor, shown
        elif via is not None and item.abstract is None:
            move, _ = self.graph.move(*via)
            yield "the last step", (self.graph.view(via[0]), step_view(move), view)


def _truth(call: Callable[..., Any], shown: tuple[Any, ...]) -> bool | None:
    try:
        return bool(call(*shown))
    except Exception:  # noqa: BLE001  reported where the claim is judged
        return None


def _function_of(holds: Callable[..., Any]) -> Callable[..., Any]:
    return holds.func if isinstance(holds, (Parts, Implied)) else holds
