"""Compiled tables give the same answers as the slow evaluator and as `transitions`."""

import pickle
import random
from collections import defaultdict
from itertools import product
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from attrs import evolve

from joinproto.cli.diagrams.catalog import tables
from joinproto.clusterer.status import MACHINES
from joinproto.errors import MisuseError
from joinproto.join.phases import Facts, standing
from joinproto.join.succession import going_on
from joinproto.machine import terms
from joinproto.machine.compiled import reader
from joinproto.machine.machine import StateMachine
from joinproto.machine.tables import Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Status
from joinproto.reconcile.timers import CLOCK
from joinproto.reference.note.machine import note_machine
from joinproto.reference.qpid.machine import qpid_machine
from tests.machine.pictures import members
from tests.machine.slow_evaluator import slowly_holds

ROWS_EACH = 60


def test_every_compiled_table_agrees_with_the_slow_evaluator() -> None:
    """Tables of all systems, over rows whose fields have the values that their terms name."""
    draw, taken = random.Random(7), 0
    for table in tables():
        values = _values(table)
        seen = set()
        for _ in range(ROWS_EACH):
            view, me = _view(draw, values)

            chosen = table.choose(view, me)

            assert _first_slowly(table, view, me) is chosen, table.name
            seen.add(chosen.name)
        taken += len(seen) > 1
    assert taken > len(tables()) / 2  # a table of which one case is taken is hardly tested


def test_the_compiled_table_of_phases_agrees_with_the_slow_evaluator_for_all_facts() -> None:
    """Every combination of the thirteen facts of a member is tried."""
    table, names = standing(), [field.name for field in attrs.fields(Facts)]
    for values in product((False, True), repeat=len(names)):
        view = (Facts(**dict(zip(names, values, strict=True))),)

        assert _first_slowly(table, view, 0) is table.choose(view, 0)


@pytest.mark.parametrize(
    "machine",
    [note_machine(), qpid_machine(), CLOCK, *MACHINES.values()],
    ids=lambda machine: machine.name,
)
def test_a_compiled_machine_steps_as_transitions_does(machine: StateMachine[Any]) -> None:
    """From every phase on every trigger, both take the same case to the same next phase."""
    draw = random.Random(11)
    values = _values(*(arrow.table for arrow in machine.arrows), whens=machine.arrows)
    pairs = [(phase, arrow) for phase in machine.phases for arrow in machine.arrows]
    for phase, arrow in pairs:
        if not machine.can(phase, arrow.trigger):
            continue
        for _ in range(4):
            view, me = _view(draw, values)
            one, other = SimpleNamespace(phase=phase), SimpleNamespace(phase=phase)

            step = machine.step(one, arrow.trigger, view, me)

            assert step == machine.declared(other, arrow.trigger, view, me)
            assert one.phase is other.phase


@pytest.mark.parametrize("machine", [note_machine(), *MACHINES.values()], ids=lambda one: one.name)
def test_a_host_inspects_a_machine_through_transitions(machine: StateMachine[Any]) -> None:
    """`transitions` lists the triggers of a phase, and the phases to which they lead."""
    offered = machine.as_transitions
    for phase in machine.phases:
        triggers = {one.trigger for one in machine.arrows if machine.can(phase, one.trigger)}
        outcomes = {
            case.outcome.name
            for arrow in machine.arrows
            if phase in arrow.sources
            for case in arrow.table.cases
        }

        assert triggers == {*offered.get_triggers(phase)}
        assert outcomes == {one.dest for one in offered.get_transitions(source=phase)}


def test_a_table_that_was_used_can_be_pickled_and_changed() -> None:
    """The compiled function is no part of the copy, which compiles its own."""
    table = going_on()
    view, me = _view(random.Random(3), _values(table))
    chosen = table.choose(view, me)

    assert chosen == pickle.loads(pickle.dumps(table)).choose(view, me)
    last = evolve(table, cases=table.cases[-1:])
    assert last.cases[0] is last.choose(view, me)


def test_a_name_that_no_field_can_have_is_an_error() -> None:
    """Otherwise the compiled text could have other code in it."""
    hostile = terms.Fact(Status, "it is so", (("id or exit()", 1),))

    with pytest.raises(MisuseError, match="cannot be the name of a field"):
        reader([(hostile, [(ALWAYS, 1)])])(members("e"), 0)


Values = dict[str, list[object]]


def _first_slowly(table: Table[Any], view: Any, me: int) -> object:
    return next(case for case in table.cases if slowly_holds(case.condition, view, me))


def _view(draw: random.Random, values: Values) -> tuple[Any, int]:
    count = draw.randint(1, 4)
    view = [
        SimpleNamespace(**{name: draw.choice(some) for name, some in values.items()})
        for _ in range(count)
    ]
    return view, draw.randrange(count)


def _values(*some: Table[Any], whens: Any = ()) -> Values:
    """Return for each field the values that these tables ask for, and others."""
    found: Values = defaultdict(list)
    for table in some:
        for case in table.cases:
            _gather(case.condition, found)
    for arrow in whens:
        _gather(arrow.when, found)
    return found


def _gather(term: Any, found: Values) -> None:
    if isinstance(term, terms.Fact):
        for name, value in term.fields:
            found[name] += [value, value, _other(value)]
        return
    if isinstance(term, terms.Mine):
        found[term.field] += [1, 2, 3]
    if isinstance(term, terms.Where | terms.Every | terms.Some):
        found[term.field] += [term.value, _other(term.value)]
    if isinstance(term, terms.DisagreesOn):
        found[term.field] += ["one", "two"]
    if attrs.has(type(term)):
        for field in attrs.fields(type(term)):
            _gather(getattr(term, field.name), found)


def _other(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value + 1  # a number is compared with sizes, too
    return not value if isinstance(value, bool) else None if value is not None else "one"
