"""The mark that an orderly stop leaves in the store: a permission to restart from its view."""

from __future__ import annotations

from attrs import evolve

from joinproto.store.handle import Store


def permit_restart(store: Store) -> None:
    """Write the operator's mark (R3) for the view in which this member was stopped.

    An operator who stops all members one after the other wants them to start again later.  The last
    members cannot leave, so they end in an open view, and the restart is one after a total failure.
    The mark only permits recovery and chooses no store: the rules require every acknowledged frame,
    as with `total_failure = "automatic"`.  The mark is void as soon as a later view is known, so it
    has no effect if the others continued without the stopped member.
    """
    record = store.record
    if record.tip is not None and record.tip.is_open and not record.is_marked:
        store.write(evolve(record, mark=record.tip.id))
