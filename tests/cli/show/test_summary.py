"""The report of a check in words."""

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check.report import Coverage, PropertyResult, Report
from joinproto.cli.show import findings
from joinproto.cli.show.amounts import duration, short, size
from joinproto.cli.show.cells import width
from joinproto.cli.show.glyphs import ASCII
from joinproto.cli.show.summary import IDLE_MAX, summary
from tests.cli.show import traces
from tests.cli.show.strategies import texts

Golden = Callable[[str, str], None]


def complete() -> Report:
    """Return the report of a check in which all claims hold and all parts were exercised."""
    return evolve(
        traces.report(None),
        properties=(
            PropertyResult("consistent", "always", "holds", premise_met=True),
            PropertyResult("committed", "sometimes", "reached", 7),
        ),
        coverage=Coverage({"prepare (rm1)": 3}, {}, ()),
        notes=(),
        reductions=(),
        bytes_per_state=0.0,
        row_bits=0,
    )


REPORTS = {
    "violated": traces.report(traces.exchange()),
    "holds": complete(),
    "holds_but": traces.report(None),
    "incomplete": evolve(
        traces.report(None),
        result="incomplete",
        stopped_by="100,000 states",
        properties=(PropertyResult("consistent", "always", "unknown"),),
    ),
    "as_expected": evolve(traces.report(traces.lasso()), expected="violated"),
    "not_reached": evolve(
        complete(),
        result="violated",
        properties=(PropertyResult("committed", "sometimes", "not-reached"),),
    ),
    "not_as_expected": evolve(complete(), expected="violated"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_summary_reads_as_expected(name: str, golden: Golden) -> None:
    """The golden files are whole reports for people to read."""
    golden(f"summary_{name}.txt", summary(REPORTS[name], width=80))


@pytest.mark.parametrize("name", REPORTS)
def test_no_line_of_a_summary_is_wider_than_asked(name: str) -> None:
    """A summary fits the terminal, as the chart does."""
    for columns in (40, 60, 80, 200):
        rows = summary(REPORTS[name], width=columns).splitlines()

        assert [] == [row for row in rows if width(row) > columns]


def test_parts_not_exercised_are_reported_of_a_good_result_too() -> None:
    """Such parts are an `always` whose premise was never met, and a `sometimes` not reached."""
    text = summary(traces.report(None), width=200)

    assert "“waits for all” says nothing here: its premise was never met" in text
    assert "“aborted” was not reached" in text
    assert "case of a table: I6" in text


def test_a_search_that_ended_early_has_not_exercised_everything() -> None:
    """A search ends early at the first state that breaks an `always`, or at a limit."""
    violated = evolve(
        complete(),
        result="violated",
        properties=(PropertyResult("consistent", "always", "violated", 7),),
    )
    stopped = evolve(complete(), result="incomplete", stopped_by="the limit of 9 states")

    for report, why in ((violated, "at the violation"), (stopped, "at a limit")):
        text = summary(report, width=200)

        assert "everything" not in text
        assert f"so far 1 kind of steps: the search ended {why}" in text


@pytest.mark.parametrize(
    ("why", "typed", "is_named"),
    [
        ("the memory limit of 90 MiB (91 MiB in use)", "joinproto check raft", True),
        ("the memory limit of 90 MiB", "joinproto check raft --checkpoint kept", False),
        ("the memory limit, before all runs could be judged", "joinproto check raft", False),
        ("the limit of 9 states", "joinproto check raft", False),
    ],
)
def test_a_search_that_ran_out_of_memory_names_the_way_to_keep_states_on_disk(
    why: str, typed: str, is_named: bool
) -> None:
    """The command does not name it after --checkpoint, or if the graph of steps was too large."""
    stopped = evolve(complete(), result="incomplete", stopped_by=why)

    onward = [fact.heading for fact in findings.next_commands(stopped, typed)]

    assert (f"{typed} --checkpoint DIR" in onward) is is_named
    assert len({*onward}) == len(onward)
    assert not any("--master" in one for one in onward if "--checkpoint" in one)


def test_a_violated_claim_about_whole_runs_does_not_end_the_search_early() -> None:
    violated = evolve(
        complete(),
        result="violated",
        properties=(PropertyResult("finished", "eventually", "violated", 5),),
    )

    assert "everything: 1 kind of steps" in summary(violated, width=200)


def test_a_long_list_of_parts_never_exercised_is_cut_with_a_note() -> None:
    """A screen full of such parts would hide the result."""
    never = tuple(f"step: never {number}" for number in range(IDLE_MAX + 5))
    report = evolve(complete(), coverage=Coverage({}, {}, never))

    rows = summary(report).splitlines()

    assert IDLE_MAX == sum(row.startswith("  step: never") for row in rows)
    assert "  and 5 more; --json lists all" in rows


def test_the_next_command_is_the_typed_one_with_an_option_added() -> None:
    """The next command can be typed as it is printed."""
    report = traces.report(traces.exchange())

    text = summary(report, width=200, command="joinproto check w --members 7")

    assert "joinproto check w --members 7 --trace run.html " in text


def test_the_name_of_a_world_with_a_blank_is_quoted_for_the_shell() -> None:
    assert findings.command(traces.report(None, "a b")) == "joinproto check 'a b'"


@given(texts, texts, texts)
def test_any_text_stays_on_its_line_and_in_ascii(name: str, note: str, never: str) -> None:
    """Names come from models, which may have any text."""
    report = evolve(
        complete(),
        world=name,
        properties=(PropertyResult(name, "always", "holds"),),
        notes=(note,),
        coverage=Coverage({}, {}, (never,)),
    )

    text = summary(report, width=50, glyphs=ASCII)

    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert max(map(len, text.splitlines())) <= 50


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0"), (950, "950"), (1_000, "1.00 k"), (123_456, "123 k"), (9_999_999, "10.0 M")],
)
def test_a_short_count_has_three_digits(number: int, expected: str) -> None:
    """The progress line has no room for more digits."""
    assert expected == short(number)


@pytest.mark.parametrize(
    ("octets", "expected"),
    [(12, "12 bytes"), (98_234_112, "98.2 MB"), (2_300_000_000, "2.30 GB"), (999_999, "1.00 MB")],
)
def test_a_size_is_in_units_of_a_thousand(octets: int, expected: str) -> None:
    """The size names its unit."""
    assert expected == size(octets)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.414, "0.41 s"),
        (9.996, "10.0 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min 00 s"),
        (245.0, "4 min 05 s"),
        (7_400.0, "2 h 03 min"),
    ],
)
def test_a_duration_is_as_exact_as_a_reader_needs(seconds: float, expected: str) -> None:
    """A duration has two or three significant digits."""
    assert expected == duration(seconds)


@given(st.integers(0, 10**15))
def test_no_amount_is_long(number: int) -> None:
    """Columns rely on this width."""
    assert len(short(number)) <= len("1,000 T")
    assert len(size(number)) <= len("999 bytes")
