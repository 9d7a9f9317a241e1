"""Mutations of `pick`, and of the log.

Source: recovery, verdicts 4 and 5; duty 11 of a host, to acknowledge only frames that all members
of a view have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from joinproto.join.answers import Answer, Evidence
from joinproto.join.view import View
from joinproto_worlds.mutations.mutation import Mutation, around, instead

if TYPE_CHECKING:
    from joinproto.log.sequencer import Sequencer

PICK = "joinproto.pick.chain"


@around
def _any_position(original: Callable[..., bool], self: Evidence, answer: Answer) -> bool:
    return original(self, answer) or not answer.update_unfinished


_nobody = instead(lambda *args, **more: frozenset())


PICKING = (
    # Any position counts, also one in a view that the chain has left behind.
    Mutation.of("picks-the-highest", "joinproto.join.answers", "Evidence.covers", _any_position),
    # Members of the newest view are not waited for.
    Mutation.of("picks-without-members", PICK, "_needed_seats", _nobody),
    # Electors whose stores are missing are taken not to have gone on.
    Mutation.of("picks-without-electors", PICK, "_seats_beyond", _nobody),
)
"""Mutations of `pick`."""


@around
def _by_majority(original: Callable[..., None], self: Sequencer, view: View, *args: Any) -> None:
    original(self, view, *args)
    self._enough = min(len(view.members), len(view.electors) // 2 + 1)


LOGGING = (
    # The sequencer does not wait for all members of the view.
    Mutation.of(
        "acknowledge-by-majority", "joinproto.log.sequencer", "Sequencer.__init__", _by_majority
    ),
)
"""Mutations of the log."""
