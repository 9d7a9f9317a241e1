"""Tables are complete by construction, each case is reached, and machines read them alike."""

import random
from collections.abc import Sequence
from enum import Enum
from types import SimpleNamespace

import attrs
import pytest

from joinproto.errors import MisuseError
from joinproto.join.phases import RUNNING as STANDING
from joinproto.join.phases import Facts
from joinproto.join.phases import Phase as ChainPhase
from joinproto.join.phases import machine as standing_machine
from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.markdown import table_as_markdown
from joinproto.machine.sets import A, C, E, I, K
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition
from joinproto.machine.vocabulary import Phase, Status, Store
from joinproto.reference.note.initialization import initialization
from joinproto.reference.note.joining import joining
from joinproto.reference.note.machine import note_machine
from joinproto.reference.note.readings import READINGS
from joinproto.reference.qpid.machine import qpid_machine
from joinproto.reference.qpid.starting import STARTING
from joinproto.reference.qpid.store_status import STORE_STATUS
from tests.machine.pictures import members, small_worlds
from tests.machine.slow_evaluator import slowly_holds
from tools.docs_tables import legend


class Colour(Enum):
    """Outcomes of tables that are made up."""

    RED = "red"
    BLUE = "blue"


def case(name: str, condition: Condition, outcome: Colour = Colour.RED) -> Case[Colour]:
    """Return a case of a made-up table."""
    return Case("X1", name, condition, outcome)


def test_the_first_case_that_holds_is_taken() -> None:
    """A table is read from the top."""
    table = Table("t", "", (case("one", C.is_empty), case("two", ALWAYS, Colour.BLUE)))

    assert "one" == table.choose(members("e"), 0).name
    assert "two" == table.choose(members("cXF"), 0).name


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ((), "does not always hold"),
        ((case("one", C.is_empty),), "does not always hold"),
        ((case("one", ALWAYS), case("two", ALWAYS)), "'two' is never reached"),
        (
            (case("one", C.is_empty), case("two", C.is_empty), case("three", ALWAYS)),
            "'two' is never reached",
        ),
        ((case("one", C.is_empty), case("one", ALWAYS)), "called 'one'"),
    ],
)
def test_a_table_with_a_gap_a_dead_case_or_a_name_twice_cannot_be_made(
    cases: tuple[Case[Colour], ...], problem: str
) -> None:
    """These faults are found without members."""
    with pytest.raises(MisuseError, match=problem):
        Table("t", "", cases)


@pytest.fixture(scope="module")
def initial() -> list[tuple[Status, ...]]:
    """Return the sets in which no member is active."""
    return [view for view in small_worlds() if not any(status.active for status in view)]


@pytest.fixture(scope="module")
def running() -> list[tuple[Status, ...]]:
    """Return the sets in which the first member is not active, but another member is."""
    return [
        view
        for view in small_worlds()
        if not view[0].active and any(status.active for status in view)
    ]


@pytest.mark.parametrize("reading", READINGS)
def test_every_case_of_initialization_and_joining_is_reached(
    reading: str, initial: list[tuple[Status, ...]], running: list[tuple[Status, ...]]
) -> None:
    """Every set of up to three members is tried."""
    for table, views in (
        (initialization(READINGS[reading]), initial),
        (joining(READINGS[reading]), running),
    ):
        taken = {table.choose(view, me).name for view in views for me in (0, len(view) - 1)}

        assert {case.name for case in table.cases} == taken


def test_every_case_of_qpids_start_and_store_status_is_reached(
    initial: list[tuple[Status, ...]], running: list[tuple[Status, ...]]
) -> None:
    """The same for Qpid's rules, for which the order of members matters."""
    taken = {STARTING.choose(view, 0).name for view in (*initial, *running)}
    judged = {STORE_STATUS.choose(view, 0).name for view in initial}

    assert {case.name for case in STARTING.cases} == taken
    assert {case.name for case in STORE_STATUS.cases} == judged


def test_the_machine_takes_the_case_that_the_evaluator_takes() -> None:
    """The evaluator takes the first case that holds."""

    class Model:
        phase = Phase.INITIALIZING

    machine = note_machine()
    for view in small_worlds():
        if view[0].active:
            continue
        model = Model()
        table = joining() if any(status.active for status in view) else initialization()
        expected = next(it for it in table.cases if slowly_holds(it.condition, view, 0))

        step = machine.step(model, "agreed", view, 0)

        assert expected == step.case
        assert expected.outcome is model.phase


def test_the_machine_answers_as_transitions_does() -> None:
    """The machine compiles its tables; `transitions` tries their cases in order."""
    machine, names = standing_machine(), [field.name for field in attrs.fields(Facts)]
    draw = random.Random(5)

    for _ in range(1_000):
        facts = Facts(**{name: draw.random() < 0.7 for name in names})
        phase = draw.choice(STANDING)
        one, other = _Model(phase), _Model(phase)

        step = machine.step(one, "settle", (facts,), 0)

        assert step == machine.declared(other, "settle", (facts,), 0)
        assert one.phase is other.phase


@attrs.define(slots=False)  # `transitions` gives it a phase by its name
class _Model:
    phase: ChainPhase


def test_an_impossible_event_is_refused_and_changes_nothing() -> None:
    """No trigger is ever ignored in silence."""

    class Model:
        phase = Phase.ABORTED

    model = Model()

    with pytest.raises(MisuseError, match="'client_write' cannot happen") as caught:
        note_machine().step(model, "client_write", members("cXF"), 0)

    assert "active" in caught.value.next
    assert Phase.ABORTED is model.phase


RED: tuple[Case[Colour], ...] = (case("always", ALWAYS),)


@pytest.mark.parametrize(
    ("arrows", "problem"),
    [
        (
            [Arrow("go", (Colour.RED,), Table("t", "", RED), when=C.is_empty)],
            "no table always applies",
        ),
        (
            [
                Arrow("go", (Colour.RED,), Table("t", "", RED)),
                Arrow("go", (Colour.RED,), Table("u", "", RED)),
            ],
            "table u is never reached",
        ),
    ],
)
def test_a_machine_with_a_gap_or_a_dead_table_cannot_be_made(
    arrows: Sequence[Arrow[Colour]], problem: str
) -> None:
    """Machines refuse gaps and dead tables, as tables refuse gaps and dead cases."""
    with pytest.raises(MisuseError, match=problem):
        StateMachine("m", Colour, arrows)


def test_one_machine_serves_all_members() -> None:
    """A machine costs milliseconds to make; a searched world has thousands of members."""
    assert note_machine() is note_machine()
    assert qpid_machine() is qpid_machine()


def test_a_table_prints_as_markdown() -> None:
    """Each case is one line."""
    text = table_as_markdown(Table("t", "", (case("a|b", C.is_empty), case("else", ALWAYS))))

    assert [
        "| rule | case | when | outcome |",
        "| --- | --- | --- | --- |",
        "| X1 | a\\|b | C is empty | red |",
        "| X1 | else | always | red |",
    ] == text.splitlines()


def test_the_legend_defines_each_set() -> None:
    """Named sets are not expanded anywhere else."""
    assert [
        "I = all members that this member knows of, and itself",
        "E = I with store = empty",
        "A = I with active",
        "K = A - A with initial = none",
    ] == list(legend([I, E, A, K]))


def test_members_of_a_table_can_be_any_rows() -> None:
    """A table reads only the fields that its conditions name."""
    table = Table("t", "", (case("one", C.is_empty), case("else", ALWAYS)))

    assert "else" == table.choose([SimpleNamespace(store=Store.CLEAN)], 0).name
