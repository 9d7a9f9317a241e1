"""The steps of a world for a search in plain Python: as in `reference.py`, but with a cache."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import evolve

from joinproto.check.freeze import is_fixed
from joinproto.check.local import KnownAnswers
from joinproto.check.reference import Reference, State
from joinproto.check.steps import Sent
from joinproto.check.view import View
from joinproto.check.world import Together, World

if TYPE_CHECKING:
    from joinproto.check.local import LocalState, Outcome
    from joinproto.check.member import MemberCode


class Steps(Reference):
    """The steps of a world, with members' answers and views cached.

    `asked`: member to question to outcomes.  `tries`: how many questions the search put, including
    questions whose answers were cached.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.asked: dict[MemberCode, dict[Any, tuple[Outcome, ...]]] = {}
        self.tries = 0
        for code in self.codes.every:
            code.known, self.asked[code] = KnownAnswers(), {}
        self._keys: dict[State, Any] = {}
        self._views: dict[Any, View] = {}
        self._joint: dict[Any, list[Together]] = {}
        self._kept: dict[Any, frozenset[Sent]] = {}
        self.stamps = cache(self.stamps)  # type: ignore[method-assign]
        self.text_of = cache(self.text_of)  # type: ignore[method-assign]

    def _ask(self, code: MemberCode, local: LocalState, event: Hashable) -> tuple[Outcome, ...]:
        self.tries += 1
        asked, problems = self.asked[code], len(self.failing or ())
        found = asked.get((local, event))
        if found is None:
            found = super()._ask(code, local, event)
            if len(self.failing or ()) == problems:
                asked[local, event] = found
        return found

    def shown(self, state: State) -> Any:
        """Return the observations in a state, frozen, as `Reference.shown` does."""
        if state not in self._keys:
            self._keys[state] = super().shown(state)
        return self._keys[state]

    def view(self, state: State) -> View:
        """Return the view of a state; states with equal, unchangeable observations share a view."""
        shown = self.shown(state)
        found = self._views.get(shown)
        if found is None:
            found = super().view(state)
            if is_fixed(shown):
                self._views[shown] = found
        return found

    def _expired(self, state: State) -> State:
        if self.world.expiry is None:
            return state
        key = state.locals, state.messages
        if key not in self._kept:
            self._kept[key] = super()._expired(state).messages
        kept = self._kept[key]
        return state if kept == state.messages else evolve(state, messages=kept)

    def joint_steps(self, state: State) -> Iterable[Together]:
        shown = self.shown(state)
        if shown not in self._joint:
            self._joint[shown] = list(super().joint_steps(state))
            for step in self._joint[shown]:
                step.refuse_strangers(self.codes.names)
        return self._joint[shown]
