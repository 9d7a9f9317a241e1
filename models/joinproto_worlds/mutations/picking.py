"""Mutations of `pick`, and of the log.

Source: recovery, verdicts 4 and 5; the duty to acknowledge only frames that all members of a view
have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from joinproto.join.answers import Answer, Evidence
from joinproto.join.view import View
from joinproto_worlds.mutations.mutation import Mutation

if TYPE_CHECKING:
    from joinproto.log.sequencer import Sequencer

PICK = "joinproto.pick.chain"


def _any_position(original: Callable[..., bool]) -> Callable[..., bool]:
    def covers(self: Evidence, answer: Answer) -> bool:
        return original(self, answer) or not answer.update_unfinished

    return covers


def _nobody(_original: object) -> Callable[..., frozenset[Any]]:
    return lambda *args, **more: frozenset()


PICKING = (
    # Any position counts, also of a view that was left behind.
    Mutation.of("picks-the-highest", "joinproto.join.answers", "Evidence.covers", _any_position),
    # Members of the newest view are not waited for.
    Mutation.of("picks-without-members", PICK, "_needed", _nobody),
    # Those that are not here have not gone on.
    Mutation.of("picks-without-electors", PICK, "_beyond", _nobody),
)
"""Rules of `pick`."""


def _by_majority(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def init(self: Sequencer, view: View, *args: Any) -> None:
        original(self, view, *args)
        self._enough = min(len(view.members), len(view.electors) // 2 + 1)

    return init


LOGGING = (
    # The sequencer does not wait for all members of the view.
    Mutation.of(
        "acknowledge-by-majority", "joinproto.log.sequencer", "Sequencer.__init__", _by_majority
    ),
)
"""Rules of the log."""
