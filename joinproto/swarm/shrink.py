"""Shrinking: from a failed run to a smaller one that breaks the same claim.

Actions are left out first, in halves, then in smaller parts (delta debugging); then members and
options.  As far as the tries show, the failure needs all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from attrs import define, evolve

from joinproto.join.config import fewest_founders
from joinproto.swarm.run import Outcome
from joinproto.swarm.scenario import Action, Scenario

SECONDS_MOST = 60.0

PLAIN: dict[str, Any] = {
    "ends_in_order": False,
    "apart": (),
    "late": 0.0,
    "twice": 0.0,
    "loss": 0.0,
    "drift": (),
    "on_disk": False,
    "as_bytes": False,
    "transients": "",
    "found_with": None,
    "automatic": True,
}
"""The plain values of options; a plain value is kept if the run still fails with it."""


def shrink(
    failed: Outcome, play: Callable[[Scenario], Outcome], *, seconds: float = SECONDS_MOST
) -> Outcome:
    """Return the smallest outcome found in about `seconds` that breaks the same claim."""
    return _Shrinking(failed, play, monotonic() + seconds).shrunk()


@define
class _Shrinking:
    best: Outcome
    play: Callable[[Scenario], Outcome]
    until: float

    def shrunk(self) -> Outcome:
        # Actions after the failure had no part in it.
        before = [action for action in self.best.scenario.actions if action.at <= self.best.at]
        self._fails(evolve(self.best.scenario, actions=tuple(before)))
        size = None
        while size != (size := self._size()) and monotonic() < self.until:
            self._fewer_actions()
            self._fewer_members()
            for name, plain in PLAIN.items():
                if getattr(self.best.scenario, name) != plain:
                    self._fails(evolve(self.best.scenario, **{name: plain}))
        return self.best

    def _size(self) -> tuple[int, int]:
        return len(self.best.scenario.actions), len(self.best.scenario.members)

    def _fails(self, scenario: Scenario) -> bool:
        """Return whether this scenario breaks the same claim; if so, keep it as the best."""
        if monotonic() > self.until:
            return False
        found = self.play(scenario)
        if found.claim != self.best.claim:
            return False
        self.best = found
        return True

    def _fewer_actions(self) -> None:
        size = max(1, len(self.best.scenario.actions) // 2)
        while size:
            at = 0
            while at < len(self.best.scenario.actions):
                actions = self.best.scenario.actions
                kept = actions[:at] + actions[at + size :]
                if not self._fails(evolve(self.best.scenario, actions=kept)):
                    at += size
                if monotonic() > self.until:
                    return
            size //= 2

    def _fewer_members(self) -> None:
        for name in self.best.scenario.members:
            for smaller in _without(self.best.scenario, name):
                if self._fails(smaller):
                    break


def _without(scenario: Scenario, name: str) -> Iterator[Scenario]:
    """Yield the scenario without that member, if enough members and an elector are left."""
    it = scenario
    if len(it.members) <= 2:
        return
    electors = it.electors.replace(name, "")
    actions = tuple(
        map(_dropping(name), (action for action in it.actions if action.member != name))
    )
    least = 1 if it.outside else len(electors) // 2 + 1
    drift = tuple(rate for one, rate in zip(it.members, it.drift, strict=False) if one != name)
    if electors:
        yield evolve(
            it,
            members=it.members.replace(name, ""),
            electors=electors,
            transients=it.transients.replace(name, ""),
            wait_for=min(max(least, it.wait_for), len(it.members) - 1),
            found_with=_fitting(it.found_with, len(electors)),
            drift=drift,
            actions=actions,
            apart=tuple(pair for pair in it.apart if name not in pair),
        )


def _fitting(found_with: int | None, electors: int) -> int | None:
    if found_with is None:
        return None
    return min(max(found_with, fewest_founders(electors)), electors)


def _dropping(name: str) -> Callable[[Action], Action]:
    return lambda action: evolve(action, others=action.others.replace(name, ""))
