"""`joinproto validate`: real logs hold, and changes to them are found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from joinproto.cli.validate.judge import validate
from joinproto.cli.validate.logs import ReadingStart
from joinproto.cli.validate.properties import PROPERTIES
from joinproto.cli.validate.replay import LEFT_OUT, differences
from joinproto.codec.json_form import encoded
from joinproto.host.lines import value_as_json
from joinproto.join.messages import Abort, Refusal, Refused, Waiting
from joinproto.join.wire import encode
from joinproto.machine.vocabulary import Reason
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tests.cli.running import run_here
from tests.cli.schemas import faults, unexplained
from tests.cli.validate.conftest import run_three_members
from tools import json_schema as schema

Line = dict[str, Any]


@pytest.fixture
def copy(events: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(events, tmp_path / "events"))


def first(folder: Path, member: str = "a") -> Path:
    return min(folder.glob(f"{member}-*"), key=lambda one: one.stat().st_mtime_ns)


def change(path: Path, action: Callable[[list[Line]], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    action(lines)
    for number, line in enumerate(lines):
        line["n"] = number
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_logs_of_real_members_hold(capsys: pytest.CaptureFixture[str], events: Path) -> None:
    done = run_here(capsys, "validate", str(events), "--json")

    assert 0 == done.code
    found = done.object
    assert ("holds", 6, ["a", "b", "c"], 6) == (
        found["result"],
        found["runs"],
        found["members"],
        found["committed"],
    )
    assert {*PROPERTIES, "nothing_invented"} == {one["name"] for one in found["properties"]}
    assert [] == found["notes"] == found["assumed"]
    assert [] == [*faults(found, schema.VALIDATE), *unexplained(found, schema.VALIDATE)]


def test_a_changed_line_is_found(copy: Path) -> None:
    """The first field that differs is named, with the found and the possible values."""
    path = first(copy)

    def drop_held(lines: list[Line]) -> None:
        for line in lines:
            if line["kind"] == "batch" and line["persist"] and line["persist"]["record"]["held"]:
                line["persist"]["record"]["held"] = None
                return

    change(path, drop_held)
    verdict = validate([copy])

    assert verdict.mismatch is not None
    assert "persist.record.held" == verdict.mismatch.field
    assert ("null", 66) == (verdict.mismatch.seen, len(verdict.mismatch.allowed))
    assert json.loads(path.read_text().splitlines()[verdict.mismatch.matching])["kind"] == "batch"


@pytest.mark.parametrize(
    ("kind", "field"),
    [("batch", "a batch is left out"), ("peer_up", "sends")],
)
def test_a_line_that_is_left_out_is_found(copy: Path, kind: str, field: str) -> None:
    def leave_out(lines: list[Line]) -> None:
        lines.remove(next(line for line in lines if line["kind"] == kind))

    change(first(copy), leave_out)

    verdict = validate([copy])
    assert verdict.mismatch is not None
    assert field in verdict.mismatch.field
    assert [] == list(faults(encoded(verdict), schema.VALIDATE))


def test_a_member_that_does_not_keep_a_rule_is_found(tmp_path: Path) -> None:
    """In a run of a mutant, the true member would have written `held`."""
    with applied(mutation("held-not-persisted")):
        anyio.run(run_three_members, tmp_path)

    verdict = validate([tmp_path / "events"])

    assert verdict.mismatch is not None
    assert verdict.mismatch.field.startswith("persist")
    assert not verdict.holds


def test_a_read_that_misses_an_acknowledged_frame_is_found(copy: Path) -> None:
    """3.8: the read began after all three frames of that run were acknowledged."""

    def answer_without_the_last_frame(lines: list[Line]) -> None:
        (answered,) = (line for line in lines if line["kind"] == "answered")
        answered["seq"] -= 1

    change(first(copy), answer_without_the_last_frame)

    assert ["reads_see_acknowledged"] == [
        name for name, found in validate([copy]).broken.items() if found
    ]


def test_a_message_that_no_member_sent_is_found(copy: Path) -> None:
    """The end of b's log is missing, so the others have received more messages than b sent."""
    path = first(copy, "b")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))

    verdict = validate([copy])

    assert "its log has no such line" in verdict.broken["nothing_invented"][0]


def test_a_disk_that_lost_a_write_is_found(copy: Path) -> None:
    """The second run starts from a record that is older than the last write of the first run."""
    second = max(copy.glob("a-*"), key=lambda one: one.stat().st_mtime_ns)

    def forget(lines: list[Line]) -> None:
        lines[0]["record"]["views"] = lines[0]["record"]["views"][:1]

    change(second, forget)

    assert validate([copy]).broken["disk_keeps_what_was_written"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b'{"n":0', "is cut in line 1"),
        (b"{}\n", "line 1 is not an event"),
        (b'{"n":0,"kind":"tick"}\n', "does not begin with the start of a member"),
        (b'{"n":0,"kind":"start","format":99}\n', "format 99, this version reads 2"),
        (b'{"n":0,"kind":"start","format":2}\n', "its start lacks t, config, record"),
    ],
)
def test_a_file_that_is_not_a_log_exits_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)

    done = run_here(capsys, "validate", str(path))

    assert 2 == done.code
    assert message in done.err


def test_a_log_that_ends_within_a_line_exits_2(
    capsys: pytest.CaptureFixture[str], copy: Path
) -> None:
    last = max(copy.glob("c-*"), key=lambda one: one.stat().st_mtime_ns)
    last.write_bytes(last.read_bytes()[:-7])

    done = run_here(capsys, "validate", str(copy), "--json")

    assert (2, 2) == (done.code, done.error["code"])
    assert "is cut in the middle of line" in done.error["message"]


def test_the_logs_of_some_members_are_judged_and_other_members_are_assumed_correct(
    copy: Path,
) -> None:
    """Without its log, c is not taken for a member that was never ready and kept no frames."""
    for path in copy.glob("c-*"):
        path.unlink()

    verdict = validate([copy])

    assert verdict.holds, verdict.broken
    assert (("a", "b"), 6) == (verdict.members, verdict.committed)
    (assumed,) = verdict.assumed
    assert assumed.startswith("c has no log")


def test_a_log_of_some_fields_is_judged_by_these_fields_alone(copy: Path) -> None:
    """Messages, a part of the record and digests are left out; other fields must still fit."""

    def leave_out(lines: list[Line]) -> None:
        for line in lines:
            line.pop("digest", None)
            line.pop("sends", None)
            if line.get("persist"):
                del line["persist"]["record"]["promised"]
        lines[0]["config"].pop("outside")

    def hold_less(lines: list[Line]) -> None:
        next(line for line in lines if line.get("persist"))["persist"]["views"] += 1

    path = first(copy)
    change(path, leave_out)
    verdict = validate([copy])
    change(path, hold_less)
    other = validate([copy])

    assert verdict.holds, (verdict.mismatch, verdict.broken)
    assumed = " ".join(verdict.assumed)
    for name in ("sends:", "persist.record.promised:", "digest:", "config.outside:"):
        assert name in assumed
    assert other.mismatch is not None
    assert "persist.views" == other.mismatch.field


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (Refusal, ("b", ...)),
        (Waiting, ("U4", "alone", None, ...)),
        (Abort, (Reason.NO_CLEAN_STORE, ..., ..., False)),
        (Refused, (Reason.NO_CLEAN_STORE, ..., ...)),
    ],
)
def test_a_sentence_in_the_words_of_another_version_fits(
    kind: Callable[..., Any], parts: tuple[Any, ...]
) -> None:
    """Another value in any other place is a difference."""

    def written(words: str) -> Any:
        value = kind(*(words if part is ... else part for part in parts))
        return json.loads(encode(value)) if kind is Refused else value_as_json(value)

    ours, theirs = written("our words"), written("their words")
    places = [at for at, item in enumerate(ours) if item == "our words"]
    assert [(f"events[0][{at}]", LEFT_OUT, "our words") for at in places] == [
        *differences("events[0]", theirs, ours)
    ]
    for at in {*range(len(ours))} - {*places}:
        other = [*ours[:at], "another value", *ours[at + 1 :]]
        assert [(f"events[0][{at}]", "another value", ours[at])] == [
            *differences("events[0]", other, ours)
        ]


def test_lines_that_running_members_write_during_the_check_are_left_out(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines after one moment are left out, or a received message may be in no sender's log."""
    times = sorted(
        json.loads(line)["t"] for log in copy.iterdir() for line in log.read_text().splitlines()
    )
    for at in times[len(times) // 10 :: len(times) // 10]:
        monkeypatch.setattr(ReadingStart, "now", lambda at=at: ReadingStart(0, at))

        found = validate([copy])

        assert found.holds, found
        assert ["a, b, c: lines written since the reading began are left out"] == [
            note for note in found.notes if "since" in note
        ]
    monkeypatch.undo()
    for log in copy.glob("a-*"):
        change(log, lambda lines: lines.__delitem__(slice(len(lines) // 2, None)))
    assert validate([copy]).broken["nothing_invented"]


def test_another_version_is_named(copy: Path) -> None:
    """A member of another version may ask for other actions, and be right."""

    def was_older(lines: list[Line]) -> None:
        lines[0]["version"] = "0.0.1"

    change(first(copy), was_older)

    assert any("written by joinproto 0.0.1" in note for note in validate([copy]).notes)


def test_a_folder_without_logs_exits_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert 2 == run_here(capsys, "validate", str(tmp_path)).code


def test_event_logs_of_former_versions_are_read_or_refused_by_their_format(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`written`: three members of version 0.1.0; one is killed and returns; an orderly shutdown."""
    written = Path(__file__).parent / "written"

    done = run_here(capsys, "validate", str(written))

    refused = done.code == 2 and "this version reads" in done.err and "next:" in done.err
    assert done.code == 0 or refused, done.out + done.err
