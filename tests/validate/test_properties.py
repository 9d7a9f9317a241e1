"""Each claim can be broken: a history of a run that must not be, and one that may."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.join.lineage import Lineage
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View, change, found
from tools.validate.history import Claim, History, Opening
from tools.validate.properties import PROPERTIES

A, B, C = (Seat(name, f"store of {name}") for name in "abc")


def founding(nonce: str = "-", cluster: str = "cluster") -> View:
    return found(
        members=[A, B, C],
        electors=[A, B, C],
        wait_for=2,
        options_digest="options",
        cluster_name=cluster,
        nonce=nonce,
        time=0,
    )


FIRST = founding()
TWO = Position(FIRST.id, 2)


def behind(nonce: str, position: Position | None, *members: Seat) -> View:
    return change(FIRST, members=members, position=position, activated=True, nonce=nonce, time=0)


SECOND = behind("-", TWO, A, B)


def history(*views: View) -> History:
    """Return a run in which all were ready in each view, and frames 1 and 2 are committed."""
    made = History()
    for view in views or (FIRST, SECOND):
        made.views[view.id] = view
        made.held[view.id] = set(view.members)
    for seq in (1, 2):
        keep(made, FIRST, seq)
    return made


def keep(made: History, view: View, seq: int, *seats: Seat, at: int = 10) -> None:
    for seat in seats or view.members:
        made.holders[view.id, seq][seat] = at


def opening(view: View, seat: Seat = A, **more: Any) -> Opening:
    lineage = Lineage((FIRST, view) if view.parent else (view,), FIRST.id)
    record = StoreRecord(
        store_id=seat.store_id, lineage=lineage, held=view.id, position=view.position
    )
    facts: dict[str, Any] = {
        "record": record,
        "digest": "options",
        "data": ((FIRST.id, 1), (FIRST.id, 2)),
    }
    return Opening(seat=seat, view=view, at=20, **(facts | more))


def broken(made: History) -> set[str]:
    return {name for name, claim in PROPERTIES.items() if list(claim(made))}


def test_a_run_that_may_be_breaks_nothing() -> None:
    made = history()
    made.openings += [opening(FIRST, data=()), opening(SECOND)]
    made.claims.append(Claim(FIRST, 2, 11, "log"))

    assert set() == broken(made)


def two_successors() -> History:
    return history(FIRST, SECOND, behind("other", TWO, A, B))


def two_foundings() -> History:
    return history(FIRST, founding("other"))


def committed_behind_the_start_of_the_next() -> History:
    made = history()
    keep(made, FIRST, 3)
    return made


def committed_twice() -> History:
    made = history()
    keep(made, FIRST, 3)
    keep(made, SECOND, 3)
    return made


def lost_by_who_is_ready() -> History:
    return history(FIRST, behind("-", Position(FIRST.id, 1), A, B))


def opened_without_the_data() -> History:
    made = history()
    made.openings.append(opening(SECOND, data=((FIRST.id, 1),)))
    return made


def opened_by_a_stranger() -> History:
    made = history()
    made.openings.append(opening(SECOND, C))
    return made


def acknowledged_too_early() -> History:
    made = history()
    keep(made, SECOND, 3, A, at=30)
    keep(made, SECOND, 3, B, at=40)
    made.claims.append(Claim(SECOND, 3, 35, "log"))
    return made


def different_data() -> History:
    made = history()
    made.digests[FIRST.id, 1] = {"log of a": "x", "log of b": "y"}
    return made


def served_before_all_were_ready() -> History:
    made = history()
    made.held[SECOND.id] = {A}
    made.openings.append(opening(SECOND))
    return made


def served_with_other_options() -> History:
    made = history()
    made.openings.append(opening(SECOND, digest="others"))
    return made


def served_without_having_written_it() -> History:
    made = history()
    right = opening(SECOND)
    made.openings.append(evolve(right, record=evolve(right.record, held=FIRST.id)))
    return made


def renamed() -> History:
    made = history()
    made.signatures["store of a"] = {FIRST.id, founding("other").id}
    return made


def forgot() -> History:
    made = history()
    made.problems.append(("disk_keeps_what_was_written", "log"))
    return made


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (two_successors(), "one_successor"),
        (two_foundings(), "one_successor"),
        (committed_behind_the_start_of_the_next(), "no_split_brain"),
        (committed_twice(), "no_split_brain"),
        (lost_by_who_is_ready(), "no_stale_source"),
        (opened_without_the_data(), "nothing_lost"),
        (opened_by_a_stranger(), "no_wrong_store"),
        (acknowledged_too_early(), "acknowledged_is_committed"),
        (different_data(), "position_is_data"),
        (served_before_all_were_ready(), "waits_for_n"),
        (served_with_other_options(), "options_agree"),
        (served_without_having_written_it(), "dirty_before_serving"),
        (renamed(), "signature_never_changes"),
        (forgot(), "disk_keeps_what_was_written"),
    ],
)
def test_a_run_that_must_not_be_is_found(made: History, name: str) -> None:
    assert name in broken(made)
