"""The answers of members' code, as numbers: here the kernel's questions become calls of the code.

Every local state, event, message and queue content gets a number when it is first met.  `fill`
answers each question of the kernel by one call of the code (`joinproto/check/determinism.py` asks
some of them again).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.engine.rows.layout import Layout
from joinproto.check.engine.shapes import Masks, Questions, Row, Rows
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.answers import Answers
from joinproto.check.engine.tables.arrays import Arrays
from joinproto.check.engine.tables.beginnings import beginning
from joinproto.check.engine.tables.claimed import ClaimVerdicts
from joinproto.check.engine.tables.contents import Contents
from joinproto.check.engine.tables.expiry import Expiry
from joinproto.check.engine.tables.joint import JointLists
from joinproto.check.engine.tables.numbering import TablesNumbering
from joinproto.check.engine.tables.numbers import Numbers, Observations
from joinproto.check.engine.tables.outcomes import COSTS, Outcomes
from joinproto.check.engine.tables.queues import MESSAGES_MAX, Queues, too_many_messages
from joinproto.check.environment import FAULTS, Environment, Surroundings
from joinproto.check.events import Message
from joinproto.check.faults import reaches
from joinproto.check.local import Choice, LocalState, Outcome
from joinproto.check.member import Codes
from joinproto.check.network import FifoLinks, MessageSet
from joinproto.check.problems import ModelProblem
from joinproto.check.world import Together, World

if TYPE_CHECKING:
    from joinproto.check.engine.symmetry.interchangeable import CodeComparison

FAILING_MAX = 1000
"""Once this many cells of a level raised errors, the level's others count as refused, uncalled."""


def _shape_of(world: World, *, has_monitor: bool) -> kernel.Shape:
    members = len(world.members)
    env = members + (1 if has_monitor else 0)
    return kernel.Shape(
        members=members,
        monitor=members if has_monitor else -1,
        env=env,
        queues=env + 1,
        queue_count=0 if isinstance(world.network, MessageSet) else members * members,
        splits=world.faults.partitions > 0,
        fifo=isinstance(world.network, FifoLinks),
        joint=world.together is not None,
        expires=world.expiry is not None,
    )


class Tables(Arrays):
    """The numbered world: the numbered values, and the arrays of numbers."""

    def __init__(self, world: World, answers: Answers | None = None) -> None:
        self.world = world
        self.codes = Codes.of(world)
        self.names = self.codes.names
        super().__init__(
            _shape_of(world, has_monitor=self.codes.monitor is not None),
            is_set_network=isinstance(world.network, MessageSet),
        )
        self.number_of = {name: i for i, name in enumerate(self.names)}
        self.environment = Environment.of(world)
        self.with_sender: bool = getattr(world.network, "with_sender", True)

        self.values = [Numbers() for _ in range(self.fields)]
        self.columns = [Numbers() for _ in range(self.fields)]
        self.expiry = Expiry(world, self.names)
        self.choice_fair: list[bool] = []
        self.outcome_cell: list[tuple[int, int, int]] = []  # (member, local, column)
        # (member, column) -> the number of outcomes when the event was first refused.
        self.refused: dict[tuple[int, int], int] = {}
        self.outcomes = Outcomes(self.values, self.out, self.outcome_cell)
        # Messages of sets, see `joinproto.check.steps.Sent`; for queues, contents of messages.
        self.messages = Numbers()
        # For each message of a set: its receivers, the event of each, and the receivers as bits.
        self.receivers: list[tuple[list[int], list[int], int]] = []
        self.queues = Queues(self)
        self.joint_steps: list[Together] = []
        self.joint_lists = JointLists(self)
        self.shown = [Observations() for _ in range(self.fields)]
        self.claimed = ClaimVerdicts()  # the claims' verdicts
        self.states_before = 0
        self.heard: list[tuple[LocalState, Any, LocalState]] = []  # monitor: before, event, after
        self.code_comparison: CodeComparison | None = None  # if members are renamed
        self._initial: list[tuple[list[int], list[int]]] = []
        # The errors of cells, which are kept as refused; None if errors are raised at once.
        self.failing: dict[tuple[int, int, int], ModelProblem] | None = None
        self._number_environment()
        if answers is not None:
            answers.give(self.codes, TablesNumbering(self))
            self.forget_taken()
        # The number of outcomes that an earlier search met; `states_before` is that of its states.
        self.numbered_before = len(self.outcomes)

    def value_counts(self) -> list[int]:
        return [len(values) for values in self.values]

    def column_counts(self) -> list[int]:
        return [len(columns) for columns in self.columns]

    def message_count(self) -> int:
        return len(self.messages)

    def needed_messages(self) -> tuple[Masks, int]:
        is_numbered = self.contents is not None
        needed = np.zeros((1, 1), np.uint64) if is_numbered else self.expiry.needed(self.layout)
        return needed, self.expiry.horizons

    # -- the world's own part ----------------------------------------------------------

    def _number_environment(self) -> None:
        env = self.env_field
        for state in self.environment.states:
            number, _ = self.values[env].add(state)
            self.per_value.make_room(env, number + 1)
            split, _ = self.shown[env].add((state.split, None))
            self.per_value.arrays["shown"][self.per_value.off[env] + number] = split
        self.environment_tables, self.moves = environment_tables(
            self.environment, self.values[env].of, self.names
        )

    # -- numbering ---------------------------------------------------------------------

    def number_event(self, field: int, event: Hashable) -> int:
        """Return the number of the frozen `event` at the member of that field."""
        known = self.columns[field].of.get(event)
        if known is not None:
            return known
        # Make room first, here and below: if memory runs out, no value has a number without room.
        self.cells.make_room(field, len(self.values[field]), len(self.columns[field]) + 1)
        return self.columns[field].add(event)[0]

    def number_local_state(self, field: int, state: LocalState) -> int:
        """Return the number of a local state; for a new one, ask the member for its choices."""
        known = self.values[field].of.get(state)
        if known is not None:
            return known
        # Calls that may raise come before anything gets a number.
        shows, horizon = self._shows(field, state), 0
        choices: tuple[Choice, ...] = ()
        if field != self.monitor:
            code = self.codes.members[field]
            choices = code.choices(state)
            horizon = self.expiry.horizon(code.horizon(state))
        columns = [self.number_event(field, choice.event) for choice in choices]
        number = len(self.values[field])
        self.per_value.make_room(field, number + 1)
        self.cells.make_room(field, number + 1, max(1, len(self.columns[field])))
        self.values[field].add(state)
        shown, _ = self.shown[field].add(shows)
        first = self.choice_column.count
        for choice, column in zip(choices, columns, strict=True):
            self.choice_column.append(column)
            # By choice, because an event may be fair in one state and not in another.
            self.choice_fair.append(choice.fair)
        at = self.per_value.off[field] + number
        arrays = self.per_value.arrays
        arrays["shown"][at] = shown
        arrays["choice_first"][at] = first
        arrays["choice_count"][at] = len(choices)
        arrays["horizon"][at] = horizon
        return number

    def _shows(self, field: int, state: LocalState) -> tuple[Hashable, Hashable]:
        if field == self.monitor:
            assert self.codes.monitor is not None
            return self.codes.monitor.shows(state), None
        code = self.codes.members[field]
        return code.shows(state), code.shows_disk(state)

    def number_message(self, sender: str | None, to: str | None, content: Hashable) -> int:
        message = sender, to, content
        known = self.messages.of.get(message)
        if known is not None:
            return known
        if len(self.messages) >= MESSAGES_MAX:
            raise too_many_messages()
        receivers = [to] if to is not None else [n for n in self.names if n != sender]
        members = [self.number_of[name] for name in receivers]
        columns = [self.number_event(member, Message(sender, content)) for member in members]
        self.expiry.add(sender, to, content)
        self.to["first"].append(self.to["member"].count)
        self.to["counts"].append(len(receivers))
        bits = sum({1 << min(member, kernel.HEARER_BITS) for member in members})
        self.receivers.append((members, columns, bits))
        self.to["member"].append_all(members)
        self.to["column"].append_all(columns)
        # A message without a sender counts as the receiver's own, so that no split stops it.
        ones = members if sender is None else [self.number_of[sender]] * len(members)
        links = [one * self.members + at for one, at in zip(ones, members, strict=True)]
        self.to["link"].append_all(links)
        return self.messages.add(message)[0]

    def number_messages(self, field: int, outcome: Outcome) -> list[int]:
        """Return the numbers of the messages of a set that a member sends."""
        if not outcome.sent:
            return []
        sender = self.names[field] if self.with_sender else None
        return [self.number_message(sender, to, content) for to, content in outcome.sent]

    # -- answers -----------------------------------------------------------------------

    def fill(self, asked: Questions) -> None:
        """Answer the kernel's questions, rows (kind, x, y, z)."""
        with self.held():
            for kind, x, y, z in asked.tolist():
                if kind == kernel.ASK_CELL:
                    self._fill_cell(x, y, z)
                elif kind == kernel.ASK_REST:
                    self.queues.fill_rest(x, y, z)
                elif self.contents is None:
                    self.queues.fill_add(x, y, z)
                else:
                    self.contents.fill(kind, x, y, z)

    def _fill_cell(self, field: int, local: int, column: int) -> None:
        failing = self.failing
        first = kernel.REFUSED
        if failing is None or len(failing) < FAILING_MAX:
            try:
                first = self._answer(field, local, column)
            except ModelProblem as problem:
                if failing is None or not problem.member:
                    raise
                failing[field, local, column] = problem
        self.cells.put(field, local, column, first)

    def _answer(self, field: int, local: int, column: int) -> int:
        state = self.values[field].values[local]
        event = self.columns[field].values[column]
        if field == self.monitor:
            return self._monitor_cell(field, state, event)
        outcomes = self.codes.members[field].run(state, event)
        if not outcomes:
            self.refused.setdefault((field, column), len(self.outcomes))
            return kernel.REFUSED
        return self._add_outcomes(field, local, column, outcomes)

    def _monitor_cell(self, field: int, state: LocalState, events: Any) -> int:
        after = self.codes.after_events(state, events)
        if self.code_comparison is not None:
            self.heard.append((state, events, after))
        return self._add_outcomes(field, -1, -1, (Outcome(after),))

    def _add_outcomes(
        self, field: int, local: int, column: int, outcomes: tuple[Outcome, ...]
    ) -> int:
        first = len(self.outcomes)
        for i, outcome in enumerate(outcomes):
            after = self.number_local_state(field, outcome.after)
            messages: tuple[int, ...] = ()
            queued: list[tuple[int, int]] = []
            if self.is_set_network:
                messages = tuple(dict.fromkeys(self.number_messages(field, outcome)))
            else:
                queued = self.queues.sent_by(field, outcome)
            tells = -1
            if outcome.recorded and self.monitor >= 0:
                tells = self.number_event(self.monitor, outcome.recorded)
            o = self.out
            o["next"].append(after)
            o["cost"].append(COSTS[outcome.cost])
            o["last"].append(1 if i == len(outcomes) - 1 else 0)
            o["adds"].append(1 if messages else 0)
            o["send_first"].append(self.send_queue.count)
            o["send_count"].append(len(queued))
            o["tells"].append(tells)
            plain = len(outcomes) == 1 and not outcome.cost and tells < 0 and not queued
            o["plain"].append(1 if plain else 0)
            o["taken"].append(0)
            for queue, number in queued:
                self.send_queue.append(queue)
                self.send_message.append(number)
            self.outcomes.append(outcome)
            self.outcome_cell.append((field, local, column))
            self.outcome_messages.append(messages)
        return first

    def add_joint(self, steps: list[Together]) -> None:
        """Give the next combination of observations its joint steps."""
        self.joint_lists.give(np.array([self.joint_lists.number(steps)]))

    # -- the first state ---------------------------------------------------------------

    def initial(
        self, until: Callable[[], Any] = lambda: False
    ) -> list[tuple[list[int], list[int]]]:
        """Return the initial states: a number for each field, and the messages of the set.

        If `until` returns true, return only the states numbered until then, at least one; later
        calls return the same.
        """
        if not self._initial:
            for begun in self.codes.beginnings():
                if self._initial and until():
                    break
                self._initial.append(beginning(self, begun))
        if self.contents is None:
            return [(list(fields), messages) for fields, messages in self._initial]
        contents = self.contents
        return [([*fields, *contents.numbers(held)], []) for fields, held in self._initial]

    def number_contents(self) -> Contents:
        """Give rows a number for each sender's messages, in place of a bit for each message."""
        more = self.members
        self.fields += more
        self.per_value.add_fields(more)
        self.values += [Numbers() for _ in range(more)]
        self.columns += [Numbers() for _ in range(more)]
        self.shown += [Observations() for _ in range(more)]
        self.contents = Contents(self, kernel.UNKNOWN)
        if self._budget is not None:
            self.contents.bound_by(self._budget.claim)
        self.layout = Layout([0] * self.fields, 0)
        return self.contents

    def give_bits(self) -> Callable[[Rows], Rows]:
        """Undo `number_contents`; return a function that converts rows to the new layout."""
        contents, old = self.contents, self.layout
        if contents is None:
            return lambda rows: rows
        self.contents = None
        self.fields -= self.members
        held = self.values[self.fields :]
        for kept in (self.values, self.columns, self.shown):
            del kept[self.fields :]
        widths = [(max(1, count) - 1).bit_length() for count in self.value_counts()]
        self.layout = Layout(widths, self.slots)
        self._added_upto = 0
        return partial(contents.in_bits, held=held, old=old, layout=self.layout)

    def values_of(self, row: Row) -> list[Any]:
        """Return the values of all fields of one row."""
        return [self.values[f].values[v] for f, v in enumerate(self.layout.fields(row))]


def environment_tables(
    environment: Environment, number_of: Mapping[Surroundings, int], members: Sequence[str]
) -> tuple[kernel.EnvironmentTables, list[tuple[str, Surroundings]]]:
    """Return the arrays, and the action of each move with the surroundings after it."""
    count = len(environment.states)
    spend = np.full((1 + len(FAULTS), count), -1, np.int32)
    link_up = np.ones((count, len(members) ** 2), np.int8)
    is_split = np.zeros(count, np.int8)
    first = np.zeros(count, np.int32)
    counts = np.zeros(count, np.int32)
    moves: list[tuple[str, Surroundings]] = []
    for number, state in enumerate(environment.states):
        spend[0, number] = number
        for cost, fault in enumerate(FAULTS, start=1):
            left = environment.spend(state, fault)
            if left is not None:
                spend[cost, number] = number_of[left]
        if state.split is not None:
            is_split[number] = 1
            link_up[number] = [reaches(state.split, a, b) for a in members for b in members]
        first[number] = len(moves)
        moves += environment.moves(state)
        counts[number] = len(moves) - first[number]
    after = np.array([number_of[state] for _, state in moves] or [0], np.int32)
    return kernel.EnvironmentTables(spend, link_up, is_split, first, counts, after), moves
