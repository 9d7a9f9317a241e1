"""The graph of a world, as far as it was asked for; a state gets its number when first met."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import Factory, define, field

from joinproto.check.asking import guard
from joinproto.check.faults import UNLIMITED, words_of_split
from joinproto.check.pictures import is_svg
from joinproto.check.plain_steps import Steps
from joinproto.check.problems import ModelProblem
from joinproto.check.reference import State
from joinproto.check.steps import Move, text_of, to_step
from joinproto.check.view import View
from joinproto.check.world import World
from joinproto.errors import UsageProblem

Json = dict[str, Any]
Place = TypeVar("Place", int, tuple[int, int])
"""A state's number, or a state's number and a second number that a search needs."""


def key_of(*texts: str, size: int = 6) -> str:
    """Return a short name for these texts, which is the same in every process."""
    held = hashlib.blake2b("\x1f".join(texts).encode(), digest_size=8).digest()
    return "".join(_LETTERS[byte & 63] for byte in held[:size])


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@define
class Graph:
    """A world's states and steps on demand.

    `states`: by number.  `known_steps`: a state's number to its steps, and the states that they
    lead to, if they were asked for.  `failing`: number to the steps in which a member's code
    failed.
    """

    world: World
    steps: Steps = field(init=False)
    states: list[State] = Factory(list)
    known_steps: dict[int, list[tuple[Move, int]]] = Factory(dict)
    failing: dict[int, list[tuple[ModelProblem, Hashable]]] = Factory(dict)
    _number: dict[State, int] = Factory(dict)
    _texts: dict[Any, Mapping[str, str]] = Factory(dict)
    _optional_events: dict[Any, frozenset[Any]] = Factory(dict)
    firsts: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.steps = Steps(self.world)
        self.firsts = [self.number(state) for state in self.steps.initials()]

    @property
    def names(self) -> tuple[str, ...]:
        return self.steps.codes.names

    def number(self, state: State) -> int:
        """Return the state's number; a new state gets the next number."""
        found = self._number.get(state)
        if found is None:
            found = self._number[state] = len(self.states)
            self.states.append(state)
        return found

    def state(self, at: Any) -> State:
        """Return the state with this number; raises `UsageProblem`."""
        if type(at) is not int or not 0 <= at < len(self.states):
            raise UsageProblem(
                f"there is no state {at!r} here",
                next=f"states met so far are 0 to {len(self.states) - 1}",
            )
        return self.states[at]

    def beginning(self, initial: Any) -> int:
        """Return the place in `firsts` of the state with the texts `initial` (`Trace.initial`).

        0 if no first state has these texts.
        """
        for place, at in enumerate(self.firsts):
            if self.steps.states_text(self.state(at)) == initial:
                return place
        return 0

    def steps_out(self, at: int) -> list[tuple[Move, int]]:
        """Return the steps out of a state, and the number of the state that each leads to."""
        if at not in self.known_steps:
            state = self.state(at)
            if self.is_beyond(at):
                self.known_steps[at] = []
            else:
                self.steps.failing = []
                found = guard("a step", lambda: list(self.steps.successors(state)))
                if self.steps.failing:
                    self.failing[at] = self.steps.failing
                self.known_steps[at] = [(move, self.number(after)) for move, after in found]
        return self.known_steps[at]

    def move(self, at: int, index: Any) -> tuple[Move, int]:
        """Return one step out of a state by its index; raises `UsageProblem`."""
        steps = self.steps_out(at)
        if type(index) is not int or not 0 <= index < len(steps):
            raise UsageProblem(
                f"state {at} has no step {index!r}", next=f"it has steps 0 to {len(steps) - 1}"
            )
        return steps[index]

    def is_beyond(self, at: int) -> bool:
        """Return whether the world's `within` forbids all steps from this state."""
        return self.steps.is_beyond(self.state(at))

    def view(self, at: int) -> View:
        return self.steps.view(self.state(at))

    # -- as JSON -------------------------------------------------------------------------

    def texts(self, at: int) -> list[Mapping[str, str]]:
        """Return the text of each member's local state, in the world's order."""
        locals_ = self.state(at).locals
        members = zip(self.steps.codes.members, locals_, strict=True)
        return [self.texts_of(code, local) for code, local in members]

    def texts_of(self, code: Any, local: Any) -> Mapping[str, str]:
        """Return one local state of a member as texts, by attribute."""
        key = code.name, local
        if key not in self._texts:
            self._texts[key] = {k: str(v) for k, v in code.describe(local).items()}
        return self._texts[key]

    def state_json(self, at: int) -> Json:
        """Return the state without its steps and claims."""
        state, all_texts = self.state(at), self.texts(at)
        members = [
            {"name": name, "up": local.up, "texts": dict(texts)}
            for name, local, texts in zip(self.names, state.locals, all_texts, strict=True)
        ]
        codes, monitor = self.steps.codes, None
        if codes.monitor is not None and state.monitor is not None:
            monitor = dict(self.texts_of(codes.monitor, state.monitor))
        found = {
            "id": at,
            "members": members,
            "monitor": monitor,
            "network": self._network_json(state),
            "beyond": self.is_beyond(at),
            "picture": self._picture(at),
        }
        return {"key": self.key(at), **found}

    def key(self, at: int) -> str:
        """Return a short name for the state's contents, the same in each process."""
        state = self.state(at)
        pairs = [f"{k}={v}" for texts in self.texts(at) for k, v in texts.items()]
        network = self._network_json(state)
        under_way = sorted(str(one) for one in network["under_way"])
        return key_of(*pairs, str(network["split"]), *under_way, size=8)

    def _network_json(self, state: State) -> Json:
        sent: Iterable[tuple[Any, Any, Any]] = sorted(state.messages, key=self.steps.text_of)
        in_links = [(*link, content) for link, held in state.links for content in held]
        around, left = state.surroundings, {}
        for name, budget in (
            ("crashes", around.crash),
            ("partitions", around.partitions),
            ("losses", around.lose),
            ("duplicates", around.double),
            ("wipes", around.wipe),
        ):
            if budget or self._budget(name):
                left[name] = None if budget >= UNLIMITED else budget
        return {
            "split": None if around.split is None else words_of_split(around.split),
            "under_way": [_message(one) for one in [*sent, *in_links]],
            "left": left,
            "form": type(self.world.network).__name__,
        }

    def _budget(self, name: str) -> int:
        found: int = getattr(self.world.faults, name)
        return found

    def _picture(self, at: int) -> Json | None:
        draw = self.world.picture
        if draw is None:
            return None
        picture = guard("picture(view)", lambda: draw(self.view(at)))
        return {"text": str(picture), "svg": is_svg(str(picture))}

    def steps_json(self, at: int) -> list[Json]:
        """Return all steps out of a state."""
        return [self.step_json(at, index) for index in range(len(self.steps_out(at)))]

    def step_json(self, at: int, index: int) -> Json:
        """Return one step out of a state."""
        move, to = self.move(at, index)
        step = to_step(move, {})
        member = step.member or ""
        acting = [name for name, _ in move.outcomes]
        return {
            "index": index,
            "kind": self._kind(at, move),
            "member": step.member,
            "members": acting,
            "crashed": [name for name, outcome in move.outcomes if outcome.cost == "crash"],
            "action": step.action,
            "detail": step.detail,
            "label": step.label,
            "message": None if step.message is None else _message(move.message),
            "sent": [_message((one.sender, one.to, one.content)) for one in step.sent],
            "rules": list(step.rules),
            "to": to,
            "key": key_of(member, step.label),
        }

    def _kind(self, at: int, move: Move) -> str:
        if move.is_fault or move.kind == "heal":
            return "fault"
        if move.kind == "receive":
            return "deliver"
        if move.kind == "together":
            return "operator"
        name = move.outcomes[0][0]
        local = self.state(at).locals[self.names.index(name)]
        return "operator" if move.event in self._optional_events_of(name, local) else "own"

    def _optional_events_of(self, name: str, local: Any) -> frozenset[Any]:
        """Return the events that happen only if a client or an operator wants them."""
        key = name, local
        if key not in self._optional_events:
            code = self.steps.codes.members[self.names.index(name)]
            events = (one.event for one in code.choices(local) if not one.fair)
            self._optional_events[key] = frozenset(events)
        return self._optional_events[key]

    def run_json(self, ids: Sequence[int], indices: Sequence[int]) -> Json:
        """Return a run as JSON, from its states and the indices of its steps."""
        steps = [self.step_json(at, index) for at, index in zip(ids, indices, strict=False)]
        return {"start": ids[0], "ids": list(ids), "steps": steps}

    def run_to(self, place: Place, parent: Mapping[Place, tuple[Place, int] | None]) -> Json:
        """Return the run that led a search to `place`; `start`: the number of its first state.

        `parent`: for each place, the place that it was found from and the index of the step; None
        for a first place.
        """
        places, indices = [place], list[int]()
        while (before := parent[places[-1]]) is not None:
            places.append(before[0])
            indices.append(before[1])
        ids = [place if isinstance(place, int) else place[0] for place in places]
        found = self.run_json(ids[::-1], indices[::-1])
        return {**found, "start": self.firsts.index(ids[-1])}


def _message(sent: Any) -> Json:
    sender, to, content = sent
    if not isinstance(content, str):
        content = text_of((sender, to, content)).content
    return {"from": sender, "to": to, "content": content}
