"""The cost of a member: the right code is measured, and the figures are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from joinproto.join.phases import Phase
from tests.bench.stand_ins import invented_results
from tools.bench import __main__ as command
from tools.bench import member, report
from tools.bench.results import MemberCost, read_json, to_json

COST = MemberCost(
    members=5,
    round_us=80.0,
    life_us=90.0,
    life_slowest_tenth_us=200.0,
    life_rounds=1_234,
    trigger_us=40.0,
    young_bytes=8 * 1024,
    old_bytes=512 * 1024,
    old_views=1_000,
)


def test_a_life_goes_from_the_founding_to_the_orderly_shutdown() -> None:
    """Every member serves, and has a clean store at the end."""
    cluster = member.Cluster()

    cluster.live(Phase.ACTIVE)
    assert all(one.is_serving for one in cluster.members.values())
    cluster.close()

    assert {"clean"} == {one.record.state.value for one in cluster.members.values()}
    assert len(cluster.seconds) > 100


def test_a_young_member_takes_less_memory_than_promised() -> None:
    """After many views it takes more memory; a round takes some time."""
    found = member.measure(lives=1, rounds=1)

    assert 0 < found.young_bytes < report.MEMBER_BYTES_MAX
    assert found.old_bytes > found.young_bytes
    assert found.round_us > 0


@pytest.mark.soak("peers")
def test_a_round_takes_at_most_five_times_the_promised_time() -> None:
    """The promise is a median of 300 microseconds on a machine without other load."""
    found = member.measure(lives=2, rounds=300)

    # Five times the promise, because other programs use the machine, too.
    assert found.round_us < 5 * report.ROUND_MICROSECONDS_MAX
    # A slow machine does not change the ratio.
    assert found.ratio < 4


def test_the_reports_show_the_cost_and_the_promise() -> None:
    found = evolve(invented_results(), member=COST)

    for text in (report.terminal(found), report.markdown(found, plot="p.svg")):
        row = r"one round, a heartbeat[ |]+80 us[ |]+2\.00 x[ |]+300 us"
        assert re.search(row, text)
        assert "memory, after 1,000 views" in text
    assert "A member" not in report.markdown(invented_results(), plot="p.svg")


def test_the_cost_of_a_member_is_kept_in_the_json() -> None:
    found = evolve(invented_results(), member=COST)

    assert COST == read_json(to_json(found)).member
    # Results of an earlier version have no cost of a member.
    assert None is read_json(to_json(invented_results())).member


def test_only_member_replaces_the_cost_in_earlier_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other result changes; without earlier results the exit code is 2."""
    monkeypatch.setattr(command, "cost_of_member", lambda: COST)
    arguments = ["--only-member", "--out", str(tmp_path)]

    missing = CliRunner().invoke(command.main, arguments)
    command.write(invented_results(), tmp_path)
    before = read_json((tmp_path / "benchmarks.json").read_text("utf-8"))
    done = CliRunner().invoke(command.main, arguments)

    assert (2, 0) == (missing.exit_code, done.exit_code)
    after = read_json((tmp_path / "benchmarks.json").read_text("utf-8"))
    assert evolve(before, member=COST) == after
