"""The shipped decision tables, and the second reader of their terms."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
import z3
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.machine.compiled import holds as holds_in_python
from joinproto.machine.sets import ME, C, D, I
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, FewerThan
from joinproto.machine.vocabulary import Phase, Status, Store
from joinproto.prove.terms import BoundedRows, UnboundedRows, holds
from joinproto_claims import differences, tables
from joinproto_claims.tables import Shipped, shipped

TABLES = {item.table.name: item for item in shipped()}
OF_SYSTEMS = ("reconcile", "standby", "discovery", "clusterer")
FEW = {name: BoundedRows(item.kind, 3) for name, item in TABLES.items()}


def _values(item: Shipped, name: str) -> st.SearchStrategy[Any]:
    """Return values for a field by its type: 1 to 4, "x" or "y", or None in an optional text."""
    rows = UnboundedRows(item.kind)
    hint = rows.values.type_of(name)
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(1, 4)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if name == "options" and item.kind is Status:
        return st.sampled_from([(), (("queue", 1),)])
    return st.sampled_from(["x", "y"]) if hint is str else st.sampled_from(["x", "y", None])


def _as_given(rows: BoundedRows, given: list[Any]) -> Any:
    """Return the condition that exactly these rows exist."""
    return z3.And(
        *[there if at < len(given) else z3.Not(there) for at, there in enumerate(rows.there)],
        *[
            rows.get(at, name) == rows.values.literal(name, getattr(row, name))
            for at, row in enumerate(given)
            for name in rows.names
        ],
    )


@settings(max_examples=12, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak("proofs") if name.startswith(OF_SYSTEMS) else ())
        for name in TABLES
    ],
)
def test_both_readers_agree(name: str, data: st.DataObject) -> None:
    """Z3's reader and `compiled.py` agree on random conditions, for one to three random rows."""
    item = TABLES[name]
    fields = {field: _values(item, field) for field in BoundedRows(item.kind, 1).names}
    members = data.draw(st.lists(st.builds(item.kind, **fields), min_size=1, max_size=3))
    case = data.draw(st.sampled_from(item.table.cases))

    rows = FEW[name]
    said = holds(case.condition, rows, 0)
    solver = z3.Solver(ctx=rows.context)
    solver.add(_as_given(rows, members), said)

    assert holds_in_python(case.condition, members, 0) == (solver.check() == z3.sat)


@pytest.mark.parametrize("name", TABLES)
def test_every_case_is_reached_and_no_verdicts_contradict(name: str) -> None:
    """For any rows: a case applies; equal rows have equal verdicts; `apart` verdicts never meet."""
    item = TABLES[name]

    found = [
        *[tables.reaches(item, case) for case in item.table.cases],
        tables.has_no_gap(item),
        tables.treats_equals_alike(item),
        *([tables.never_contradicts(item)] if item.apart else []),
    ]

    assert [] == [one for one in found if one.result != "proved"]


@pytest.mark.parametrize("name", TABLES)
def test_no_set_that_is_counted_depends_on_the_member_that_asks(name: str) -> None:
    """`UnboundedRows` counts a set as one number, so the set must be the same for all members."""
    counted = _counted([case.condition for case in TABLES[name].table.cases])

    assert not [group for group in counted if "Me(" in repr(group)]


def _counted(conditions: list[Any]) -> list[Any]:
    found: list[Any] = []
    for condition in conditions:
        if isinstance(condition, FewerThan):
            found.append(condition.group)
        for name in ("condition", "left", "right"):
            inner = getattr(condition, name, None)
            if inner is not None:
                found += _counted([inner])
    return found


def _table(*cases: Case[Phase]) -> Shipped:
    table = Table("a table", "a test's", (*cases, Case("I8", "else", ALWAYS, Phase.ACTIVE)))
    return Shipped(table, (), tables._ALL_ALIKE)


def test_a_shadowed_case_is_found() -> None:
    """A case that an earlier case covers is never taken."""
    shadowed = Case("I6", "no clean store, and no dirty one", C.is_empty & D.is_empty, Phase.READY)
    item = _table(Case("I6", "no clean store", C.is_empty, Phase.ABORTED), shadowed)

    assert "fails" == tables.reaches(item, shadowed).result


def test_contradicting_verdicts_are_found() -> None:
    """A dirty member stops and a clean one continues, in the same view."""
    item = _table(Case("I7", "own store is dirty", D.has(ME), Phase.ABORTED))

    assert "fails" == tables.never_contradicts(item).result
    assert "proved" == tables.treats_equals_alike(item).result


def test_with_two_values_of_n_the_note_contradicts_itself() -> None:
    """Therefore N must match: otherwise one member waits for more, and another continues."""
    item = evolve(TABLES["note-initialization"], agree_on=())

    assert "fails" == tables.never_contradicts(item).result
    assert "proved" == tables.never_contradicts(TABLES["note-initialization"]).result


def test_the_note_and_the_chain_differ_only_in_listed_cases() -> None:
    """Each difference has a reason and an example; there are no others."""
    found = list(differences.compare())

    assert [] == [one for one in found if one.result != "proved"]
    assert len(differences.WHY) + 1 == len(found)


def test_an_unlisted_difference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    gone = dict(list(differences.WHY.items())[1:])
    monkeypatch.setattr(differences, "WHY", gone)

    assert "fails" in {one.result for one in differences.compare()}


def test_a_fork_of_members_is_decoded_as_rows() -> None:
    """`compiled.py` finds the fork in the rows that Z3's model becomes."""
    rows = BoundedRows(Status, 3)
    solver = z3.Solver(ctx=rows.context)
    solver.add(rows.proper(), holds(C.disagrees_on("final") & ~I.fewer_than(3), rows, 0))
    assert solver.check() == z3.sat

    found = rows.decoded(solver.model())

    assert 3 == len(found)
    assert holds_in_python(C.disagrees_on("final"), found, 0)
    assert 2 <= sum(one.store is Store.CLEAN for one in found)
