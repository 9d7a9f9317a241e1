"""Directories that PostgreSQL wrote: where their logs end, and where two logs part.

`data/postgresql-forked`, of version 15: c, a standby, was stopped; a, the primary, continued; b, a
standby of a, was promoted and continued, too; a was killed.  `pg_rewind` says that a and b
"diverged at WAL location 0/4000348 on timeline 1", and about c and b the same place and "no rewind
required".  The log before the last checkpoint is blank.  Kept by `python -m tools.histories.trees`.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.errors import UsageProblem
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign import postgresql
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.postgresql import CommonLog, Control, common_log, lsn
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.found import Format, Found, Raw, RawFile, State
from joinproto.recovery.gather import gather
from joinproto.recovery.judgement import Judgement, judge
from tests.recovery.asking import ask_json
from tests.recovery.foreign.directories import DATA
from tests.recovery.foreign.test_etcd import write_tree
from tools.histories.trees import Bytes, Sparse, loaded

LEFT = 0x4000348


@cache
def server(name: str) -> Sparse:
    return loaded((DATA / "postgresql-forked" / f"{name}.tree").read_text("utf-8"))


@cache
def control(name: str) -> Control:
    return postgresql.facts_of(server(name))


def store_of(name: str, tree: Sparse | None = None) -> Found:
    data = postgresql.digest(tree or server(name))
    files = (RawFile(postgresql.NAMES[0], data),)
    return postgresql.read(Raw(path=f"/{name}", host="h", format=Format.POSTGRESQL, files=files))


def verdict_of(*stores: Found, nodes: int | None = None) -> Judgement:
    return judge(stores, nodes=nodes, words=[one.path for one in stores])


def test_the_facts_of_a_directory_have_its_timelines_and_the_end_of_its_log() -> None:
    """`pg_waldump` finds the same; a was killed, so only its log shows the end."""
    ends = {name: postgresql.lineage(control(name)) for name in "abc"}

    assert ends == {
        "a": "1 to 0/4000430",
        "b": "1 to 0/4000348, 2 to 0/4000700",
        "c": "1 to 0/4000260",
    }
    assert [False, False, True] == [control(name).is_standby for name in "abc"]
    assert ["dirty", "clean", "clean"] == [store_of(name).state.value for name in "abc"]


def test_the_fork_point_of_two_servers_is_where_one_left_the_timeline_of_the_other() -> None:
    forked = common_log(control("a"), control("b"))
    behind = common_log(control("c"), control("b"))

    assert forked == CommonLog(1, LEFT, LEFT, 0x4000430 - LEFT, 0x4000700 - LEFT)
    assert behind is not None
    assert (behind.at, behind.left, behind.mine) == (0x4000260, LEFT, 0)


def test_two_forked_servers_are_reported_in_one_line_and_a_server_behind_is_not_a_fork() -> None:
    forked = verdict_of(store_of("a"), store_of("b"))
    behind = verdict_of(store_of("c"), store_of("b"), nodes=2)

    assert (Verdict.DIVERGED, 4) == (forked.verdict, forked.code)
    assert (
        "h:/a and h:/b part at 0/4000348 of timeline 1: beyond it the one has 232 bytes of log, the"
        " other 952"
    ) in forked.evidence
    assert (Verdict.PROVEN, ("h:/b",)) == (behind.verdict, behind.pick.latest)
    assert "it left that timeline at 0/4000348" in behind.evidence[0]


def test_no_server_is_proven_unless_all_servers_are_known_to_be_there() -> None:
    for nodes in (None, 3):
        one = verdict_of(store_of("c"), store_of("b"), nodes=nodes)

        assert (Verdict.UNPROVEN, ("h:/b",)) == (one.verdict, one.pick.latest)
    assert "--nodes N" in verdict_of(store_of("c"), store_of("b")).next


def test_two_standbys_that_were_both_promoted_are_two_timelines_with_one_number() -> None:
    """`pg_rewind` takes them for one timeline ("no rewind required")."""
    b = control("b")
    last = evolve(b.history[-1], end=b.end + 4096, birth="11111111 22222222")
    other = evolve(b, history=(b.history[0], last))

    assert common_log(b, other) == CommonLog(1, LEFT, LEFT, b.end - LEFT, other.end - LEFT)


def test_a_directory_of_another_system_is_of_a_different_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(server("c").files["global/pg_control"])
    data[0] ^= 1
    data[288:292] = crc32c(bytes(data[:288])).to_bytes(4, "little")
    foreign = server("c").with_file("global/pg_control", bytes(data))
    places = [write_tree(server("b"), tmp_path / "b"), write_tree(foreign, tmp_path / "c")]

    code, said = ask_json(capsys, "pick", *places)

    assert (3, "different-clusters") == (code, said["verdict"])
    assert 0x4000700 == said["stores"][0]["seq"]


def test_a_damaged_control_file_is_reported_and_proves_nothing() -> None:
    data = bytearray(server("b").files["global/pg_control"])
    data[40] ^= 1
    damaged = store_of("b", server("b").with_file("global/pg_control", bytes(data)))

    assert (State.CORRUPT, ("global/pg_control: its checksum is wrong",)) == (
        damaged.state,
        damaged.problems,
    )
    assert Verdict.UNPROVEN is verdict_of(damaged, store_of("c"), nodes=2).verdict


@pytest.mark.parametrize(
    "text",
    [b"", b"x\n", b"1\t0/3\n1\t0/4\n", b"2\t0/3000000\tno\n", b"1\t0/3\tno\n" * 20_000],
)
def test_a_malformed_history_is_refused(text: bytes) -> None:
    tree = server("b").with_file("pg_wal/00000002.history", text, len(text))

    with pytest.raises(NotAsWritten, match=r"00000002\.history"):
        postgresql.facts_of(tree)


def test_no_flip_in_a_history_which_has_no_checksum_makes_a_fork() -> None:
    name = "pg_wal/00000002.history"
    whole = server("b").files[name]
    length = len(b"1\t0/4000348\t")
    for at, bit in product(range(length), range(8)):
        data = bytearray(whole)
        data[at] ^= 1 << bit
        one = store_of("b", server("b").with_file(name, bytes(data)))

        if one.state is State.CORRUPT:
            assert verdict_of(one, store_of("c"), nodes=2).verdict is Verdict.UNPROVEN
        else:
            assert postgresql.control_of(one) == control("b"), bytes(data)


def test_a_missing_log_is_damage() -> None:
    tree = Bytes({"global/pg_control": server("c").files["global/pg_control"]})

    assert "is not there" in postgresql.facts_of(tree).damaged
    assert lsn(LEFT) == "0/4000348"


SMALL = 1 << 20


def page(at: int, system: int) -> bytes:
    head = struct.pack("<HHIQI4x", 0xD110, 2, 1, at, 0)
    return head + struct.pack("<QII", system, SMALL, 8192)


def record(link: int, data: bytes, *, info: int = 0) -> bytes:
    head = struct.pack("<IIQBBxx", 24 + len(data), 0, link, info, 0)
    return head + crc32c(head, crc32c(data)).to_bytes(4, "little") + data


def test_the_log_continues_after_a_file_that_was_left_early() -> None:
    """After `pg_switch_wal` the next record is the first one of the next file, after its head."""
    first, second = SMALL, 2 * SMALL
    data = bytearray(server("c").files["global/pg_control"])
    system = int.from_bytes(data[:8], "little")
    data[32:40] = (first + 40).to_bytes(8, "little")
    data[136:144] = bytes(8)
    data[228:232] = SMALL.to_bytes(4, "little")
    data[288:292] = crc32c(bytes(data[:288])).to_bytes(4, "little")
    left = page(first, system) + record(0, bytes(8)) + record(first + 40, b"", info=0x40)
    last = page(second, system) + record(first + 72, bytes(8)) + record(second + 40, bytes(8))
    tree = Bytes(
        {
            "global/pg_control": bytes(data),
            "pg_wal/000000010000000000000001": left.ljust(SMALL, b"\0"),
            "pg_wal/000000010000000000000002": last.ljust(SMALL, b"\0"),
        }
    )

    found = postgresql.facts_of(tree)

    assert (lsn(second + 104), "") == (lsn(found.end), found.damaged)


def test_more_directories_than_nodes_are_refused() -> None:
    with pytest.raises(UsageProblem, match="--nodes 1, and 2 directories"):
        verdict_of(store_of("a"), store_of("c"), nodes=1)


def test_a_server_that_runs_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process has this working directory, and its pid file is there."""
    write_tree(server("a"), tmp_path)
    (tmp_path / "postmaster.pid").write_text(f"{os.getpid()}\n{tmp_path}\n")

    assert gather(tmp_path, host="h").in_use == ""
    monkeypatch.chdir(tmp_path)
    assert gather(tmp_path, host="h").in_use == f"process {os.getpid()}, by postmaster.pid"


PID = b"4711\n/var/lib/a\n1700000000\n5432\n/tmp\nlocalhost\n  5432001  32768\nready\n"


def test_two_directories_of_one_server_are_unproven() -> None:
    """Two directories with equal control files, or with equal pid files, are of one server.

    A base backup that was never started has the primary's control file, but is another server's.
    """
    a = server("a")
    run = a.with_file("postmaster.pid", PID), server("c").with_file("postmaster.pid", PID)

    same = verdict_of(store_of("a"), store_of("a", a), store_of("b"), nodes=3)
    ran = verdict_of(*map(store_of, "ac", run), nodes=2)
    backup = verdict_of(store_of("a"), store_of("x", a.with_file("backup_label", b"x")), nodes=2)

    assert ["unproven", "unproven", "tie"] == [one.verdict.value for one in (same, ran, backup)]
    assert "h:/a and h:/c are of one server: an old state, or a copy" in ran.sentence
    assert "name only that one" in ran.next


def test_a_directory_is_called_a_copy_if_its_pid_file_names_another_directory() -> None:
    """If the server ran during the copy, the copy may have files of several moments."""
    copied = store_of("a", server("a").with_file("postmaster.pid", PID))
    at_home = store_of("var/lib/a", server("a").with_file("postmaster.pid", PID))

    assert "a copy of /var/lib/a, by postmaster.pid" in copied.problems[0]
    assert () == at_home.problems
    assert () == store_of("a").problems


def test_a_standby_that_lacks_a_part_of_its_log_is_damaged() -> None:
    """Its data files are consistent only from 0/4000260 on, and its log ends before."""
    whole = server("c")
    segment = "pg_wal/000000010000000000000004"
    cut = Sparse({**whole.files, segment: whole.files[segment][:0x1F0]}, whole.sizes)

    said = store_of("c", cut)

    assert State.CORRUPT is said.state
    assert (
        "the log from 0/40001F8 to 0/4000260, without which the server does not start"
        in (said.problems[0])
    )
    assert "unproven" == verdict_of(said, store_of("a"), nodes=2).verdict.value
    assert State.CLEAN is store_of("c").state


def of_version(version: int, *, at: int, release: str = "") -> Sparse:
    """Return b's directory as another release might write it, with the checksum at `at`."""
    data = bytearray(server("b").files["global/pg_control"][:288].ljust(at, b"\0"))
    data[8:12] = version.to_bytes(4, "little")
    data += crc32c(bytes(data)).to_bytes(4, "little")
    tree = server("b").with_file("global/pg_control", bytes(data))
    return tree.with_file("PG_VERSION", release.encode()) if release else tree


@pytest.mark.parametrize(
    ("version", "at", "release", "state"),
    [
        (1900, 288, "", "newer"),
        (1900, 300, "19\n", "newer"),
        (1800, 292, "19\n", "newer"),
        (2000, 480, "20\n", "newer"),
        (1100, 280, "11\n", "not-read"),
        (960, 276, "9.6\n", "not-read"),
    ],
)
def test_a_version_that_is_not_known_is_named_and_never_called_corrupt(
    version: int, at: int, release: str, state: str
) -> None:
    one = store_of("b", of_version(version, at=at, release=release))
    said = verdict_of(one, nodes=1)
    among = verdict_of(one, store_of("c"), nodes=2)

    assert state == one.state.value
    age = "newer" if state == "newer" else "older"
    assert f"version {version}" in one.problems[0]
    assert f"{age} than is known (12 to 18)" in one.problems[0]
    assert (Verdict.UNPROVEN, 5) == (said.verdict, said.code)
    assert Verdict.UNPROVEN is among.verdict
    assert "pg_controldata" in said.next
    assert "pg_controldata" in among.next


def test_a_version_that_is_not_known_with_a_wrong_checksum_is_damage() -> None:
    tree = of_version(1900, at=300)
    data = bytearray(tree.files["global/pg_control"])
    data[40] ^= 1

    one = store_of("b", tree.with_file("global/pg_control", bytes(data)))

    assert (State.CORRUPT, "global/pg_control: its checksum is wrong") == (
        one.state,
        one.problems[0],
    )


LATER = {
    # The results of `pg_waldump` and `pg_rewind --dry-run` for these directories.
    "17": (0xC02648, {"a": 0xC026B0, "b": 0xC06F40, "c": 0xC025E0}),
    "18": (0xC026A0, {"a": 0xC02708, "b": 0xC06FF0, "c": 0xC02638}),
}


@pytest.mark.parametrize("release", LATER)
def test_directories_of_later_releases_are_read_as_their_own_programs_read_them(
    release: str,
) -> None:
    """PostgreSQL 17.12 and 18.6, with data checksums: c, a standby, was stopped; b was promoted and
    continued; a continued, too, until it was killed."""
    left, ends = LATER[release]
    trees = {
        name: loaded((DATA / f"postgresql-forked-{release}" / f"{name}.tree").read_text("utf-8"))
        for name in ends
    }
    controls = {name: postgresql.facts_of(tree) for name, tree in trees.items()}
    a, b, c = (store_of(name, tree) for name, tree in trees.items())

    assert ends == {name: one.end for name, one in controls.items()}
    assert {release} == {one.release for one in controls.values()}
    assert [[], [], []] == [[*one.problems] for one in (a, b, c)]
    forked = common_log(controls["a"], controls["b"])
    assert forked == CommonLog(1, left, left, ends["a"] - left, ends["b"] - left)
    assert Verdict.DIVERGED is verdict_of(a, b, c, nodes=3).verdict
    behind = verdict_of(c, b, nodes=2)
    assert (Verdict.PROVEN, ("h:/b",)) == (behind.verdict, behind.pick.latest)
    assert Verdict.UNPROVEN is verdict_of(c, b, nodes=3).verdict


@pytest.mark.parametrize("release", LATER)
def test_no_flip_in_a_later_release_moves_the_fork_point(release: str) -> None:
    """A flip in `pg_control` or b's history is reported as damage or as newer, or changes no fact.

    Every third byte is tried.
    """
    folder = DATA / f"postgresql-forked-{release}"
    b, c = (loaded((folder / f"{name}.tree").read_text("utf-8")) for name in "bc")
    whole, other = postgresql.facts_of(b), store_of("c", c)
    for name, count in (("global/pg_control", 300), ("pg_wal/00000002.history", 11)):
        for at, bit in product(range(0, count, 3), range(0, 8, 3)):
            data = bytearray(b.files[name].ljust(count, b"\0"))
            data[at] ^= 1 << bit
            one = store_of("b", b.with_file(name, bytes(data)))
            if one.state in (State.CORRUPT, State.NEWER):
                assert verdict_of(one, other, nodes=2).verdict is Verdict.UNPROVEN
            else:
                assert postgresql.control_of(one) == whole, (name, at, bit)
