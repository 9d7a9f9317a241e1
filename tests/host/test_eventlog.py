"""Event logs as files: a long run has several files; a full disk ends the log, not the member."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joinproto.cli.validate.logs import read_runs
from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.host.eventlog import PARTS, FileLog
from joinproto.host.lines import FORMAT, config_as_json
from joinproto.join.config import Config

NAME = "a-1700000000-77.jsonl"
START = {"format": FORMAT, "config": {"member": "a"}, "record": {"store_id": "s"}}
BYTES = 64_000


@contextmanager
def full_disk(file_bytes: int) -> Iterator[None]:
    """Limit the size of files: beyond it the system refuses writes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, former)


def fill(log: FileLog, lines: int) -> None:
    log.write("start", **START)
    for number in range(lines):
        log.write("told", text=f"{number} " + "x" * 100)


def test_a_long_run_is_in_several_files_and_is_read_as_one(tmp_path: Path) -> None:
    log = FileLog.create(tmp_path / NAME, bytes_max=BYTES)
    fill(log, 200)
    log.close()

    assert 1 < len(list(tmp_path.iterdir())) <= PARTS
    for paths in ([tmp_path], [tmp_path / NAME]):
        (run,) = read_runs(paths)
        assert list(range(201)) == [line["n"] for line in run.lines()]


def test_the_oldest_files_are_removed_and_the_remaining_log_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "b-1700000000-78.jsonl"
    other.write_text("another member's")
    log = FileLog.create(tmp_path / NAME, bytes_max=BYTES)
    fill(log, 2_000)
    log.close()

    own = [one for one in tmp_path.iterdir() if one != other]
    assert sum(one.stat().st_size for one in own) <= BYTES
    assert other.exists()
    other.unlink()
    with pytest.raises(UsageProblem, match="part 1 of this run is missing"):
        read_runs([tmp_path])


def test_files_of_former_runs_count_towards_the_limit(tmp_path: Path) -> None:
    """So a member that restarts all the time does not fill the disk."""
    for run in range(20):
        log = FileLog.create(tmp_path / f"a-17000000{run:02}-77.jsonl", bytes_max=BYTES)
        fill(log, 50)
        log.close()

    assert sum(one.stat().st_size for one in tmp_path.iterdir()) <= BYTES


def test_on_a_full_disk_the_event_log_ends_and_reports_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = FileLog.create(tmp_path / NAME, is_needed=False)
    with full_disk(5_000):
        fill(log, 100)
    log.write("told", text="there is room again")
    log.close()

    (left,) = tmp_path.iterdir()
    assert "a-1700000000-77.cut.jsonl" == left.name
    assert all(json.loads(line) for line in left.read_text().splitlines())
    (warning,) = caplog.messages
    assert f"the event log {tmp_path}/" in warning
    assert "ends here, and the member continues" in warning
    with pytest.raises(UsageProblem, match="the disk was full"):
        read_runs([tmp_path])


def test_a_full_disk_raises_an_environment_problem_if_the_log_is_needed(tmp_path: Path) -> None:
    log = FileLog.create(tmp_path / NAME)
    with full_disk(5_000), pytest.raises(EnvironmentProblem, match="cannot be written"):
        fill(log, 100)
    log.close()


def test_a_full_disk_at_the_first_line_leaves_no_event_log(tmp_path: Path) -> None:
    log = FileLog.create(tmp_path / NAME, is_needed=False)
    with full_disk(10):
        fill(log, 1)
    log.close()

    assert [] == list(tmp_path.glob("*.jsonl"))


def test_a_configuration_is_written_with_every_field() -> None:
    """`joinproto/cli/validate` reads logs of members of any version."""
    config = Config(member="a", electors=frozenset("bca"), wait_for=2)

    assert (
        '{"member": "a", "electors": ["a", "b", "c"], "wait_for": 2, "options": "default",'
        ' "cluster_name": "cluster", "is_transient": false, "total_failure": "manual",'
        ' "found_with": null, "outside": false, "patience": 2.0, "heartbeat": 0.5}'
    ) == json.dumps(config_as_json(config))
