"""The run in the Informal Trace Format (Apalache's ADR-015)."""

import json
from keyword import iskeyword
from typing import Any

from hypothesis import given

from joinproto.check.report import Trace
from joinproto.cli.show.itf import INTEGER_MAX, itf
from tests.cli.show import traces
from tests.cli.show.strategies import any_trace


def problems(found: Any) -> list[str]:
    """Return the places where `found` does not have the published form."""
    allowed = {"#meta", "params", "vars", "states", "loop"}
    bad = [f"field {key}" for key in found if key not in allowed]
    if len(set(found["vars"])) != len(found["vars"]):
        bad.append("a variable twice")
    bad += [f"variable {name}" for name in found["vars"] if name.startswith("#")]
    for number, state in enumerate(found["states"]):
        names = set(state) - {"#meta"}
        if names != set(found["vars"]):
            bad.append(f"state {number} has {names}")
        bad += [
            f"state {number}: {problem}" for name in names for problem in _in_value(state[name])
        ]
    if "loop" in found and not 0 <= found["loop"] < len(found["states"]):
        bad.append(f"loop {found['loop']}")
    return bad


def _in_value(value: Any) -> list[str]:
    match value:
        case str():
            return []
        case bool():
            return ["bool"]
        case int():
            return [] if abs(value) <= INTEGER_MAX else [f"integer {value}"]
        case dict():
            # Readers need identifiers, although the format does not.
            bad = [f"field {key}" for key in value if not key.isidentifier() or iskeyword(key)]
            return bad + [item for part in value.values() for item in _in_value(part)]
        case _:
            return [f"{value!r}"]


def test_every_run_has_the_published_form(trace: Trace) -> None:
    """The object has `#meta`, `vars` and `states`; every state has a value of every variable."""
    assert [] == problems(json.loads(json.dumps(itf(trace, source="w"))))


@given(any_trace())
def test_a_run_with_any_texts_has_the_published_form(trace: Trace) -> None:
    """Names may begin with # or be in use already, and integers may be too long for JSON."""
    assert [] == problems(json.loads(json.dumps(itf(trace))))


@given(any_trace())
def test_every_state_is_written_in_full(trace: Trace) -> None:
    """The trace has all values of each member, even if fields have other names."""
    found = itf(trace)
    members = dict.fromkeys([*trace.initial, *(n for step in trace.steps for n in step.states)])

    for state, whole in zip(
        found["states"], [trace.initial, *(step.states for step in trace.steps)], strict=True
    ):
        for variable, member in zip(found["vars"], members, strict=False):
            values = whole.get(member, {})
            record = dict(state[variable])

            assert values.get("", "up") == record.pop("status")
            assert [text for key, text in values.items() if key] == list(map(str, record.values()))


def test_the_action_of_each_state_is_the_step_that_led_there() -> None:
    """The action has the member and the step's label, as a replay takes it."""
    actions = [state["action"] for state in itf(traces.exchange())["states"]]

    assert [
        "init",
        "rm1: prepare",
        "rm2: choose to abort",
        "tm: receive prepared rm1 from rm1",
        "tm: commit",
        "rm1: receive commit from tm",
    ] == actions


def test_an_attribute_is_an_integer_only_if_it_always_is() -> None:
    """Typed readers give a variable one type for the whole run."""
    run = traces.Run({"a": {"n": "1", "m": "-", "long": "9" * 30}})
    run.step("go", "a", now={"a": {"n": "-2", "m": "3"}})

    first, second = (state["a"] for state in itf(run.trace("any"))["states"])

    assert {"status": "up", "n": 1, "m": "-", "long": "9" * 30} == first
    assert {"status": "up", "n": -2, "m": "3", "long": "9" * 30} == second


def test_the_loop_of_a_cycle_begins_after_the_state_it_returns_to() -> None:
    """The last state repeats the state after step 1, so the loop goes on after step 2."""
    found = itf(traces.lasso())

    repeated = {key: value for key, value in found["states"][1].items() if key in ("ping", "pong")}
    last = {key: value for key, value in found["states"][-1].items() if key in ("ping", "pong")}

    assert found["loop"] == 2
    assert repeated == last


def test_a_run_that_ends_stays_in_its_last_state() -> None:
    """A lasso without a cycle repeats the last state."""
    found = itf(traces.stuck())

    assert found["loop"] == len(found["states"]) - 1


def test_a_run_without_a_cycle_has_no_loop() -> None:
    """The field is optional, and its absence means a finite run."""
    assert "loop" not in itf(traces.exchange())
