"""The page of the benchmarks shows how long a restart takes."""

from __future__ import annotations

from attrs import evolve

from tests.bench.stand_ins import invented_results
from tests.bench.test_node import COST
from tools.bench import report
from tools.bench.results import RestartCost, read_json, to_json

RESTART = RestartCost(
    frames=3_000_000,
    journal_bytes=280_000_000,
    load=8.25,
    empty_seconds=2.0,
    first_seconds=24.5,
    restart_seconds=3.0,
)


def test_the_page_shows_the_frames_the_seconds_and_the_load() -> None:
    found = evolve(invented_results(), restart=RESTART, node=evolve(COST, load=9.75))

    page = " ".join(report.markdown(read_json(to_json(found)), plot="p.svg").split())

    assert "A node with 3,000,000 frames (280 MB)" in page
    assert "load of the machine was 8.2 before" in page
    assert "load of the machine was 9.8 before" in page
    assert "with the index and snapshot that it made" in page
    assert "24.5" in page
