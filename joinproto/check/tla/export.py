"""The answers of members' code, as constants of a TLA+ module.

The world is searched in plain Python, level by level up to the first violation.  Local states of
members, contents of messages, surroundings and monitors' records get numbers from 1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from attrs import frozen

from joinproto.check.environment import FAULTS, Surroundings
from joinproto.check.events import Message
from joinproto.check.faults import Split, reaches
from joinproto.check.local import LocalState, Outcome
from joinproto.check.member import MemberCode
from joinproto.check.network import FifoLinks, MessageSet
from joinproto.check.plain import search_plainly
from joinproto.check.properties import Property
from joinproto.check.reference import State
from joinproto.check.steps import Sent
from joinproto.check.tla.text import Value, invariant, module, text_of
from joinproto.check.world import World
from joinproto.errors import UsageProblem

T = TypeVar("T")

STATES_MAX = 100_000

EXTENDED = ("Naturals", "Sequences", "FiniteSets")
"""Modules that the exported module extends, besides TLC."""

JUDGED = ("always", "sometimes")
"""Kinds of claims that are exported: claims about single states."""


@frozen
class Claim:
    """A claim about single states."""

    name: Annotated[str, "the claim's name"]
    invariant: Annotated[str, "the invariant's name; a `sometimes` becomes `Never_N`"]
    steps: Annotated[int | None, "steps of the shortest run that breaks or reaches it; null: none"]


@frozen
class Exported:
    """A world as TLA+.  `module`, `config`: texts of `NAME.tla` and `NAME.cfg`.

    `constants`: name to value.  TLC takes no tuple in a configuration, so `MCNAME.tla` defines the
    constants for TLC.  `states`: how many were found; the search ends one level after a violation.
    `left_out`: claims about runs and steps.  `broken_at`: steps to the first violation, None
    without one.
    """

    name: str
    module: str
    config: str
    constants: Mapping[str, Value]
    states: int
    claims: tuple[Claim, ...]
    left_out: tuple[str, ...]
    broken_at: int | None

    def texts(self) -> dict[str, str]:
        """Return the text of each file, by its name."""
        values = [f"CONSTANT {key} = {text_of(value)}" for key, value in self.constants.items()]
        names = [f"CONSTANT {key} <- {key}_" for key in self.constants]
        for_tlc = [f"---- MODULE MC{self.name} ----", f"EXTENDS {self.name}"]
        for_tlc += [f"{k}_ == {text_of(v, halved=True)}" for k, v in self.constants.items()]
        return {
            f"{self.name}.tla": self.module,
            f"{self.name}.cfg": _lines([self.config, *values]),
            f"MC{self.name}.tla": _lines([*for_tlc, "===="]),
            f"MC{self.name}.cfg": _lines([self.config, "CHECK_DEADLOCK FALSE", *names]),
        }

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the files, the module and its configuration first; raises `OSError`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.texts().items():
            (folder / name).write_text(text, "utf-8")
        return tuple(folder / name for name in self.texts())


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def exported(world: World, *, states_max: int = STATES_MAX) -> Exported:
    """Return the world as TLA+.

    Raises `UsageProblem` for a world with `within`, `same` or `show_links`, or with more than
    `states_max` states; `ModelProblem` for a model that cannot be searched.
    """
    for name in ("within", "same", "show_links"):
        if getattr(world, name):
            raise UsageProblem(
                f"world {world.name} has {name}=, which has no form in TLA+",
                next="export a world without it",
            )
    claims = [item for item in world.properties if item.kind in JUDGED]
    search = _Search(world, claims, states_max)
    constants = _Data(search).constants()
    name = _module_name(world.name)
    config = ["INIT Init", "NEXT Next"]
    always = [invariant(at, it) for at, it in enumerate(claims, 1) if it.kind == "always"]
    config += [f"INVARIANT {word}" for word in always]
    return Exported(
        name=name,
        module=module(world, name, claims, list(constants)),
        config="\n".join(config),
        constants=constants,
        states=sum(map(len, search.levels)),
        claims=tuple(
            Claim(item.name, invariant(at, item), search.steps_to.get(at))
            for at, item in enumerate(claims, 1)
        ),
        left_out=tuple(item.name for item in world.properties if item.kind not in JUDGED),
        broken_at=search.broken_at,
    )


def _module_name(name: str) -> str:
    """Return the name of the module and its file: an identifier of TLA+."""
    # TLC and the reserved words of TLA+ have only capitals.
    found = re.sub("[^A-Za-z0-9]", "_", name)
    is_free = re.match("_*[A-Za-z]", found) and not re.match("[WS]F_|[A-Z]+$", found)
    return found if is_free and found not in EXTENDED else f"World_{found}"


class _Search:
    """The search of the world.

    `hits`: visible parts of states (see `visible_parts`) to one state with these parts, and
    the numbers of the claims that are broken (always) or reached (sometimes) in it.  `expanded`:
    the same parts to a state that was expanded.  `steps_to`: number of a claim to the steps to the
    first state that breaks or reaches it.
    """

    def __init__(self, world: World, claims: Sequence[Property], states_max: int) -> None:
        found = search_plainly(world, claims, states_max=states_max)
        if found is None:
            raise UsageProblem(
                f"world {world.name} has more than {states_max:,} states",
                next="export a smaller world: --members, --set, fewer faults",
            )
        # A checker that goes level by level may ask for one level after a violation.
        if found.violated and (level := found.next_level(0.0)):
            found.add(level)
        self.steps, self.levels = found.steps, found.levels
        self.expanded: dict[Hashable, State] = {}
        for state in found.out_of:
            self.expanded.setdefault(visible_parts(state), state)
        numbered = list(enumerate(claims, 1))
        self.hits: dict[Hashable, tuple[State, frozenset[int]]] = {}
        for state in found.states():
            key = visible_parts(state)
            if key not in self.hits:
                numbers = (
                    at for at, it in numbered if found.holds(it, state) is (it.kind != "always")
                )
                self.hits[key] = state, frozenset(numbers)
        hits = found.hits
        self.steps_to = {at: hits[item.name][0] for at, item in numbered if item.name in hits}
        broken = [self.steps_to.get(at) for at, item in numbered if item.kind == "always"]
        self.broken_at = min((at for at in broken if at is not None), default=None)


def visible_parts(state: State) -> Hashable:
    """Return the parts of a state that claims and joint steps see: all but messages and budgets."""
    return state.locals, state.monitor, state.surroundings.split


class _Numbers(Generic[T]):
    """Values, numbered from 1 in the order of their first use."""

    def __init__(self) -> None:
        self.of: dict[T, int] = {}

    def __call__(self, value: T) -> int:
        return self.of.setdefault(value, len(self.of) + 1)


class _Data:
    """The constants of the module.  Members have numbers from 1, too."""

    def __init__(self, search: _Search) -> None:
        self.search, self.steps = search, search.steps
        self.codes, self.environment = self.steps.codes, self.steps.environment
        self.surroundings = self.environment.states
        self.locals = {code: _Numbers[LocalState]() for code in self.codes.members}
        self.monitors, self.records = _Numbers[LocalState](), _Numbers[Hashable]()
        self.contents = _Numbers[Hashable]()
        self.splits = _Numbers[Split]()
        self.sent: dict[tuple[int, int, int], Sent] = {}

    def constants(self) -> dict[str, Value]:
        """Return name to constant.  Functions are defined for arguments that the search met."""
        expanded, members = self.search.expanded.values(), self.codes.members
        found: dict[str, Value] = {
            "First": [self._whole(state) for state in self.search.levels[0]],
            "Own": [self._own(code) for code in members],
            "Hears": [self._hears(code) for code in members],
            "Says": {self._key(state): numbers for state, numbers in self.search.hits.values()},
        }
        if self.steps.world.together is not None:
            found["Joint"] = {self._key(state): self._joint(state) for state in expanded}
        if self.codes.monitor is not None:
            found["Hearing"] = self._hearing(self.codes.monitor)
        if self.steps.world.expiry is not None:
            found |= self._expiry()
        return found | self._faults()

    # -- states --------------------------------------------------------------------------

    def _key(self, state: State) -> tuple[int, ...]:
        """Return the visible parts of a state, as numbers."""
        split = state.surroundings.split
        here = [
            self.locals[code](local)
            for code, local in zip(self.codes.members, state.locals, strict=True)
        ]
        return *here, self._monitor(state.monitor), 0 if split is None else self.splits(split)

    def _monitor(self, monitor: LocalState | None) -> int:
        return 0 if monitor is None else self.monitors(monitor)

    def _whole(self, state: State) -> Value:
        """Return an initial state: local states, the monitor's, surroundings, messages."""
        *here, monitor, _ = self._key(state)
        if isinstance(self.steps.world.network, MessageSet):
            net: Value = {self._message(*sent) for sent in state.messages}
        else:
            links, every = dict(state.links), self.codes.names
            net = [[self._link(links.get((sender, to), ())) for to in every] for sender in every]
        return tuple(here), monitor, self.surroundings.index(state.surroundings) + 1, net

    def _message(self, sender: str | None, to: str | None, content: Hashable) -> Value:
        found = self._name(sender), self._name(to), self.contents(content)
        self.sent[found] = sender, to, content
        return found

    def _link(self, held: tuple[Hashable, ...]) -> Value:
        contents = [self.contents(content) for content in held]
        if isinstance(self.steps.world.network, FifoLinks):
            return contents
        return {(content, 1 + contents[:at].count(content)) for at, content in enumerate(contents)}

    def _name(self, name: str | None) -> int:
        return 0 if name is None else self.codes.names.index(name) + 1

    # -- members' answers ------------------------------------------------------------------

    def _hears(self, code: MemberCode) -> Value:
        """Return the member's answers: (local state, sender, content) to outcomes."""
        numbers = self.locals[code]
        return {
            (numbers(local), self._name(event.sender), self.contents(event.content)): {
                self._outcome(code, outcome) for outcome in outcomes
            }
            for (local, event), outcomes in self.steps.asked[code].items()
            if type(event) is Message
        }

    def _own(self, code: MemberCode) -> Value:
        """Return the member's own steps: local state to outcomes."""
        at, known = self.codes.members.index(code), self.steps.asked[code]
        return {
            self.locals[code](local): {
                self._outcome(code, outcome)
                for choice in code.choices(local)
                for outcome in known[local, choice.event]
            }
            for local in {state.locals[at]: None for state in self.search.expanded.values()}
        }

    def _outcome(self, code: MemberCode, outcome: Outcome) -> Value:
        """Return (local state after the outcome, messages sent, records, fault that it spends)."""
        sender = code.name if self.steps.with_sender else None
        sent = tuple(self._message(sender, *one)[1:] for one in outcome.sent)
        is_heard = self.codes.monitor is not None
        recorded = tuple(map(self.records, outcome.recorded)) if is_heard else ()
        cost = FAULTS.index(outcome.cost) + 1 if outcome.cost else 0
        return self.locals[code](outcome.after), sent, recorded, cost

    def _joint(self, state: State) -> Value:
        """Return the joint steps of a state, each a sequence of (member, outcome)."""
        code_of = dict(zip(self.codes.names, self.codes.members, strict=True))
        return {
            tuple((self._name(name), self._outcome(code_of[name], one)) for name, one in taken)
            for step in self.steps.joint_steps(state)
            for taken in self.steps.ways(state, step)
        }

    def _hearing(self, monitor: MemberCode) -> Value:
        """Return the monitor's steps: (its state, record) to its next state."""
        return {
            (self.monitors(local), self.records(event)): self.monitors(
                outcomes[0].after if outcomes else local
            )
            for (local, event), outcomes in self.steps.asked[monitor].items()
        }

    # -- faults and time -------------------------------------------------------------------

    def _faults(self) -> dict[str, Value]:
        """Return, for each of the surroundings: the surroundings after a split or heal, and after
        each fault (0: impossible); the pairs of which the first does not reach the second; the
        split's number.
        """

        def number(after: Surroundings | None) -> int:
            return 0 if after is None else self.surroundings.index(after) + 1

        environment = self.steps.environment
        return {
            "Moves": [
                {number(to) for _, to in environment.moves(one)} for one in self.surroundings
            ],
            "Spend": [
                [number(environment.spend(one, fault)) for one in self.surroundings]
                for fault in FAULTS
            ],
            "Cut": [self._cut(one.split) for one in self.surroundings],
            "Split": [
                0 if one.split is None else self.splits(one.split) for one in self.surroundings
            ],
        }

    def _cut(self, split: Split | None) -> set[tuple[int, int]]:
        names = self.codes.names
        pairs = ((one, other) for one in names for other in names)
        return {
            (self._name(one), self._name(other))
            for one, other in pairs
            if not reaches(split, one, other)
        }

    def _expiry(self) -> dict[str, Value]:
        """Return the horizon of each local state, and `World.expiry` of each message ever sent."""
        return {
            "Horizon": [
                [code.horizon(local) for local in self.locals[code].of]
                for code in self.codes.members
            ],
            "Stamps": {
                key: {(self._name(name), stamp) for name, stamp in self.steps.stamps(message)}
                for key, message in self.sent.items()
            },
        }
