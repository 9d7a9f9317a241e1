"""The run as a pytest test that can be pasted."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.check.properties import Kind
from joinproto.check.report import Trace
from joinproto.cli.show.paste import literal, paste
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import statements_of
from tests.cli.show import traces
from tests.cli.show.strategies import any_trace


def calls(source: str) -> Iterator[tuple[str, list[object]]]:
    """Yield the method and the arguments of each call of `run` in the test."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("run"), attr=name), args=arguments):
                yield name, [ast.literal_eval(argument) for argument in arguments]


def formatted(source: str, *, line_length: int) -> str:
    """Return `source` as the formatter leaves it."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated"]
    command += [f"--line-length={line_length}", "--stdin-filename=test_it.py", "-"]
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def test_a_pasted_test_takes_every_step_by_its_label(trace: Trace) -> None:
    """The test calls `Replay.step(label, member)` with the label of the step."""
    found = [arguments for name, arguments in calls(paste(traces.report(trace), trace))][
        : len(trace.steps)
    ]

    expected = [
        [step.label] if step.member is None else [step.label, step.member] for step in trace.steps
    ]

    assert sorted(map(repr, expected)) == sorted(map(repr, found))


@given(any_trace())
def test_a_run_with_any_texts_becomes_a_valid_program(trace: Trace) -> None:
    """Contents may have quotes, backslashes, line ends, escapes and lone surrogates."""
    source = paste(traces.report(trace, world='a "b"/c.py::d'), trace)

    compile(source, "test_it.py", "exec")
    steps = [arguments for name, arguments in calls(source) if name == "step"]

    assert [step.label for step in trace.steps] == [label for label, *_ in steps]


@given(st.text())
def test_a_literal_is_the_text(text: str) -> None:
    """The text may have unprintable characters and lone surrogates."""
    assert text == ast.literal_eval(literal(text))
    assert literal(text).isprintable()


@pytest.mark.parametrize("line_length", [79, 88, 100, 120])
def test_the_formatter_changes_nothing(trace: Trace, line_length: int) -> None:
    """A project's formatter leaves a pasted test as it is, for any line length."""
    options = {"members": 3, "mutant": "one-vote-short", "deep": 'quo"te'}
    source = paste(traces.report(trace), trace, options=options)

    assert source == formatted(source, line_length=line_length)


@settings(max_examples=settings().max_examples // 4)  # each example starts the formatter
@given(any_trace())
def test_the_formatter_changes_nothing_for_any_contents(trace: Trace) -> None:
    """The test has the quotes that the formatter prefers, and comments where it leaves them."""
    source = paste(traces.report(trace), trace)

    assert source == formatted(source, line_length=88)


def test_the_linter_reports_nothing_in_a_pasted_test(trace: Trace) -> None:
    """A user can commit the pasted test unchanged."""
    source = paste(traces.report(trace), trace, options={"members": 3})
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=100"]
    command += ["--select=E,W,F,I,N,B,UP,RUF,SIM,PT", "--ignore=RUF001,RUF003", "-"]

    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stdout


def test_the_comments_state_every_change(trace: Trace) -> None:
    """The comments of each step have all its changes."""
    rows = [row.strip() for row in paste(traces.report(trace), trace).splitlines()]
    comments = " ".join(row.removeprefix("# ").removeprefix("| ") for row in rows if row[:1] == "#")
    wanted = [item.text for moment in story_of(trace).moments[1:] for item in statements_of(moment)]

    at = 0
    for text in (" ".join(text.split()) for text in wanted):
        at = comments.index(text, at)


def test_a_pasted_test_builds_the_world_with_the_same_options() -> None:
    """Options of the command are arguments of `load_world`; a long call has a line of its own."""
    trace = traces.exchange()
    report = traces.report(trace)

    short = paste(report, trace, options={"members": 3})
    long = paste(report, trace, options={"members": 3, "mutant": "one-vote-short"})

    assert '    run = Replay(load_world("two-phase-commit", members=3))\n' in short
    assert (
        '    world = load_world("two-phase-commit", members=3, mutant="one-vote-short")\n'
        "    run = Replay(world)\n"
    ) in long


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exchange", ['assert run.violates("consistent")']),
        ("lasso", ["assert run.loops_to(1)", 'assert not run.shows("finished")']),
        ("stuck", ['assert not run.shows("active")']),
    ],
)
def test_the_end_of_the_run_is_asserted(name: str, expected: list[str]) -> None:
    """A lasso ends in the state in which its cycle begins."""
    trace = traces.ALL[name]()
    rows = [row.strip() for row in paste(traces.report(trace), trace).splitlines()]

    assert expected == [row for row in rows if row.startswith("assert")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sometimes", ['assert run.shows("p")']),
        ("no deadlock", ["assert run.stuck()", 'assert not run.shows("p")']),
        ("always possible", ['assert not run.shows("p")']),
    ],
)
def test_other_kinds_of_claims_have_their_own_assertions(kind: Kind, expected: list[str]) -> None:
    """`violates` is not asserted for these kinds."""
    trace = traces.Run({"a": {"n": "0"}}).trace("p", kind)
    rows = [row.strip() for row in paste(traces.report(trace), trace).splitlines()]

    assert expected == [row for row in rows if row.startswith("assert")]


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ("two-phase-commit", "test_it_holds_in_two_phase_commit"),
        ("path/to/My-Model.py::ring", "test_it_holds_in_my_model_ring"),
        ("§", "test_it_holds_in_it"),
    ],
)
def test_the_name_of_the_test_is_claim_and_world(world: str, expected: str) -> None:
    """The name says which claim was violated in which world."""
    trace = traces.Run({"a": {"n": "0"}}).trace("It holds!")

    assert f"def {expected}() -> None:" in paste(traces.report(trace, world), trace)


def test_steps_are_written_in_their_order() -> None:
    """The numbers in the comments go up."""
    trace = traces.five_members()
    rows = [row.strip() for row in paste(traces.report(trace), trace).splitlines()]
    numbers = [int(found[1]) for row in rows if (found := re.match(r"# (\d+): ", row))]

    assert all(one < other for one, other in pairwise(numbers))
    assert 25 == len(numbers)
