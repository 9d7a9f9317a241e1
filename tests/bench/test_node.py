"""The benchmark of three nodes: real nodes are measured, and shown next to etcd."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from tests.bench.stand_ins import invented_results
from tools.bench import __main__ as command
from tools.bench import node, report
from tools.bench.results import NodeCost, read_json, to_json

COST = NodeCost(
    clients=16,
    founded_seconds=1.5,
    writes_per_second=1_234.5,
    leader_killed_seconds=1.25,
    other_killed_seconds=1.0,
    etcd="3.4.23",
    etcd_founded_seconds=2.5,
    etcd_writes_per_second=2_000.0,
    etcd_leader_killed_seconds=1.5,
    etcd_other_killed_seconds=0.01,
    many_clients=200,
    many_writes_per_second=3_000.0,
    etcd_many_writes_per_second=4_000.0,
    lone_seconds=0.003,
    etcd_lone_seconds=0.002,
)


@pytest.mark.soak("peers")
def test_three_nodes_are_measured(tmp_path: Path) -> None:
    """The nodes commit writes, and continue after each kill -9."""
    found = node.measure(
        node.Ours(tmp_path), clients=3, seconds=0.5, kills=1, many=9, lone_writes=9
    )

    assert min(found.rate, found.many, found.lone) > 0
    assert min(found.founded, found.leader_killed, found.other_killed) > 0


@pytest.mark.soak("peers")
@pytest.mark.needs("etcd")
def test_three_nodes_of_etcd_are_measured(tmp_path: Path) -> None:
    found = node.measure(
        node.Etcd(tmp_path), clients=3, seconds=0.5, kills=1, many=9, lone_writes=9
    )

    assert min(found.rate, found.many, found.lone) > 0
    assert min(found.founded, found.leader_killed, found.other_killed) > 0


def test_the_reports_show_our_figures_and_etcd_s_with_their_ratio() -> None:
    found = evolve(invented_results(), node=COST)

    for text in (report.terminal(found), report.markdown(found, plot="p.svg")):
        assert "etcd 3.4.23" in text
        rows = [line for line in text.splitlines() if "writes a second" in line]
        assert any("1,234" in row and "2,000" in row and "0.62" in row for row in rows)
        assert any("3,000" in row and "4,000" in row and "0.75" in row for row in rows)
        (lone,) = [line for line in text.splitlines() if "one client alone" in line]
        assert all(found in lone for found in ("3.00 ms", "2.00 ms", "1.50"))
    assert "Three nodes" not in report.markdown(invented_results(), plot="p.svg")


def test_without_etcd_the_table_says_that_it_is_not_installed() -> None:
    alone = evolve(
        COST,
        etcd=None,
        etcd_founded_seconds=None,
        etcd_writes_per_second=None,
        etcd_leader_killed_seconds=None,
        etcd_other_killed_seconds=None,
        etcd_many_writes_per_second=None,
        etcd_lone_seconds=None,
    )

    assert "etcd, not installed" in report.node_table(alone)


def test_only_node_replaces_the_figures_in_earlier_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other result changes, and the figures are kept in the JSON."""
    monkeypatch.setattr(command, "cost_of_node", lambda: COST)
    command.write(invented_results(), tmp_path)
    before = read_json((tmp_path / "benchmarks.json").read_text("utf-8"))

    done = CliRunner().invoke(command.main, ["--only-node", "--out", str(tmp_path)])

    assert 0 == done.exit_code
    after = read_json((tmp_path / "benchmarks.json").read_text("utf-8"))
    assert evolve(before, node=COST) == after
    assert COST == read_json(to_json(after)).node
