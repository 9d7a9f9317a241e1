"""First starts of real brokers: random starts, and the check of `would-it-split`'s verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tools import starts
from tools.faults.namespaces import MARK

ALL, TWO = {frozenset(starts.NAMES)}, {frozenset({"n1"}), frozenset({"n2", "n3"})}


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be in our namespace with the scripts of 3.10.8, which no test here starts."""
    monkeypatch.setenv(MARK, "1")
    monkeypatch.setattr(starts, "_sbin", lambda: tmp_path / "rabbitmq_server-3.10.8" / "sbin")


@pytest.mark.parametrize(
    ("cut", "clusters", "code"),
    [("none", ALL, 0), ("none", TWO, 1), ("none", set(), 1), ("first", TWO, 0), ("first", ALL, 0)],
)
@pytest.mark.usefixtures("release")
def test_the_outcome_is_compared_with_the_verdict(
    cut: str, clusters: set[frozenset[str]], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes of 3.10.8 that hear each other found one cluster; nodes that do not may found two."""
    monkeypatch.setattr(starts, "play", lambda *_: clusters)
    done = CliRunner().invoke(starts.main, ["--backend", "classic_config", "--cut", cut])
    assert code == done.exit_code, done.output
    assert ("WRONG" in done.output) == bool(code)


def test_one_cluster_disagrees_with_a_verdict_that_the_nodes_cannot_join() -> None:
    assert not starts.agrees(ALL, {"splits": False, "joins": False})
    assert starts.agrees(ALL, {"splits": False, "joins": None})


def test_the_seed_draws_the_backend_and_the_cut_if_they_are_any() -> None:
    drawn = [starts.draw(seed, "any", "any", heals=True) for seed in range(60)]
    assert drawn == [starts.draw(seed, "any", "any", heals=True) for seed in range(60)]
    assert {*starts.BACKENDS} == {one.backend for one in drawn}
    assert {*starts.CUTS} == {one.cut for one in drawn}
    assert {"etcd"} == {starts.draw(seed, "etcd", "any", heals=False).backend for seed in range(9)}
