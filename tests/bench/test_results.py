"""Rows, ratios, and the JSON that keeps them."""

import json

import pytest
from cattrs.errors import BaseValidationError

from tests.bench.stand_ins import MIB, cost, made_up, row
from tools.bench import results
from tools.bench.results import comparisons_of, read_json, to_json


def test_a_row_has_the_medians_of_its_runs() -> None:
    """One slow run, because another process was busy, changes nothing."""
    found = row("joinproto", 8, cost(2, 240), cost(9, 300), cost(2.5, 250))

    assert 2.5 == found.cpu_seconds
    assert 250 * MIB == found.peak_bytes
    assert 1_745_408 / 2.5 == found.distinct_per_cpu_second
    assert 18_507_778 / 2.5 == found.generated_per_cpu_second


def test_bytes_for_each_state_are_above_the_same_command_with_three() -> None:
    """The memory of a tool's start is not counted for states."""
    base = row("joinproto", 3, cost(1, 150))

    found = row("joinproto", 8, cost(2, 250), base=base)

    assert 100 * MIB / 1_745_408 == found.bytes_per_state


def test_memory_that_does_not_grow_is_no_number_for_each_state() -> None:
    """0 would say that states are free."""
    base = row("joinproto", 3, cost(1, 150))

    assert row("joinproto", 4, cost(1, 150), base=base).bytes_per_state is None
    assert base.bytes_per_state is None


def test_a_search_that_is_short_compared_with_the_start_is_not_told_apart() -> None:
    """1.1 s after a start of 1 s: the 0.1 s may be the start's own spread."""
    base = row("joinproto", 3, cost(1, 150))

    assert row("joinproto", 7, cost(1.1, 160), base=base).cpu_after_start is None
    assert 2.0 == row("joinproto", 8, cost(3, 160), base=base).cpu_after_start


def test_a_command_below_the_clock_does_not_divide_by_zero() -> None:
    """A system may count CPU in hundredths of a second."""
    assert row("spin-dfs", 3, cost(0, 1)).distinct_per_cpu_second > 0


def test_ratios_say_how_many_times_as_many_as_the_peer() -> None:
    """Speed above 1 is good, memory above 1 is not."""
    found = {item.members: item for item in made_up().comparisons}

    assert [8] == list(found)  # with 3 only the start is measured; 9 has no peer
    assert "spin-dfs" == found[8].peer
    assert 4 / 2.5 == pytest.approx(found[8].speed)
    assert (4 - 0.001) / (2.5 - 1) == pytest.approx(found[8].speed_after_start)
    assert found[8].memory is not None
    assert (245 - 150) / (82 - 2) == pytest.approx(found[8].memory)


def test_without_peers_there_is_nothing_to_compare() -> None:
    """A machine without SPIN."""
    assert () == comparisons_of([row("joinproto", 8, cost(2, 250))])


def test_json_brings_back_what_was_written() -> None:
    """Numbers keep five digits."""
    text = to_json(made_up())

    assert text == to_json(read_json(text))
    assert made_up().machine == read_json(text).machine
    assert [r.seen for r in made_up().rows] == [r.seen for r in read_json(text).rows]


def test_json_has_the_keys_that_others_read() -> None:
    """The schema: a change here is a change for readers of the file."""
    found = json.loads(to_json(made_up()))

    assert {
        "command", "date", "runs", "machine", "rows", "comparisons", "starts", "cold",
        "problems", "left_out", "member", "node", "restart",
    } == found.keys()  # fmt: skip
    assert {
        "tool", "world", "members", "command", "seen", "costs", "cpu_seconds", "wall_seconds",
        "peak_bytes", "distinct_per_cpu_second", "generated_per_cpu_second", "cpu_after_start",
        "bytes_per_state",
    } == found["rows"][0].keys()  # fmt: skip
    assert {"distinct", "generated", "depth", "calls"} == found["rows"][0]["seen"].keys()
    assert {
        "peer", "world", "members", "speed", "speed_after_start", "memory",
    } == found["comparisons"][0].keys()  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [("unknown", 1), ("rows", [{}]), ("runs", None), ("machine", "fast")],
)
def test_json_of_another_form_is_refused(key: str, value: object) -> None:
    """An unknown key, a missing one, a value of another kind."""
    changed = json.loads(to_json(made_up())) | {key: value}

    with pytest.raises((BaseValidationError, TypeError)):
        read_json(json.dumps(changed))


def test_every_tool_has_a_name_to_show() -> None:
    """Tables and pictures use it."""
    assert {
        "joinproto",
        "spin-dfs",
        "spin-bfs",
        "spin-bfs-o3",
        "per-state",
        "minicheck",
        "musil",
    } == results.TOOL_NAMES.keys()
