"""Fairness as numbers: for each step of a finished search, the duties that it fulfils."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from attrs import frozen

from joinproto.check.engine.shapes import Flags, Ints
from joinproto.check.engine.tables import kernel
from joinproto.check.engine.tables.outcomes import FaultSteps
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.events import Message, plain
from joinproto.check.fairness import Fair
from joinproto.check.lassos import choice_words, joint_words, receipt_words, some_words
from joinproto.check.local import Offline, thaw_event

_CHOICE, _RECEIVE, _TAKE, _JOINT, _HEAL = range(5)
"""Kinds of single steps."""

_KIND_AT, _AT = 56, 24
"""A label has its kind from bit 56 on.  Below are two numbers, the upper one from bit 24 on: a
choice's member and event; a message and its receiver; a take's link and message."""


@frozen
class Duties:
    """A group of duties, of which each step fulfils at most one.

    `label`: for each step, the duty that it fulfils, or -1.  `name`: returns a duty's name.
    """

    strong: bool
    label: Ints
    name: Callable[[int], str]

    def rank(self, label: int) -> tuple[int, int]:
        """Return a label's sort key: its kind, and a choice's member or a take's link."""
        kind, upper, _ = _parts(label)
        return kind, upper if kind in (_CHOICE, _TAKE) else 0

    def fulfilled_in(self, edges: Ints) -> list[int]:
        """Return the duties that some of these steps fulfil."""
        return [int(x) for x in np.unique(self.label[edges]) if x >= 0]


def _parts(label: int) -> tuple[int, int, int]:
    """Return a label's kind and its two numbers."""
    rest = label & ((1 << _KIND_AT) - 1)
    return label >> _KIND_AT, rest >> _AT, rest & ((1 << _AT) - 1)


def duties_of(tables: Tables, info: Ints, changes: Flags) -> Iterator[Duties]:
    """Yield all duties of a world with the steps `info`; `changes`: which steps change the state.

    Only steps that change the state count.  For weak fairness to each single step, all steps are
    used, with the same result: a step that changes nothing can be taken wherever it is possible.
    """
    every = labels_of(tables, info)
    changing = np.where(changes, every, -1)
    for fair in tables.world.fairness:
        label = changing if fair.strong else every
        if fair.each and not (fair.actions or fair.of or fair.which):
            yield Duties(fair.strong, label, _names(tables))
            continue
        taken_by = _taken_by(tables, fair, info, label)
        if fair.each:
            some = np.zeros(len(info), np.bool_)
            for mask in taken_by.values():
                some |= mask
            yield Duties(fair.strong, np.where(some, label, -1), _names(tables))
            continue
        masks: list[Flags] = []
        for member, all_taken in taken_by.items():
            mask = all_taken & changes
            # A joint step is one duty, although several members take it.
            if mask.any() and not any(np.array_equal(mask, one) for one in masks):
                masks.append(mask)
                name = some_words(fair.actions, member)
                yield Duties(fair.strong, np.where(mask, 0, -1), lambda _, name=name: name)  # type: ignore[misc]


def unmatched_fairness(tables: Tables, info: Ints) -> list[str]:
    """Return texts of fairness demands that no step of the world matches."""
    label = labels_of(tables, info)
    return [
        f"fairness: {fair}"
        for fair in tables.world.fairness
        if (fair.actions or fair.of or fair.which)
        and not any(mask.any() for mask in _taken_by(tables, fair, info, label).values())
    ]


def choices_before(tables: Tables, info: int) -> int:
    """Return how many choices a member offers before this choice; 0 for any other step."""
    if info & 15 != kernel.CHOICE:
        return 0
    member, local, column = tables.outcome_cell[info >> 32]
    at = int(tables.per_value.off[member]) + local
    first = int(tables.per_value.arrays["choice_first"][at])
    return int(np.argmax(tables.choice_column.array[first:] == column))


def _taken_by(tables: Tables, fair: Fair, info: Ints, label: Ints) -> dict[str, Flags]:
    """Return, for each member, which of its steps `fair` covers; "" stands for the world itself."""
    kind, a, o = kernel.parts_of(info)
    may = label >= 0
    own, joint = kind <= kernel.TAKE, kind == kernel.TOGETHER
    covers = np.zeros(max(1, len(tables.outcomes)), np.bool_)
    asked: dict[tuple[int, int], bool] = {}
    taken_by_member = np.full(len(covers), -1, np.int64)
    for number in np.unique(o[own]).tolist():
        member, local, column = tables.outcome_cell[number]
        if local < 0:
            continue
        if (member, column) not in asked:
            event = thaw_event(tables.columns[member].values[column])
            asked[member, column] = fair.takes(_word(event), tables.names[member], event)
        covers[number], taken_by_member[number] = asked[member, column], member
    found: dict[str, Flags] = {}
    for member, name in enumerate(tables.names):
        mask = np.zeros(len(info), np.bool_)
        mask[own] = covers[o[own]] & (taken_by_member[o[own]] == member)
        if joint.any():
            steps = np.array(
                [
                    name in step.events and fair.takes(step.action, name, step.events[name])
                    for step in tables.joint_steps
                ],
                np.bool_,
            )
            mask[joint] = steps[a[joint]]
        found[name] = mask & may
    if not fair.of and fair.which is None and "heal" in (fair.actions or ("heal",) * fair.each):
        found[""] = (kind == kernel.MOVE) & may
    return found


def _word(event: object) -> str:
    if isinstance(event, Offline):
        event = event.event
    return "receive" if isinstance(event, Message) else plain(event)


def labels_of(tables: Tables, info: Ints) -> Ints:
    """Return the label of each step as a single step, or -1 if fairness never forces it."""
    choice_of = np.full(max(1, len(tables.outcomes)), -1, np.int64)
    fair: dict[tuple[int, int], set[int]] = {}
    per = tables.per_value
    for number, (member, local, column) in enumerate(tables.outcome_cell):
        if local < 0:
            continue
        key = (member, local)
        if key not in fair:
            at = int(per.off[member]) + local
            begin = int(per.arrays["choice_first"][at])
            ends = begin + int(per.arrays["choice_count"][at])
            fair[key] = {
                int(tables.choice_column.array[k])
                for k in range(begin, ends)
                if tables.choice_fair[k]
            }
        if column in fair[key]:
            choice_of[number] = (member << _AT) | column
    kind, a, o = kernel.parts_of(info)
    label = np.full(len(info), -1, np.int64)
    chosen = kind == kernel.CHOICE
    label[chosen] = choice_of[o[chosen]]
    received = kind == kernel.RECEIVE
    members = np.array([m for m, _, _ in tables.outcome_cell] or [0], np.int64)
    label[received] = (_RECEIVE << _KIND_AT) | (a[received] << _AT) | members[o[received]]
    taken = kind == kernel.TAKE
    message = tables.take_message.array.astype(np.int64)[a[taken]]
    label[taken] = (_TAKE << _KIND_AT) | (tables.queues.of_takes(a[taken]) << _AT) | message
    moved = kind == kernel.MOVE
    heals = np.array([action == "heal" for action, _ in tables.moves] or [False])
    label[moved] = np.where(heals[a[moved]], _HEAL << _KIND_AT, -1)
    joint = kind == kernel.TOGETHER
    if joint.any():
        names = _actions(tables)
        numbers = np.array(
            [names[step.action] if step.fair else -1 for step in tables.joint_steps], np.int64
        )
        which = numbers[a[joint]]
        label[joint] = np.where(which >= 0, (_JOINT << _KIND_AT) | which, -1)
    label[FaultSteps.of(tables).of_steps(info)] = -1
    return label


def _actions(tables: Tables) -> dict[str, int]:
    """Return the actions of the joint steps that may be forced, numbered as first met."""
    names: dict[str, int] = {}
    for step in tables.joint_steps:
        if step.fair:
            names.setdefault(step.action, len(names))
    return names


def _names(tables: Tables) -> Callable[[int], str]:
    joint = list(_actions(tables))

    def name(label: int) -> str:
        kind, upper, lower = _parts(label)
        if kind == _CHOICE:
            return choice_words(tables.names[upper], tables.columns[upper].values[lower])
        if kind == _RECEIVE:
            sender, _, content = tables.messages.values[upper]
            return receipt_words(tables.names[lower], sender, content)
        if kind == _TAKE:
            sender, to = divmod(upper, tables.members)
            content = tables.messages.values[lower]
            return receipt_words(tables.names[to], tables.names[sender], content)
        return "heal" if kind == _HEAL else joint_words(joint[lower])

    return name
