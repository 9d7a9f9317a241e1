"""The mark that an orderly stop leaves in the store: permission to continue from there."""

from __future__ import annotations

from attrs import evolve

from joinproto.store.handle import Store


def permit_restart(store: Store) -> None:
    """Write the operator's mark (R3) for the view in which this member was stopped.

    An operator who stops all members in turn means them to start again.  The last ones cannot
    leave, so they end in a view that is open, and at the restart it is a total failure like any
    other.  The mark permits, it does not choose: the rules look for every frame that was
    acknowledged, as with `total_failure = "automatic"`.  It is void as soon as a later view is
    known, so it permits nothing where the others continued without the stopped member.
    """
    record = store.record
    if record.tip is not None and record.tip.is_open and not record.is_marked:
        store.write(evolve(record, mark=record.tip.id))
