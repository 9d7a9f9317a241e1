"""The state in which a run begins, as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from joinproto.check.local import LocalState, Outcome

if TYPE_CHECKING:
    from joinproto.check.engine.tables.tables import Tables


def beginning(
    tables: Tables, begun: tuple[tuple[LocalState, Outcome | None], ...]
) -> tuple[list[int], list[int]]:
    """Return a number for each field, and the messages of the set that are under way.

    `begun`: for each member, its state before it starts, and the outcome of its start, or None if
    it does not start.
    """
    fields = [0] * tables.fields
    messages: list[int] = []
    queues = [""] * tables.queue_count
    for q in range(tables.queue_count):
        tables.queues.number(q, "")
    records: list[Hashable] = []
    expires = tables.world.expiry is not None
    members = tables.codes.members
    horizons = [0] * tables.members
    if expires:
        pairs = zip(members, begun, strict=True)
        horizons = [code.horizon(before) for code, (before, _) in pairs]
    for field, (code, (before, outcome)) in enumerate(zip(members, begun, strict=True)):
        state = before
        if outcome is not None:
            state = outcome.after
            records += outcome.recorded
            if tables.is_set_network:
                messages += tables.number_messages(field, outcome)
            else:
                tables.queues.begin(queues, field, outcome.sent)
        fields[field] = tables.number_local_state(field, state)
        if expires:
            horizons[field] = code.horizon(state)
            messages = list(tables.expiry.of_use(tuple(messages), tuple(horizons)))
    monitor = tables.codes.monitor
    if monitor is not None:
        state = tables.codes.first_monitor()
        for event in records:
            after = monitor.run(state, event)
            state = after[0].after if after else state
        fields[tables.monitor] = tables.number_local_state(tables.monitor, state)
    for q, content in enumerate(queues):
        fields[tables.queue_field + q] = tables.queues.number(q, content)
    return fields, sorted(set(messages))
