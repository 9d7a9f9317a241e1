"""Step contexts: the draft of the next state, and its actions."""

from __future__ import annotations

from attrs import evolve

from tests.join.drafts import draft


def test_only_a_record_that_changes_is_written() -> None:
    """3.2: a write takes a disk's time, and a member settles at every heartbeat."""
    m = draft("F C")
    new = evolve(m.record, update_unfinished=True)

    m.write(m.record)
    assert m.persist is None

    m.write(new)
    assert new == m.persist == m.record
