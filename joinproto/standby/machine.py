"""A broker of hot standby: `step(state, event)` is its next state and its host's effects.

Its role decides which module handles an event: `backup.py` or `primary.py`.  When the role changes,
the broker's data pass from one to the other unchanged.

Source: hot standby, H1 to H6, H8 to H10.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from attrs import define, frozen

from joinproto.errors import MisuseError
from joinproto.machine import step as shape
from joinproto.machine.values import evolve
from joinproto.standby import backup, primary
from joinproto.standby.backup import Following
from joinproto.standby.broker import Mark, Role
from joinproto.standby.events import (
    Answer,
    Demote,
    Effect,
    Event,
    Gone,
    KeepMark,
    KeepView,
    Linked,
    OfBackup,
    OfPrimary,
    Promote,
    Received,
    Send,
    Serve,
    Start,
    Stop,
    Turn,
)
from joinproto.standby.messages import Content, Join, Refuse, View, Wired
from joinproto.standby.primary_state import PrimaryState, Who
from joinproto.standby.promote import Promotion, promote
from joinproto.standby.replica_state import ReplicaState
from joinproto.standby.roles import MARKED, Facts, machine
from joinproto.standby.tables import Verdict

GOOD = (Role.BACKUP, Role.RECOVERING, Role.PRIMARY)


@frozen(kw_only=True)
class Broker:
    """One broker.

    `standing`: the role that counts at a promotion (H8); a broker that loses its primary keeps it.
    `mark`: the mark of its store when it started, or clean as soon as the broker is a backup or a
    primary, because then it has every confirmed message.  `side`: the broker's data, as a follower
    or as a primary; None while the broker does not run.
    """

    who: Who
    role: Role = Role.STOPPED
    standing: Role = Role.CONNECTING
    mark: Mark = Mark.CLEAN
    side: Following | PrimaryState | None = None

    @property
    def serves(self) -> bool:
        return self.leading is not None

    @property
    def view(self) -> View:
        """Return the youngest view that the broker knows, an empty one while it does not run."""
        return View() if self.side is None else self.side.view

    @property
    def replica(self) -> ReplicaState:
        return ReplicaState() if self.side is None else self.side.replica

    @property
    def follows(self) -> str | None:
        """Return the primary with which this broker has a link, None without one."""
        return self.side.primary if isinstance(self.side, Following) else None

    @property
    def leading(self) -> PrimaryState | None:
        """Return the broker's state as a primary, None if it is not primary."""
        return self.side if isinstance(self.side, PrimaryState) else None

    @property
    def is_dropped(self) -> bool:
        """Return whether the broker knows that the primary went on without it: H4."""
        view = self.view
        knows = self.who.rules.records_drops and bool(view.members)
        return knows and self.who.me not in view.members


Step: TypeAlias = shape.Step[Broker, Effect]


@define
class _Phase:
    phase: Role


def step(state: Broker, event: Event) -> Step:
    """Return the next state and the effects in their order; see `events.py`."""
    found = _stepped(state, event)
    if found.state.role in GOOD and found.state.mark is not Mark.CLEAN:
        return found.then(mark=Mark.CLEAN)
    return found


def _stepped(state: Broker, event: Event) -> Step:
    match event:
        case Start():
            side = Following(who=state.who, replica=event.replica, view=event.view)
            role = _next(state, "start", Facts())
            started = Broker(who=state.who, role=role, mark=event.mark, side=side)
            return Step(started, (KeepMark(Mark.DIRTY),))
        case Stop():
            stopped = evolve(state, role=_next(state, "stop", Facts()), side=None)
            return Step(stopped, (KeepMark(_mark(state, event)),))
        case Promote():
            return _promoted(state, event)
    match state.side:
        case PrimaryState():
            return _leads(state, state.side, event)
        case Following():
            return _follows(state, state.side, event)
        case None:
            raise MisuseError(
                f"the broker {state.who.me} does not run", next="start it first: Start(...)"
            )
        case never:
            assert_never(never)


def _mark(state: Broker, event: Stop) -> Mark:
    """Return the mark that the broker leaves on its disk when it stops: H10."""
    facts = Facts(
        dirty=state.mark is Mark.DIRTY,
        copying=state.standing is Role.CATCHUP,
        in_order=event.in_order,
        untouched=state.role is state.standing is Role.CONNECTING,
    )
    return MARKED.choose((facts,), 0).outcome


def _next(state: Broker, trigger: str, facts: Facts) -> Role:
    model = _Phase(state.role)
    machine().step(model, trigger, (facts,), 0)
    return model.phase


# -- a backup ----------------------------------------------------------------------------------


def _follows(state: Broker, side: Following, event: Received | Gone | OfBackup | OfPrimary) -> Step:
    if isinstance(event, OfPrimary):
        return Step(state)  # the host may have sent it before this broker stopped being primary
    match event:
        case Linked(other):
            found = backup.linked(side, other)
            return Step(evolve(state, side=found.state), found.effects)
        case Gone(other):
            is_lost = other == side.primary
            return Step(_lost(evolve(state, side=backup.lost(side))) if is_lost else state)
        case Received(sender, Join()):
            why = f"{state.who.me} is not primary, its role is {state.role.value}"
            return Step(state, (Send(sender, Refuse(rule="H1", why=why, view=side.view)),))
        case Received(sender, content):
            return _heard(state, side, sender, content)
        case Demote():
            why = f"{state.who.me} is not primary, so nothing changes"
            return Step(state, (Answer(Verdict.IGNORED, "H1", why),))
        case never:
            assert_never(never)


def _lost(state: Broker) -> Broker:
    role = _next(state, "lost", Facts())
    standing = state.standing if state.who.rules.keeps_standing else Role.CONNECTING
    return evolve(state, role=role, standing=standing)


def _heard(state: Broker, side: Following, sender: str, content: Content) -> Step:
    found = backup.follow(side, sender, content)
    after = found.state
    state = evolve(state, side=after)
    if side.primary is not None and after.primary is None:
        return Step(_lost(state), found.effects)
    if sender != side.primary:
        return Step(state, found.effects)
    if isinstance(content, Wired):
        was_backup = state.standing is Role.BACKUP and after.is_member
        state = evolve(
            state,
            role=_next(state, "wired", Facts()),
            standing=Role.BACKUP if was_backup else Role.CATCHUP,
        )
    if state.role in (Role.CATCHUP, Role.BACKUP):
        facts = Facts(
            member=after.is_member,
            lacks=bool(after.missing),
            was_backup=state.role is Role.BACKUP,
        )
        role = _next(state, "look", facts)
        standing = role if role is Role.BACKUP or not after.is_member else state.standing
        state = evolve(state, role=role, standing=standing)
    return Step(state, found.effects)


# -- a primary ---------------------------------------------------------------------------------


def _leads(
    state: Broker, side: PrimaryState, event: Received | Gone | OfBackup | OfPrimary
) -> Step:
    if isinstance(event, Demote):
        effects = (Answer(Verdict.ACCEPTED, "H1", "demoted"), Turn("demoted"))
        # Like a backup that lost its primary, it has every confirmed message (H8).
        return _turned(state, side, effects, Role.BACKUP)
    if isinstance(event, Linked):
        return Step(state)
    found = primary.lead(side, event)
    if any(isinstance(effect, Turn) for effect in found.effects):
        return _turned(state, found.state, found.effects)
    role = state.role
    if role is Role.RECOVERING:
        role = _next(state, "promoted", Facts(waits=found.state.recovers))
    return Step(evolve(state, side=found.state, role=role), found.effects)


def _turned(
    state: Broker, side: PrimaryState, effects: tuple[Effect, ...], standing: Role = Role.CATCHUP
) -> Step:
    """Return the step by which a primary becomes a follower: H2.

    Later it drops the messages that its new primary lacks (H9).
    """
    following = Following(who=state.who, replica=side.replica, view=side.view)
    role = _next(state, "turned", Facts())
    # A superseded primary's view is not the last one, so it may lack messages: it must catch up.
    return Step(evolve(state, role=role, standing=standing, side=following), effects)


def _promoted(state: Broker, event: Promote) -> Step:
    view = state.view
    expected = tuple(name for name in view.members if name not in (state.who.me, view.primary))
    about = Promotion(
        me=state.who.me,
        role=_as(state),
        variant=state.who.variant,
        mark=state.mark,
        generation=view.generation,
        number=view.number,
        was_primary=view.primary == state.who.me,
        dropped=state.is_dropped,
        proven=event.proven,
        peers=event.peers,
        expected=expected,
    )
    found = promote(about)
    answer = Answer(found.verdict, found.case.label, found.why)
    if found.verdict is not Verdict.ACCEPTED:
        return Step(state, (answer,))
    if event.view is not None and not _is_ours(event.view, state):
        why = (
            f"{about.me} may not serve in the manager's view {event.view}: the view must name it as"
            " primary and member, and have a younger generation than any that it knows"
        )
        return Step(state, (Answer(Verdict.REFUSED, "H2", why),))
    new = event.view or View(
        generation=view.generation if found.generation is None else found.generation,
        number=view.number + 1 if found.generation is None else 1,
        primary=state.who.me,
        members=tuple(sorted({state.who.me, *found.waits_for})),
    )
    awaited = frozenset(new.members) - {state.who.me}
    leading = PrimaryState(
        who=state.who,
        replica=state.replica,
        view=new,
        awaited=awaited,
        deadline=event.now + event.timeout if awaited else None,
    )
    role = _next(state, "promoted", Facts(waits=leading.recovers))
    state = evolve(state, role=role, standing=role, side=leading)
    # H2: the view is durable before the broker serves.
    return Step(state, (KeepView(new), Serve(new.generation), answer))


def _as(state: Broker) -> Role:
    """Return the role that counts at a promotion: H8."""
    if state.serves or state.side is None or not state.who.rules.keeps_standing:
        return state.role
    return state.standing


def _is_ours(view: View, state: Broker) -> bool:
    """Return whether the view is ours and of a younger generation than any that we know: H2."""
    me = state.who.me
    return view.primary == me and me in view.members and view.generation > state.view.generation
