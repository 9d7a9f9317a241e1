"""Explains a step of the code by steps of the relation.

In one step of the code a member may learn a view, become ready in it, and serve.  So a step of the
code is accepted if steps of the relation, each with all its guards, lead from the picture before to
exactly the picture after.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import define, field

from joinproto.prove.link.mapping import Picture, RefinementMapping
from joinproto.prove.logic import Var
from joinproto.prove.structure import Element, Structure

STEPS_MAX = 9
"""The most steps of the relation that explain one step of the code."""


Explained: TypeAlias = tuple[tuple[str, tuple[tuple[Var, Element], ...]], ...]
"""The names of the relation's steps, with their parameters."""


@define
class Explainer:
    """Explains steps, and caches the answers, because most steps of a world look alike."""

    mapping: RefinementMapping
    known: dict[tuple[Picture, Picture], Explained | None] = field(factory=dict)

    def explain(self, before: Picture, after: Picture) -> Explained | None:
        """Return the relation's steps that make this step, or None if there are none."""
        key = (before, after)
        if key not in self.known:
            self.known[key] = self._search(before, after)
        return self.known[key]

    def _search(self, before: Picture, after: Picture) -> Explained | None:
        if before == after:
            return ()
        now, goal = self.mapping.structures(before, after)
        tried: set[Picture] = set()
        return self._towards(now, goal, tried, ())

    def _towards(
        self,
        now: Structure,
        goal: Structure,
        tried: set[Picture],
        taken: Explained,
    ) -> Explained | None:
        layer = self.mapping.layer
        here = tuple(now.rows[relation] for relation in layer.changing)
        if all(now.rows[one] == goal.rows[one] for one in layer.changing):
            return taken
        if here in tried or len(taken) == STEPS_MAX:
            return None
        tried.add(here)
        for name, env in self.mapping.candidates(now, goal):
            step = layer.step(name)
            if not now.allows(step, env):
                continue
            found = self._towards(
                now.after(step, env), goal, tried, (*taken, (name, tuple(env.items())))
            )
            if found is not None:
                return found
        return None
