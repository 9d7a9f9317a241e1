"""The states and steps of a world, straight from the definitions; tests compare engines with it.

States are plain Python values, and every step calls the member's code.  Nothing is numbered, packed
or looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

from attrs import evolve, frozen

from joinproto.check.asking import ask_of_view, is_within
from joinproto.check.environment import Environment, Surroundings
from joinproto.check.events import Message
from joinproto.check.faults import reaches
from joinproto.check.freeze import freeze, thaw
from joinproto.check.local import LocalState, Outcome, freeze_event
from joinproto.check.member import Codes, MemberCode
from joinproto.check.network import FifoLinks, MessageSet, too_full
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property
from joinproto.check.report import States, Step
from joinproto.check.same import left_on_disk
from joinproto.check.steps import Move, Sent, failed_run, order_of, states_of, to_step
from joinproto.check.view import View
from joinproto.check.world import Together, World

Link = tuple[str, str]


@frozen(cache_hash=True)
class State:
    """A state of the world.  `messages`: the messages of a `MessageSet`.  `links`: (link,
    contents), sorted, without empty links; the contents of a bag are sorted by text.
    """

    locals: tuple[LocalState, ...]
    monitor: LocalState | None
    surroundings: Surroundings
    messages: frozenset[Sent] = frozenset()
    links: tuple[tuple[Link, tuple[Hashable, ...]], ...] = ()


Led: TypeAlias = tuple[States, tuple[Step, ...], State]
"""A run: the initial states of the members as texts, the steps, and the state after them."""
Failing: TypeAlias = dict[State, list[tuple[ModelProblem, Hashable]]]
"""State to the errors of members' code in steps out of it, each with the event."""


class Reference:
    """A world's states and steps, straight from the definitions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.codes = Codes.of(world)
        self.environment = Environment.of(world)
        self.is_set = isinstance(world.network, MessageSet)
        self.with_sender = getattr(world.network, "with_sender", True)
        self.is_fifo = isinstance(world.network, FifoLinks)
        self.capacity = getattr(world.network, "capacity", None)
        self.waits = getattr(world.network, "when_full", "") == "wait"
        # Errors of members' code, each with the event; None means that errors are raised.
        self.failing: list[tuple[ModelProblem, Hashable]] | None = None
        self._answered: set[LocalState] = set()

    def _ask(self, code: MemberCode, local: LocalState, event: Hashable) -> tuple[Outcome, ...]:
        """Return the outcomes of a step; errors are added to `failing`, unless it is None."""
        if self.failing is None:
            return code.run(local, event) or ()
        try:
            outcomes = code.run(local, event) or ()
            # Questions about the next state are put here, so that errors belong to this step.
            for after in {outcome.after for outcome in outcomes} - self._answered:
                code.shows(after)
                if code is not self.codes.monitor:
                    code.shows_disk(after), code.choices(after), code.horizon(after)
                self._answered.add(after)
        except ModelProblem as problem:
            if not problem.member:
                raise
            self.failing.append((problem, event))
            return ()
        return outcomes

    def initial(self) -> State:
        """Return the first of the states in which runs begin."""
        return self.initials()[0]

    def initials(self, until: Callable[[], Any] = lambda: False) -> list[State]:
        """Return the states in which a run may begin: all, or the states found until `until()` is
        true, at least one.
        """
        monitor = None if self.codes.monitor is None else self.codes.first_monitor()
        found: dict[State, None] = {}
        for begun in self.codes.beginnings():
            if found and until():
                break
            locals_ = tuple(local for local, _ in begun)
            state = State(locals_, monitor, self.environment.states[0])
            for code, (_, outcome) in zip(self.codes.members, begun, strict=True):
                if outcome is not None:
                    moved = self._after(state, code.name, outcome)
                    if moved is None:
                        raise too_full(code.name)
                    state = self._expired(moved)
            found[state] = None
        return list(found)

    # -- steps -------------------------------------------------------------------------

    def successors(self, state: State) -> Iterator[tuple[Move, State]]:
        """Yield every step out of a state, also steps that lead back to it."""
        for code, local in zip(self.codes.members, state.locals, strict=True):
            for choice in code.choices(local):
                yield from self._run(state, "choice", code.name, choice.event)
        for message in self._in_order(state.messages):
            sender, to, content = message
            for name in (to,) if to is not None else self.codes.names:
                is_addressed = name != sender or to is not None
                if is_addressed and self._reaches(state, sender, name):
                    event = Message(sender, content)
                    yield from self._run(state, "receive", name, event, message)
        for link, held in state.links:
            yield from self._from_link(state, link, held)
        for action, surroundings in self.environment.moves(state.surroundings):
            kind = "split" if action == "split" else "heal"
            move = Move(kind, split=surroundings.split)  # type: ignore[arg-type]
            yield move, evolve(state, surroundings=surroundings)
        if self.world.together is not None:
            for step in self.joint_steps(state):
                yield from self._together(state, step)

    def joint_steps(self, state: State) -> Iterable[Together]:
        """Return the joint steps that the world offers in a state."""
        return self.world.joint_steps(self.view(state))

    def is_beyond(self, state: State) -> bool:
        """Return whether the world's `within` leaves this state without steps."""
        within = self.world.within
        return within is not None and not is_within(within, self.view(state))

    def is_first(self, state: State, keys: set[Any]) -> bool:
        """Return whether `same` tells this state from all states in `keys`; add its key to them."""
        world = self.world
        if world.same is None:
            return True
        view = self.view(state)
        answers: tuple[Any, ...] = freeze(world.same(view)), self.is_beyond(state)
        for item in world.properties:
            met = None if item.premise is None else bool(item.premise(view))
            answers = *answers, self.holds(item, state), met
        disks = tuple(left_on_disk(world, local) for local in state.locals)
        links = () if world.show_links else state.links
        key = (answers, disks, state.surroundings, state.messages, links)
        fresh = key not in keys
        keys.add(key)
        return fresh

    def _run(
        self, state: State, kind: Any, name: str, event: Hashable, message: Sent | None = None
    ) -> Iterator[tuple[Move, State]]:
        at = self.codes.names.index(name)
        for outcome in self._ask(self.codes.members[at], state.locals[at], event):
            before = state if message is None or self.is_set else self._without(state, message)
            after = self._after(before, name, outcome)
            if after is not None:
                yield Move(kind, ((name, outcome),), event, message), self._expired(after)

    def _from_link(
        self, state: State, link: Link, held: tuple[Hashable, ...]
    ) -> Iterator[tuple[Move, State]]:
        sender, to = link
        lost = self.environment.spend(state.surroundings, "lose")
        doubled = self.environment.spend(state.surroundings, "double")
        for content in held[:1] if self.is_fifo else dict.fromkeys(held):
            message = (sender, to, content)
            if self._reaches(state, sender, to):
                event = Message(sender, content)
                yield from self._run(state, "receive", to, event, message)
            if lost is not None:
                rest = self._without(state, message)
                yield Move("lose", message=message), evolve(rest, surroundings=lost)
            if doubled is not None and not (self.waits and self._is_full(held)):
                more = state
                if not self._is_full(held):
                    more = self._with_link(state, link, (*held, content))
                yield Move("duplicate", message=message), evolve(more, surroundings=doubled)

    def _together(self, state: State, step: Any) -> Iterator[tuple[Move, State]]:
        for taken in self.ways(state, step):
            after: State | None = state
            for name, outcome in taken:
                if after is not None:
                    after = self._after(after, name, outcome)
            if after is not None:
                yield Move("together", taken, together=step), self._expired(after)

    def ways(self, state: State, step: Together) -> list[tuple[tuple[str, Outcome], ...]]:
        """Return each way to take a joint step: the outcomes of its members, in order."""
        found = []
        for name, event in step.events.items():
            at = self.codes.names.index(name)
            outcomes = self._ask(self.codes.members[at], state.locals[at], freeze_event(event))
            found.append((name, outcomes))
        if not all(outcomes for _, outcomes in found):
            return []
        plain_way = tuple((name, outcomes[0]) for name, outcomes in found)
        takes = [plain_way]
        # One of the members may crash in the middle of the step.
        for i, (name, outcomes) in enumerate(found):
            takes += [
                (*plain_way[:i], (name, crash), *plain_way[i + 1 :]) for crash in outcomes[1:]
            ]
        return takes

    def _in_order(self, messages: frozenset[Sent]) -> Iterable[Sent]:
        return sorted(messages, key=self.text_of)

    def text_of(self, message: Sent) -> str:
        """Return the sort key of a message."""
        return repr(message)

    def _reaches(self, state: State, one: str | None, other: str) -> bool:
        return reaches(state.surroundings.split, one, other)

    def _is_full(self, held: tuple[Hashable, ...]) -> bool:
        return self.capacity is not None and len(held) >= self.capacity

    def _with_link(self, state: State, link: Link, held: tuple[Hashable, ...]) -> State:
        links = {key: value for key, value in state.links if key != link}
        if held:
            links[link] = held if self.is_fifo else tuple(sorted(held, key=repr))
        return evolve(state, links=tuple(sorted(links.items())))

    def _without(self, state: State, message: Any) -> State:
        """Return the state in which a message has left its link."""
        link, held = message[:2], dict(state.links)[message[:2]]
        at = held.index(message[2])
        return self._with_link(state, link, held[:at] + held[at + 1 :])

    def _after(self, state: State, name: str, outcome: Outcome) -> State | None:
        surroundings: Surroundings | None = state.surroundings
        if outcome.cost:
            surroundings = self.environment.spend(state.surroundings, outcome.cost)
            if surroundings is None:
                return None
        assert surroundings is not None
        at = self.codes.names.index(name)
        locals_ = (*state.locals[:at], outcome.after, *state.locals[at + 1 :])
        messages = state.messages
        if self.is_set and outcome.sent:
            sender = name if self.with_sender else None
            messages |= {(sender, to, content) for to, content in outcome.sent}
        after = State(locals_, state.monitor, surroundings, messages, state.links)
        if not self.is_set:
            moved = self._with_sent(after, name, outcome)
            if moved is None:
                return None
            after = moved
        if self.codes.monitor is not None and outcome.recorded:
            monitor = after.monitor
            for event in outcome.recorded:
                assert monitor is not None
                heard = self._ask(self.codes.monitor, monitor, event)
                monitor = heard[0].after if heard else monitor
            after = evolve(after, monitor=monitor)
        return after

    def _with_sent(self, after: State, name: str, outcome: Outcome) -> State | None:
        """Return the state with a member's messages in its links; None if a full link blocks it."""
        if outcome.cost == "crash" and self.is_fifo:
            for link, _ in after.links:
                if link[1] == name:
                    after = self._with_link(after, link, ())
        for to, content in outcome.sent:
            for other in self.codes.names if to is None else (to,):
                # A message that a member sent to itself before it crashed is lost, too.
                lost = other == name and outcome.cost == "crash" and self.is_fifo
                if (other != name or to is not None) and not lost:
                    held = dict(after.links).get((name, other), ())
                    if not self._is_full(held):
                        after = self._with_link(after, (name, other), (*held, content))
                    elif self.waits:
                        return None
        return after

    def _expired(self, state: State) -> State:
        """Return the state after a whole step without messages that are of no use."""
        if self.world.expiry is None:
            return state
        horizons = {
            code.name: code.horizon(local)
            for code, local in zip(self.codes.members, state.locals, strict=True)
        }

        def is_of_use(message: Sent) -> bool:
            stamps = self.stamps(message)
            return not stamps or any(horizons[name] <= stamp for name, stamp in stamps)

        kept = frozenset(message for message in state.messages if is_of_use(message))
        return state if kept == state.messages else evolve(state, messages=kept)

    def stamps(self, message: Sent) -> Sequence[tuple[str, int]]:
        """Return the pairs of a member and a number that `World.expiry` has for a message."""
        sender, to, content = message
        assert self.world.expiry is not None
        return list(self.world.expiry(sender, to, thaw(content)))

    # -- properties --------------------------------------------------------------------

    def shown(self, state: State) -> Any:
        """Return a state's observations, frozen: members, disks, monitor, split and links."""
        codes, world = self.codes, self.world
        members = list(zip(codes.members, state.locals, strict=True))
        monitor = None
        if codes.monitor is not None and state.monitor is not None:
            monitor = codes.monitor.shows(state.monitor)
        return (
            tuple(code.shows(local) for code, local in members),
            () if world.show_disk is None else tuple(code.shows_disk(at) for code, at in members),
            monitor,
            state.surroundings.split,
            state.links if world.show_links else None,
        )

    def view(self, state: State) -> View:
        """Return the view of a state, as claims get it."""
        members, disks, monitor, split, held = self.shown(state)
        links = None if held is None else {link: tuple(map(thaw, some)) for link, some in held}
        shown = tuple(map(thaw, members)), tuple(map(thaw, disks)), thaw(monitor)
        return View(self.codes.names, *shown, split, links)

    def holds(self, item: Property, state: State) -> bool:
        return ask_of_view(item, self.view(state))

    def states_text(self, state: State) -> dict[str, dict[str, str]]:
        return states_of(self.codes, state.locals, state.monitor)


def way_to(
    reference: Reference,
    levels: Sequence[Iterable[State]],
    depth: int,
    hits: Iterable[State],
    out: Callable[[State], Iterable[tuple[Move, State]]],
) -> Led:
    """Return a shortest run to a state of `hits`.

    Of several, the run from the first initial state, then with the first steps by `order_of`.
    `levels`: states by depth.  `depth`: the depth of `hits`.  `out`: the steps out of a state.
    """
    towards = [set(hits)]
    for level in reversed(levels[:depth]):
        onward = towards[0]
        before = {state for state in level if any(after in onward for _, after in out(state))}
        towards.insert(0, before)
    state = next(one for one in levels[0] if one in towards[0])
    initial, taken = reference.states_text(state), list[Step]()
    for onward in towards[1:]:
        options = [(move, after) for move, after in out(state) if after in onward]
        move, state = min(options, key=lambda option: order_of(option[0], reference.codes))
        taken.append(to_step(move, reference.states_text(state)))
    return initial, tuple(taken), state


def raise_failing(failing: Failing, led: Led) -> NoReturn:
    """Raise the first of the errors in the last state of the run `led`, together with the run."""
    initial, steps, state = led
    problem, event = min(failing[state], key=lambda one: one[0].order())
    problem.led_to = failed_run(problem.member, event, initial, steps)
    raise problem
