"""Results of the benchmarks: rows, ratios, and their JSON."""

import json

import pytest
from cattrs.errors import BaseValidationError

from tests.bench.stand_ins import MIB, cost, invented_results, row
from tools.bench import results
from tools.bench.results import comparisons_of, read_json, to_json


def test_a_row_has_the_medians_of_its_runs() -> None:
    """One slow run, in which another process was busy, does not change the row."""
    found = row("joinproto", 8, cost(2, 240), cost(9, 300), cost(2.5, 250))

    assert 2.5 == found.cpu_seconds
    assert 250 * MIB == found.peak_bytes
    assert 1_745_408 / 2.5 == found.distinct_per_cpu_second
    assert 18_507_778 / 2.5 == found.generated_per_cpu_second


def test_bytes_for_each_state_are_counted_above_the_peak_with_three_members() -> None:
    """The memory of a tool's start is not counted for states."""
    base = row("joinproto", 3, cost(1, 150))

    found = row("joinproto", 8, cost(2, 250), base=base)

    assert 100 * MIB / 1_745_408 == found.bytes_per_state


def test_memory_that_does_not_grow_gives_no_bytes_for_each_state() -> None:
    """0 would say that states are free."""
    base = row("joinproto", 3, cost(1, 150))

    assert row("joinproto", 4, cost(1, 150), base=base).bytes_per_state is None
    assert base.bytes_per_state is None


def test_a_search_that_is_short_compared_with_the_start_has_no_time_of_its_own() -> None:
    """With 1.1 s in all and a start of 1 s, the other 0.1 s may be the spread of the start."""
    base = row("joinproto", 3, cost(1, 150))

    assert row("joinproto", 7, cost(1.1, 160), base=base).cpu_after_start is None
    assert 2.0 == row("joinproto", 8, cost(3, 160), base=base).cpu_after_start


def test_a_command_with_no_measured_cpu_has_a_rate() -> None:
    """A system may count CPU in hundredths of a second, so a quick command may have 0."""
    assert row("spin-dfs", 3, cost(0, 1)).distinct_per_cpu_second > 0


def test_ratios_compare_joinproto_with_the_peer_of_the_same_size() -> None:
    """With a speed above 1 joinproto is better, with a memory above 1 it is worse."""
    found = {item.members: item for item in invented_results().comparisons}

    assert [8] == list(found)  # with 3 only the start is measured; 9 has no peer
    assert "spin-dfs" == found[8].peer
    assert 4 / 2.5 == pytest.approx(found[8].speed)
    assert (4 - 0.001) / (2.5 - 1) == pytest.approx(found[8].speed_after_start)
    assert found[8].memory is not None
    assert (245 - 150) / (82 - 2) == pytest.approx(found[8].memory)


def test_without_peers_there_are_no_comparisons() -> None:
    """This is the case on a machine without SPIN."""
    assert () == comparisons_of([row("joinproto", 8, cost(2, 250))])


def test_results_that_are_read_from_json_equal_the_written_results() -> None:
    text = to_json(invented_results())

    assert text == to_json(read_json(text))
    assert invented_results().machine == read_json(text).machine
    assert [r.seen for r in invented_results().rows] == [r.seen for r in read_json(text).rows]


def test_json_has_the_documented_keys() -> None:
    """A change of these keys is a change for programs that read the file."""
    found = json.loads(to_json(invented_results()))

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
    """The form has an unknown key, a missing key, or a value of another kind."""
    changed = json.loads(to_json(invented_results())) | {key: value}

    with pytest.raises((BaseValidationError, TypeError)):
        read_json(json.dumps(changed))


def test_every_tool_has_a_name_to_show() -> None:
    assert {
        "joinproto",
        "spin-dfs",
        "spin-bfs",
        "spin-bfs-o3",
        "per-state",
        "minicheck",
        "musil",
    } == results.TOOL_NAMES.keys()
