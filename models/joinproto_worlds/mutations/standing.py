"""Mutations of a member itself: its phases, its writes, and the peers that it believes.

Source: join protocol, 3.2, 3.3, 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from joinproto.join.fixpoint import settle
from joinproto.join.frames import FrameVerdict, in_order
from joinproto.join.ids import ViewId
from joinproto.join.messages import ReadsConfirmed
from joinproto.join.phases import Effect, Phase
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.updating import require_thawed
from joinproto.join.view import Kind, View
from joinproto.machine.machine import StateMachine
from joinproto_worlds.mutations.mutation import Mutation, Patch, with_arrows, without

JOIN = "joinproto.join"


def _lacking(case: str) -> Patch:
    """Return the patch that takes this case out of the table of phases."""

    def make(original: Callable[[], StateMachine[Phase]]) -> Callable[[], StateMachine[Phase]]:
        machine = with_arrows(original(), lambda arrow: without(arrow.table, case))
        return lambda: machine

    return Patch(f"{JOIN}.phases", "machine", make)


def _frozen_writes(original: Callable[..., FrameVerdict]) -> Callable[..., FrameVerdict]:
    def may_append(it: Known, view: ViewId, seq: int) -> FrameVerdict:
        answer, tip = original(it, view, seq), it.view
        return in_order(it, tip, seq) if answer is FrameVerdict.FROZEN and tip else answer

    return may_append


def _believes(m: StepContext, now: float, tip: View) -> None:
    m.reads = evolve(m.reads, covers=m.reads.called)
    m.act(ReadsConfirmed(m.reads.called))


def _unnoted(original: Callable[..., None]) -> Callable[..., None]:
    def register_free(m: StepContext, *args: Any) -> None:
        before = m.saw_it_run
        original(m, *args)
        m.saw_it_run = before

    return register_free


PHASES = (
    Mutation("active-before-all-are-ready", (_lacking("others are not ready"),)),
    Mutation("n-is-not-counted", (_lacking("fewer than N"),)),
    Mutation("goes-on-after-a-restart", (_lacking("goes on only through a new view"),)),
    Mutation(
        "frozen-goes-on",
        (
            _lacking("who answers freezes"),
            Patch(f"{JOIN}.frames", "may_append", _frozen_writes),
        ),
    ),
    # A member answers a read without asking others whether its view is current.
    Mutation.of("reads-unconfirmed", f"{JOIN}.reading", "_begin", lambda _: _believes),
    # A connected peer counts as in the view until it says otherwise, a round trip later.
    Mutation.of("heard-by-connection", f"{JOIN}.steps", "doubt", lambda _: lambda m, peer: None),
    # A member that learns from the register that its view has no successor does not note this.
    Mutation.of("register-unnoted", f"{JOIN}.steps", "register_free", _unnoted),
    Mutation("serves-unheard", (_lacking("hears no majority"),)),
    Mutation("ready-with-other-options", (_lacking("its options are not those of the view"),)),
)
"""Mutations of the table of phases, and of the conditions that its cases read."""


# -- its writes -------------------------------------------------------------------------------


def _neglect_dirt(m: StepContext, tip: View | None) -> None:
    # A clean store gets dirty when the RESTART is written to its disk (S2); leave this write out.
    if tip is not None and tip.kind is Kind.RESTART:
        m.persist = None


def _dirt_unwritten(original: Callable[..., None]) -> Callable[..., None]:
    def do(m: StepContext, action: Effect) -> None:
        original(m, action)
        if action is Effect.HOLD:
            _neglect_dirt(m, m.view)

    return do


def _restart_unwritten(original: Callable[..., None]) -> Callable[..., None]:
    def learn(m: StepContext, now: float, views: tuple[View, ...]) -> None:
        original(m, now, views)
        _neglect_dirt(m, views[-1])

    return learn


def _held_unwritten(original: Callable[..., None]) -> Callable[..., None]:
    def do(m: StepContext, action: Effect) -> None:
        before = m.persist
        original(m, action)
        if action is Effect.HOLD:
            m.persist = before

    return do


def _unmarked(_original: object) -> Callable[..., None]:
    def update_overwrites(m: StepContext, now: float) -> None:
        require_thawed(m)
        settle(m, now)

    return update_overwrites


def _marked_at_once(original: Callable[..., None]) -> Callable[..., None]:
    def start_update(m: StepContext, *args: Any, **more: Any) -> None:
        original(m, *args, **more)
        m.unfinished_update()

    return start_update


def _clean_by_learning(original: Callable[..., None]) -> Callable[..., None]:
    def learn(m: StepContext, now: float, views: tuple[View, ...]) -> None:
        parent, tip = views[0].parent, views[-1]
        was_ready = m.ready_in is not None and m.ready_in == parent
        knows = parent is not None and m.record.lineage.find(parent) is not None
        original(m, now, views)
        if not tip.is_open and was_ready and knows:
            m.write(evolve(m.record, position=tip.position))

    return learn


# -- the peers that it believes ---------------------------------------------------------------


def _any_known_view(original: Callable[..., FrameVerdict]) -> Callable[..., FrameVerdict]:
    def may_append(it: Known, view: ViewId, seq: int) -> FrameVerdict:
        tip = it.view
        is_known = tip is not None and it.record.lineage.number_of(view) is not None
        return original(it, tip.id if tip and is_known else view, seq)

    return may_append


WRITING = (
    Mutation(
        "dirty-not-written",
        (
            Patch(f"{JOIN}.fixpoint", "_do", _dirt_unwritten),
            Patch(f"{JOIN}.learning", "learn", _restart_unwritten),
        ),
    ),
    Mutation.of("held-not-persisted", f"{JOIN}.fixpoint", "_do", _held_unwritten),
    Mutation.of("update-in-place", f"{JOIN}.steps", "update_overwrites", _unmarked),
    Mutation.of(
        "unfit-before-the-first-byte", f"{JOIN}.updating", "_start_update", _marked_at_once
    ),
    Mutation.of("joiner-marked-clean", f"{JOIN}.learning", "learn", _clean_by_learning),
    Mutation.of("older-frame-accepted", f"{JOIN}.frames", "may_append", _any_known_view),
    Mutation.of(
        "copy-taken-in", f"{JOIN}.state", "Known.is_copy", lambda _: lambda it, seat: False
    ),
    Mutation.of(
        "replaced-not-noticed",
        f"{JOIN}.step_context",
        "StepContext.notice",
        lambda _: lambda m, seat: None,
    ),
    Mutation.of(
        "apart-taken-in",
        f"{JOIN}.admission",
        "newcomer",
        lambda original: lambda *args, **more: original(*args, **{**more, "in_reach": frozenset()}),
    ),
)
"""Mutations of the member's writes, and of the peers that it believes."""
