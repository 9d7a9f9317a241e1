"""`joinproto recover mark-clean` for a store of hot standby, so that it may be promoted again.

Source: hot standby, H3, H10.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.form import NAMES, Marked
from joinproto.codec.json_form import canonical_hash
from joinproto.errors import UsageProblem
from joinproto.pick.table import Verdict
from joinproto.recovery.brokers import FORMER, kept_of
from joinproto.recovery.found import Found
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.plan import Refused
from joinproto.recovery.sources import this_host
from joinproto.recovery.writing import Done, Outcome, Stale


def target_of(judgement: Judgement, path: Path) -> Found:
    """Return the store to mark, which is at `path`; raises `UsageProblem`, `Refused`.

    It must be the best of the given stores, whether that is proven or not.
    """
    here = [one for one in judgement.stores if one.host == this_host() and Path(one.path) == path]
    if not here:
        raise UsageProblem(f"{path} is not a store here", next="name a directory of this machine")
    one = here[0]
    settled = (Verdict.PROVEN, Verdict.UNPROVEN)
    best = judgement.pick.latest
    if judgement.pick.case == FORMER:
        best = best[:1]  # the other stores may have more messages, but are not the best
    if judgement.verdict not in settled or one.name not in best:
        raise Refused(judgement.sentence, next=judgement.next, code=judgement.code or 5)
    return one


def hash_of(judgement: Judgement, one: Found) -> str:
    """Return the hash that binds the operator's agreement to the examined stores."""
    seen = sorted([each.name, each.raw.digest] for each in judgement.stores)
    return canonical_hash(["mark-clean standby", one.name, seen])


def is_clean(one: Found) -> bool:
    """Return whether the store is marked clean already."""
    kept = kept_of(one)
    return kept is not None and kept.clean


def mark(one: Found, made: Mapping[str, str], *, is_proven: bool) -> Done:
    """Mark the store clean, durably.

    `made`: who marks it, when and why.  Raises `Stale`, `StoreError`.
    """
    kept = kept_of(one)
    assert kept is not None
    path = Path(one.path)
    with open_disk(path, kept.broker) as disk:
        if disk.kept != kept:
            raise Stale(f"{one.name}: changed since it was read", next="run the same command again")
        entry = Marked(
            when=made["when"],
            what="marked clean" if is_proven else "marked clean, not proven",
            who=made["who"],
            host=made["host"],
            why=made.get("why", ""),
        )
        disk.write(evolve(kept, clean=True, history=(*kept.history, entry)))
    said = f"{one.name}: marked clean, generation {kept.view.generation}"
    return Done(outcome=Outcome.DONE, said=(said,), backup=str(path / NAMES[1]))
