"""The built-in manager: promotions in turn, written views, and the end of old primaries' service.

Each broker has a manager.  All managers read the chain of views (`chain.py`) in the same order.  A
manager submits the views that it wants to append, and reads from the chain which of them were
appended.

Source: hot standby, H2 to H4, H8, H10.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.machine.values import evolve
from joinproto.standby.chain import follows, heard, is_proven, may_promote, promoted, turn
from joinproto.standby.events import Answer, Promote
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import View
from joinproto.standby.peers import PeerReports
from joinproto.standby.tables import Verdict

TURN_SECONDS = 0.5
"""The pause between the turns of two brokers, so that they do not ask at the same moment."""


@frozen(kw_only=True)
class Managing:
    """The state of a manager.  `chain`: the last view.

    `asked`, `writing`: a promotion of this broker, and a view of this primary, that were submitted
    and are not decided yet.  `closed_at`: the time since which no view can be written; `unserved`:
    the time since which no broker serves, and the last view at that time.  Times are in seconds.
    """

    chain: View = View()
    asked: View | None = None
    writing: View | None = None
    closed_at: float | None = None
    unserved: tuple[float, View] | None = None

    def wants(self, view: View) -> bool:
        """Return whether this view must be submitted again if it is lost."""
        return view in (self.asked, self.writing)


@frozen(kw_only=True)
class Now:
    """The present time and the state of the chain.  `at`: the time in seconds.

    `is_open`: views can be written, and all written views are known here.  `there`: the brokers
    that take part.  `silence`: after how many seconds an unheard broker counts as gone.
    """

    at: float
    is_open: bool
    there: frozenset[str]
    silence: float


class Due(Enum):
    """The actions that are due."""

    NOTHING = "nothing"
    TURN = "serve no more"
    ASK = "ask the chain for a promotion"
    WRITTEN = "the view is written"
    PROMOTED = "the promotion is in the chain"
    CAME_LATE = "another view was first"


def appended(state: Managing, view: View) -> tuple[Managing, bool]:
    """Return the state after the next submitted view, and whether the chain has that view."""
    fits = follows(state.chain, view)
    if fits:
        state = evolve(state, chain=view)
    # A view that was submitted twice is in the chain already when its copy comes.
    return state, fits or view == state.chain


def decided(state: Managing, view: View, *, fits: bool) -> tuple[Managing, Due]:
    """Return the state after a decided view, and the action due.  `fits`: the chain has it."""
    if view == state.writing:
        return evolve(state, writing=None), Due.WRITTEN if fits else Due.NOTHING
    if view == state.asked:
        is_last = fits and state.chain.generation == view.generation
        return evolve(state, asked=None), Due.PROMOTED if is_last else Due.CAME_LATE
    return state, Due.NOTHING


def is_over(state: Managing, me: Broker) -> bool:
    """Return whether a younger promotion ends this broker's service as a primary."""
    return me.serves and state.chain.generation > me.view.generation


def promotion(
    state: Managing,
    me: Broker,
    around: PeerReports,
    *,
    continues: bool,
    now: float = 0.0,
    timeout: float = 10.0,
    view: View | None = None,
) -> Promote:
    """Return the event by which this manager promotes its broker.

    `view`: by default, the view that would be written now.  `continues`: after a total failure, the
    manager may promote a broker without an operator.  `now`, `timeout`: as in `Promote`.
    """
    proven = continues and is_proven(me.who.me, around.stores(me), state.chain)
    return Promote(
        peers=heard(state.chain, around.peers()),
        view=view or promoted(state.chain, me.who.me),
        now=now,
        timeout=timeout,
        proven=proven,
    )


def is_emptied(state: Managing, me: Broker) -> bool:
    """Return whether the chain has a promotion, although this broker's store knows none."""
    return state.chain.generation > 0 == me.view.generation


def would(state: Managing, me: Broker, event: Promote, *, is_open: bool) -> Answer:
    """Return this broker's answer to a promotion, with the chain as it is now."""
    name = me.who.me
    if me.serves:
        return Answer(Verdict.IGNORED, "H3", f"{name} is {me.role.value} already")
    if not is_open:
        why = f"{name} does not reach a majority of the brokers, so it cannot be promoted"
        return Answer(Verdict.REFUSED, "H2", why)
    if not may_promote(state.chain, name):
        why = f"{name} is not in the last view of {state.chain.primary}: it may lack messages"
        return Answer(Verdict.REFUSED, "H4", why)
    if is_emptied(state, me):
        why = f"{name} has an empty store, and {state.chain.primary} was primary before"
        return Answer(Verdict.REFUSED, "H4", why)
    return next(effect for effect in step(me, event).effects if isinstance(effect, Answer))


def ticked(
    state: Managing, me: Broker, around: PeerReports, event: Promote, now: Now
) -> tuple[Managing, Due]:
    """Return the state, and the action due: ask for a promotion, or end a cut-off primary."""
    if not now.is_open:
        since = now.at if state.closed_at is None else state.closed_at
        is_late = now.at - since > now.silence
        state = evolve(state, unserved=None, closed_at=since)
        return state, Due.TURN if me.serves and is_late else Due.NOTHING
    state = evolve(state, closed_at=None)
    if me.serves or state.asked is not None or _is_served(state, around):
        return evolve(state, unserved=None), Due.NOTHING
    since, behind = state.unserved or (now.at, state.chain)
    since = since if behind == state.chain else now.at
    state = evolve(state, unserved=(since, state.chain))
    at = turn(state.chain, me.who.me, now.there)
    if at is None or now.at - since < _pause(state, me, around, now, at):
        return state, Due.NOTHING
    is_able = would(state, me, event, is_open=True).is_accepted
    return evolve(state, unserved=(now.at, state.chain)), Due.ASK if is_able else Due.NOTHING


def _is_served(state: Managing, around: PeerReports) -> bool:
    other = around.others.get(state.chain.primary)
    is_last = other is not None and other.view.generation >= state.chain.generation
    return other is not None and other.serves and is_last


def _pause(state: Managing, me: Broker, around: PeerReports, now: Now, at: int) -> float:
    first = state.chain.primary
    # The former primary takes part in the chain, although this broker does not hear from it: it may
    # serve other brokers.
    is_unheard = first in now.there and first != me.who.me and around.others.get(first) is None
    return TURN_SECONDS * (at + 1) + (2 * now.silence if is_unheard else 0.0)
