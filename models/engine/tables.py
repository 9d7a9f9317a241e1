"""What the member code answered, as numbers: the only room where code and arrays meet.

Every local state, event, message and queue content gets a number when it is first met.
`fill` answers what the kernel asked for, by one call of the real code each (`models/twice.py`
asks some of them again).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from models.answers import Answers
from models.engine import kernel
from models.engine.arrays import Arrays
from models.engine.contents import Contents
from models.engine.expiry import Expiry
from models.engine.layout import Layout
from models.environment import FAULTS, Environment, Surroundings
from models.events import Message
from models.freeze import is_fixed, thaw
from models.local import Codes, LocalState, Outcome, freeze_event
from models.network import FifoLinks, MessageSet, too_full
from models.problems import ModelProblem
from models.world import Together, World

MAX_MESSAGES = 1 << 20


class Numbers:
    """Values of one kind, numbered in the order in which they are first met."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}
        self.values: list[Any] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: Any) -> tuple[int, bool]:
        """Return (number, whether it is new)."""
        known = self.of.get(value)
        if known is not None:
            return known, False
        number = len(self.values)
        self.of[value] = number
        self.values.append(value)
        return number, True


class Observed:
    """What a member shows, and its disk, as claims get it: anew each time where it can change."""

    __slots__ = ("_disk", "_shown", "is_fixed")

    def __init__(self, shown: Hashable, disk: Hashable) -> None:
        self.is_fixed = is_fixed(shown) and is_fixed(disk)
        self._shown: Any = thaw(shown) if self.is_fixed else shown
        self._disk: Any = thaw(disk) if self.is_fixed else disk

    @property
    def shown(self) -> Any:
        return self._shown if self.is_fixed else thaw(self._shown)

    @property
    def disk(self) -> Any:
        return self._disk if self.is_fixed else thaw(self._disk)


class Observations(Numbers):
    """Numbered pairs of what is shown of a member and of its disk, frozen."""

    def __init__(self) -> None:
        super().__init__()
        self._observed: list[Observed] = []

    def __getitem__(self, number: int) -> Observed:
        for at in range(len(self._observed), number + 1):
            self._observed.append(Observed(*self.values[at]))
        return self._observed[number]

    def __reduce__(self) -> Any:
        # What was thawed need not be kept in a file.
        return Observations, (), {"of": self.of, "values": self.values}


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
    """The numbered world: the values behind the numbers, and the arrays made of both."""

    def __init__(self, world: World, answers: Answers | None = None) -> None:
        self.world = world
        self.codes = Codes.of(world)
        if answers is not None:
            answers.give(self.codes)
        self.names = self.codes.names
        super().__init__(
            _shape_of(world, has_monitor=self.codes.monitor is not None),
            set_network=isinstance(world.network, MessageSet),
        )
        self.number_of = {name: i for i, name in enumerate(self.names)}
        self.environment = Environment.of(world)
        self._capacity: int | None = getattr(world.network, "capacity", None)
        self._waits = getattr(world.network, "when_full", "") == "wait"

        self.values = [Numbers() for _ in range(self.fields)]
        self.columns = [Numbers() for _ in range(self.fields)]
        self.expiry = Expiry(world, self.names)
        self.choice_fair: list[bool] = []
        self.outcomes: list[Outcome] = []
        self.outcome_cell: list[tuple[int, int, int]] = []  # (member, local, column)
        self.messages = Numbers()  # (sender, to or None, content) in sets; contents in queues
        self.take_queue: list[int] = []
        self.joint_steps: list[Together] = []
        self.shown = [Observations() for _ in range(self.fields)]
        self._initial: list[tuple[list[int], list[int]]] = []
        self._number_environment()

    def value_counts(self) -> list[int]:
        return [len(values) for values in self.values]

    def column_counts(self) -> list[int]:
        return [len(columns) for columns in self.columns]

    def message_count(self) -> int:
        return len(self.messages)

    def needed_messages(self) -> tuple[npt.NDArray[np.uint64], int]:
        if self.contents is not None:
            return np.zeros((1, 1), np.uint64), self.expiry.horizons
        return self.expiry.needed(self.layout), self.expiry.horizons

    # -- the world's own part ----------------------------------------------------------

    def _number_environment(self) -> None:
        env = self.environment
        for state in env.states:
            number, _ = self.values[self.env_field].add(state)
            self.per_value.make_room(self.env_field, number + 1)
            split, _ = self.shown[self.env_field].add((state.split, None))
            self.per_value.arrays["shown"][self.per_value.off[self.env_field] + number] = split
        of = self.values[self.env_field].of
        count = len(env.states)
        self.spend = np.full((5, count), -1, np.int32)
        self.link_up = np.ones((count, self.members * self.members), np.int8)
        first: list[int] = []
        counts: list[int] = []
        moves: list[int] = []
        self.moves: list[tuple[str, Surroundings]] = []
        for number, state in enumerate(env.states):
            self.spend[0, number] = number
            for cost, name in enumerate(FAULTS, start=1):
                after = env.spend(state, name)
                if after is not None:
                    self.spend[cost, number] = of[after]
            if state.split is not None:
                for i, one in enumerate(self.names):
                    for j, other in enumerate(self.names):
                        apart = (one in state.split) != (other in state.split)
                        self.link_up[number, i * self.members + j] = 0 if apart else 1
            first.append(len(moves))
            for action, after in env.moves(state):
                moves.append(of[after])
                self.moves.append((action, after))
            counts.append(len(moves) - first[-1])
        self.move_first = np.array(first, np.int32)
        self.move_count = np.array(counts, np.int32)
        self.move_env = np.array(moves or [0], np.int32)

    # -- numbering ---------------------------------------------------------------------

    def column(self, field: int, event: Hashable) -> int:
        """Return the number of the frozen `event` at the member of that field."""
        number, new = self.columns[field].add(event)
        if new:
            self.cells.make_room(field, len(self.values[field]), number + 1)
        return number

    def local(self, field: int, state: LocalState) -> int:
        """Return the number of a member's local state; a new one is asked for its choices."""
        number, new = self.values[field].add(state)
        if not new:
            return number
        self.per_value.make_room(field, number + 1)
        self.cells.make_room(field, number + 1, max(1, len(self.columns[field])))
        arrays = self.per_value.arrays
        if field == self.monitor:
            assert self.codes.monitor is not None
            shows = self.codes.monitor.shows(state)
            at = self.per_value.off[field] + number
            arrays["shown"][at] = self.shown[field].add((shows, None))[0]
            return number
        code = self.codes.members[field]
        shown, _ = self.shown[field].add((code.shows(state), code.shows_disk(state)))
        first = self.choice_column.count
        choices = code.choices(state)
        for choice in choices:
            column = self.column(field, choice.event)
            self.choice_column.append(column)
            # The same event may be a whim in one state and due in another: by state.
            self.choice_fair.append(choice.fair)
        at = self.per_value.off[field] + number
        arrays = self.per_value.arrays
        arrays["shown"][at] = shown
        arrays["choice_first"][at] = first
        arrays["choice_count"][at] = len(choices)
        arrays["horizon"][at] = self.expiry.horizon(code.horizon(state))
        return number

    def set_message(self, sender: str, to: str | None, content: Hashable) -> int:
        number, new = self.messages.add((sender, to, content))
        if new:
            if number >= MAX_MESSAGES:
                raise ModelProblem(
                    f"more than {MAX_MESSAGES} different messages",
                    next="bound what members send, or use a bag",
                )
            receivers = [to] if to is not None else [n for n in self.names if n != sender]
            self.to["first"].append(self.to["member"].count)
            self.to["count"].append(len(receivers))
            for name in receivers:
                member = self.number_of[name]
                self.to["member"].append(member)
                self.to["column"].append(self.column(member, Message(sender, content)))
                self.to["link"].append(self.number_of[sender] * self.members + member)
            self.expiry.add(sender, to, content)
        return number

    def queue(self, sender: int, to: int) -> int:
        return sender * self.members + to

    def content(self, queue: int, content: tuple[int, ...]) -> int:
        """Return the number of what a queue holds (numbers of messages, in order)."""
        field = self.queue_field + queue
        number, new = self.values[field].add(content)
        if not new:
            return number
        self.per_value.make_room(field, number + 1)
        self.adds_table.make_room(queue, number + 1, max(1, len(self.messages)))
        sender, to = divmod(queue, self.members)
        heads = (
            [0]
            if self.fifo
            else [i for i in range(len(content)) if i == 0 or content[i] != content[i - 1]]
        )
        entries = []
        if content:
            for i in heads:
                # The rest may be new as well: shorter, so this ends.
                rest = self.content(queue, content[:i] + content[i + 1 :])
                event = Message(self.names[sender], self.messages.values[content[i]])
                entries.append((self.column(to, event), content[i], rest))
        first = self.take["column"].count
        for column, message, rest in entries:
            self.take["column"].append(column)
            self.take["message"].append(message)
            self.take["rest"].append(rest)
            self.take_queue.append(queue)
        at = self.per_value.off[field] + number
        if self.world.show_links:
            held = tuple(self.messages.values[m] for m in content)
            held = held if self.fifo else tuple(sorted(held, key=repr))
            self.per_value.arrays["shown"][at] = self.shown[field].add((held, None))[0]
        self.per_value.arrays["take_first"][at] = first
        self.per_value.arrays["take_count"][at] = len(entries)
        return number

    # -- answers -----------------------------------------------------------------------

    def fill(self, asked: npt.NDArray[np.int64]) -> None:
        """Answer the kernel's questions, rows (kind, x, y, z)."""
        for kind, x, y, z in asked.tolist():
            if kind == kernel.ASK_CELL:
                self._fill_cell(x, y, z)
            elif self.contents is None:
                self._fill_add(x, y, z)
            elif kind == kernel.ASK_ADD:
                self.contents.fill_add(x, y, z)
            elif kind == kernel.ASK_TRIM:
                self.contents.fill_trim(x, y, z)
            else:
                self.contents.fill_vector(x)

    def _is_full(self, held: tuple[int, ...]) -> bool:
        return self._capacity is not None and len(held) >= self._capacity

    def _fill_add(self, queue: int, content: int, message: int) -> None:
        held = self.values[self.queue_field + queue].values[content]
        more = (*held, message)
        if not self.fifo:
            more = tuple(sorted(more))
        if self._is_full(held):
            number = kernel.REFUSED if self._waits else content
        else:
            number = self.content(queue, more)
        self.adds_table.make_room(queue, content + 1, message + 1)
        self.adds_table.put(queue, content, message, number)

    def _fill_cell(self, field: int, local: int, column: int) -> None:
        state = self.values[field].values[local]
        event = self.columns[field].values[column]
        if field == self.monitor:
            first = self._monitor_cell(field, state, event)
        else:
            outcomes = self.codes.members[field].run(state, event)
            if not outcomes:
                first = kernel.REFUSED
            else:
                first = self._add_outcomes(field, local, column, outcomes)
        self.cells.put(field, local, column, first)

    def _monitor_cell(self, field: int, state: LocalState, event: Any) -> int:
        code = self.codes.monitor
        assert code is not None
        for recorded in event:
            outcomes = code.run(state, recorded)
            if outcomes is not None:
                state = outcomes[0].after
        return self._add_outcomes(field, -1, -1, (Outcome(state),))

    def _add_outcomes(
        self, field: int, local: int, column: int, outcomes: tuple[Outcome, ...]
    ) -> int:
        first = len(self.outcomes)
        for i, outcome in enumerate(outcomes):
            after = self.local(field, outcome.after)
            messages: tuple[int, ...] = ()
            queued: list[tuple[int, int]] = []
            if self.set_network:
                messages = tuple(
                    dict.fromkeys(
                        self.set_message(self.names[field], to, content)
                        for to, content in outcome.sent
                    )
                )
            else:
                for to, content in outcome.sent:
                    number, _ = self.messages.add(content)
                    receivers = (
                        [self.number_of[to]]
                        if to is not None
                        else [m for m in range(self.members) if m != field]
                    )
                    queued += [(self.queue(field, member), number) for member in receivers]
                if outcome.cost == "crash" and self.fifo:
                    # What it sent itself before it crashed is under way to it, and lost.
                    queued = [pair for pair in queued if pair[0] % self.members != field]
                for queue, number in queued:
                    self.content(queue, ())
                    self.adds_table.make_room(
                        queue, len(self.values[self.queue_field + queue]), number + 1
                    )
            tells = -1
            if outcome.recorded and self.monitor >= 0:
                tells = self.column(self.monitor, outcome.recorded)
            o = self.out
            o["next"].append(after)
            o["cost"].append({"": 0, "crash": 1, "wipe": 2}[outcome.cost])
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
        j = self.joint
        j["first"].append(j["part_first"].count)
        j["count"].append(len(steps))
        for step in steps:
            j["part_first"].append(j["part_member"].count)
            j["part_count"].append(len(step.events))
            for name, event in step.events.items():
                if name not in self.number_of:
                    raise ModelProblem(
                        f"joint step {step.action!r} has an event for {name!r}, no member",
                        next="members are " + ", ".join(self.names),
                    )
                member = self.number_of[name]
                j["part_member"].append(member)
                j["part_column"].append(self.column(member, freeze_event(event)))
            self.joint_steps.append(step)

    # -- the first state ---------------------------------------------------------------

    def initial(self) -> list[tuple[list[int], list[int]]]:
        """Return the initial states: a number for each field, and the messages of the set."""
        self._initial = self._initial or [self._made(begun) for begun in self.codes.beginnings()]
        if self.contents is None:
            return [(list(fields), messages) for fields, messages in self._initial]
        contents = self.contents
        return [([*fields, *contents.numbers(held)], []) for fields, held in self._initial]

    def _made(
        self, begun: tuple[tuple[LocalState, Outcome | None], ...]
    ) -> tuple[list[int], list[int]]:
        fields = [0] * self.fields
        messages: list[int] = []
        queues: dict[int, tuple[int, ...]] = dict.fromkeys(range(self.queue_count), ())
        for q in range(self.queue_count):
            self.content(q, ())
        told: list[Hashable] = []
        horizons = [0] * self.members
        if self.world.expiry is not None:
            pairs = zip(self.codes.members, begun, strict=True)
            horizons = [code.horizon(before) for code, (before, _) in pairs]
        for field, code in enumerate(self.codes.members):
            state, outcome = begun[field]
            if outcome is not None:
                state = outcome.after
                told += outcome.recorded
                for to, content in outcome.sent:
                    if self.set_network:
                        messages.append(self.set_message(self.names[field], to, content))
                    else:
                        number, _ = self.messages.add(content)
                        for member in range(self.members):
                            if member == self.number_of.get(to or "") or (
                                to is None and member != field
                            ):
                                q = self.queue(field, member)
                                if self._is_full(queues[q]):
                                    if self._waits:
                                        raise too_full(self.names[field])
                                    continue
                                queues[q] = (*queues[q], number)
                                if not self.fifo:
                                    queues[q] = tuple(sorted(queues[q]))
            fields[field] = self.local(field, state)
            if self.world.expiry is not None:
                horizons[field] = code.horizon(state)
                messages = list(self.expiry.of_use(tuple(messages), tuple(horizons)))
        if self.codes.monitor is not None:
            from models.local import START

            outcomes = self.codes.monitor.run(self.codes.monitor.before_start(), START)
            assert outcomes
            state = outcomes[0].after
            for event in told:
                after = self.codes.monitor.run(state, event)
                state = after[0].after if after else state
            fields[self.monitor] = self.local(self.monitor, state)
        fields[self.env_field] = 0
        for q, content in queues.items():
            fields[self.queue_field + q] = self.content(q, content)
        return fields, sorted(set(messages))

    def number_contents(self) -> None:
        """Let a row have a number for what each sender has under way, in place of its bits."""
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

    def give_bits(self) -> Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]:
        """Let a row have a bit for each message again; returns what packs rows so."""
        contents, old = self.contents, self.layout
        if contents is None:
            return lambda rows: rows
        self.contents = None
        self.fields -= self.members
        held = self.values[self.fields :]
        for kept in (self.values, self.columns, self.shown):
            del kept[self.fields :]
        self.layout = Layout(old.widths[: self.fields], self.slots)
        self._added_upto = 0
        return partial(contents.in_bits, held=held, old=old, layout=self.layout)

    def messages_of(self, row: npt.NDArray[np.uint64]) -> list[int]:
        """Return the messages under way in a row, of a set."""
        if self.contents is None:
            return self.layout.messages(row)
        return self.contents.messages(self.layout.fields(row))

    def values_of(self, row: npt.NDArray[np.uint64]) -> list[Any]:
        """Return the values of all fields of one row."""
        return [self.values[f].values[v] for f, v in enumerate(self.layout.fields(row))]
