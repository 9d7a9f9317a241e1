"""RabbitMQ's Raft logs: the files of real nodes, and the verdict on each queue."""

from __future__ import annotations

import lzma
import random
import shlex
import shutil
import tracemalloc
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest

from joinproto.durable.filesystem import REAL
from joinproto.pick.raft import Configuration
from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.foreign.ra import log, segment, snapshot, verdicts, wal
from joinproto.recovery.foreign.ra.folders import digests
from joinproto.recovery.foreign.ra.log import RaSystem
from joinproto.recovery.foreign.ra.verdicts import judge_groups
from joinproto.recovery.foreign.ra.window import STRETCH, Window
from joinproto.recovery.foreign.text import NotAsWritten, unpacked
from joinproto.recovery.foreign.tree import DiskTree
from joinproto.recovery.found import State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import Judgement, result_of
from joinproto.recovery.sources import look
from joinproto.recovery.words import typed
from tests.recovery.foreign import ra_files
from tests.recovery.foreign.ra_files import NODES, command, node, real_nodes

A, B, C = NODES
MAJORITY_HAS = {"q1": 241, "q2": 45, "q4": 25}
"""For each queue of the real nodes: the last entry that a majority of its voters has."""


def verdict_of(*directories: Path, lost: tuple[str, ...] = ()) -> Judgement:
    return judgement_of(words=list(map(str, directories)), kind="auto", positions=[], lost=lost)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return real_nodes(tmp_path_factory.mktemp("ra"))


# -- the real nodes --------------------------------------------------------------------------------


def test_the_files_of_real_nodes_show_where_each_log_ends(nodes: Mapping[str, Path]) -> None:
    """The members are in the log, or in the snapshot that replaced it."""
    found = {name: read(gather(path, host="h")).raft for name, path in nodes.items()}

    logs = {(one.queue, one.node): one for each in found.values() for s in each for one in s.logs}
    ends = {key: (one.last_index, one.commit) for key, one in logs.items()}
    assert {
        ("q1", A): (241, 241),
        ("q1", B): (241, 241),
        ("q1", C): (241, 177),
        ("q2", A): (45, 45),
        ("q2", B): (45, 45),
        ("q2", C): (24, 23),
        ("q3", A): (13, 0),
        ("q3", B): (13, 0),
        ("q4", B): (25, 25),
        ("q4", C): (25, 24),
    } == ends
    voters = [(one.index, set(one.voters)) for one in logs["q1", C].configurations]
    assert [(0, {A, B, C}), (154, {A, B}), (166, {A, B, C})] == voters
    assert [(178, {A, B, C})] == [(o.index, set(o.voters)) for o in logs["q1", A].configurations]
    assert [{A, B, C}, {B, C}] == [set(one.voters) for one in logs["q4", B].configurations]
    assert {("q3", A), ("q3", B)} == {key for key, one in logs.items() if one.damaged}


def test_each_queue_has_its_own_verdict(nodes: Mapping[str, Path]) -> None:
    """q3 was declared a second before the kill: its name was not on the disk yet."""
    found = verdict_of(*nodes.values())

    text = "\n".join(found.evidence)
    assert f"{B} is best for 3 of 4 queues" in text
    assert "q3 on a@localhost: names.dets does not name this log" in text
    assert [
        ("q1", True, NODES),
        ("q2", True, (A, B)),
        ("q3", False, ()),
        ("q4", True, (B, C)),
    ] == [(one.name, one.proven, one.best) for one in result_of(found).raft_groups or ()]
    assert 5 == found.code
    assert "save all these directories before any node starts" in found.next
    assert "1 of 4 queues is not proven: q3: none of its logs counts" in found.sentence


def test_a_queue_is_proven_by_a_majority_of_its_own_voters(nodes: Mapping[str, Path]) -> None:
    """q4 has the members b and c, so a does not count; c lacks the last of q2, and b has it."""
    proven = {
        pair: {row.title: row.best for row in found.raft.rows if row.is_proven}
        for pair in combinations(NODES, 2)
        if (found := verdict_of(*(nodes[one] for one in pair))).raft is not None
    }

    assert {"q1": (A, B), "q2": (A, B)} == proven[A, B]
    assert {"q1": (A, C), "q2": (A,)} == proven[A, C]
    assert {"q1": (B, C), "q2": (B,), "q4": (B, C)} == proven[B, C]
    alone = verdict_of(nodes[C]).raft
    assert alone is not None
    assert not any(row.is_proven for row in alone.rows)


def test_a_pack_gives_the_same_logs(nodes: Mapping[str, Path], tmp_path: Path) -> None:
    copied = tmp_path / "three.pack"
    copied.write_bytes(lzma.decompress(ra_files.REAL.read_bytes()))

    assert [read(gather(path, host="h")).raft for path in nodes.values()] == [
        one.raft for one in look([str(copied)]).stores
    ]


def test_logs_of_a_node_that_was_renamed_do_not_count(tmp_path: Path) -> None:
    """Ra's folder has the old name, and RabbitMQ looks for a folder with the new name."""
    nodes, new = real_nodes(tmp_path), tmp_path / "d@localhost"
    nodes[B].rename(new)
    for each in (*(path for name, path in nodes.items() if name != B), new):
        for file in ("cluster_nodes.config", "nodes_running_at_shutdown"):
            said = (each / file).read_text().replace("b@localhost", "d@localhost")
            (each / file).write_text(said)

    found = verdict_of(nodes[A], new)

    text = " ".join(found.evidence)
    assert "d@localhost" in [one.member for one in found.stores]
    assert "is of b@localhost, and the node's name is d@localhost now" in text
    assert found.raft is not None
    assert not [row.title for row in found.raft.rows if row.is_proven]


# -- damage ----------------------------------------------------------------------------------------

KINDS = ("*.wal", "*.segment", "snapshot.dat", "meta.dets", "names.dets", "config")


def systems(place: Path) -> tuple[RaSystem, ...]:
    directory = REAL.open_directory(place)
    try:
        return tuple(unpacked(RaSystem, data) for _, data in digests(DiskTree(REAL, directory)))
    finally:
        REAL.close(directory)


def false_proofs(given: Mapping[str, tuple[RaSystem, ...]]) -> list[str]:
    """Return the queues that are called proven with a store that lacks entries of a majority."""
    found = []
    for some in (NODES, *combinations(NODES, 2)):
        verdict = judge_groups({name: given[name] for name in some}, is_defined=lambda _: True)
        for row in verdict.rows:
            wanted = MAJORITY_HAS.get(row.title, 0)
            ends = [one.last_index for one in row.logs.values() if one.node in row.best]
            if row.is_proven and min(ends) < wanted:
                found.append(f"{','.join(some)}: {row.title} {row.best} {ends}")
    return found


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a file with a bit flipped, some bytes overwritten, or its end cut off in a record."""
    at = chance.randrange(len(data))
    match chance.randrange(4):
        case 0 | 1:
            changed = bytearray(data)
            changed[at] ^= 1 << chance.randrange(8)
            return bytes(changed)
        case 2:
            length = chance.randint(1, 64)
            return data[:at] + chance.choice([b"\0", b"\xff"]) * length + data[at + length :]
    return data[:at]


def mutate(nodes: Mapping[str, Path], kind: str, count: int, place: Path, seed: int) -> list[str]:
    chance = random.Random(f"{kind} {seed}")
    given = {name: systems(path) for name, path in nodes.items()}
    assert [] == false_proofs(given)
    files = sorted(path for path in place.rglob(kind) if "quorum" in path.parts)
    found = []
    for number in range(count):
        file = chance.choice(files)
        whole = file.read_bytes()
        name = file.relative_to(place).parts[0]
        file.write_bytes(mutated(whole, chance))
        changed = {**given, name: systems(place / name)}
        found += [f"{number}, {file.name} of {name}: {one}" for one in false_proofs(changed)]
        file.write_bytes(whole)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_damage_never_proves_a_store_that_lacks_entries(tmp_path: Path, kind: str) -> None:
    """There is no traceback, and no store that lacks entries of a majority is called proven."""
    assert [] == mutate(real_nodes(tmp_path), kind, 40, tmp_path, 1)


@pytest.mark.soak("rabbitmq")
@pytest.mark.parametrize("kind", KINDS)
def test_2_000_damages_of_each_file_never_prove_a_store_that_lacks_entries(
    tmp_path: Path, kind: str
) -> None:
    assert [] == mutate(real_nodes(tmp_path), kind, 2_000, tmp_path, 2)


# -- files made byte by byte -----------------------------------------------------------------------


def window_of(data: bytes) -> Window:
    return Window(lambda at, count: data[at : at + count], len(data))


def read_wal(data: bytes) -> tuple[list[tuple[int, int]], str]:
    """Return index and term of the last entry in a write-ahead log, and the problem, or ""."""
    found = log.Log()
    found.start_from(0, Configuration(index=0, voters=frozenset(NODES)))
    logs = {b"U": found}
    torn = log.feed(logs, "x", wal.entries_in("x", window_of(data)))
    return [found.last], torn or found.problem


def record(index: int, term: int = 1, data: bytes = b"\x83data") -> ra_files.Record:
    return b"U", index, term, data


def test_an_entry_that_was_written_again_replaces_all_later_entries() -> None:
    data = ra_files.wal([record(1), record(2), record(3), record(2, 2)])

    assert ([(2, 2)], "") == read_wal(data)


def test_a_file_that_was_allocated_ahead_ends_in_zeros() -> None:
    assert ([(1, 1)], "") == read_wal(ra_files.wal([record(1)]) + bytes(10_000))


def test_a_part_cut_off_by_a_crash_or_damage_is_reported() -> None:
    """The files do not show which of the two it was."""
    whole = ra_files.wal([record(1), record(2)])
    for size in range(len(ra_files.wal([record(1)])) + 1, len(whole)):
        assert ([(1, 1)], True) == (
            read_wal(whole[:size])[0],
            "is not whole" in read_wal(whole[:size])[1],
        )


def test_a_damaged_record_before_the_last_record_is_refused() -> None:
    """Ra refuses to start, too, unless it is the last record."""
    whole = bytearray(ra_files.wal([record(1), record(2)]))
    whole[30] ^= 1

    with pytest.raises(NotAsWritten, match="byte 5"):
        read_wal(bytes(whole))


def test_a_gap_in_a_log_is_a_problem() -> None:
    assert ([(1, 1)], "x: entries 2 to 3 are not there") == read_wal(
        ra_files.wal([record(1), record(4)])
    )


def test_a_large_log_is_read_in_pieces() -> None:
    """Only one of several megabytes is in memory at a time."""
    whole = ra_files.wal(record(at, data=b"\x83" + bytes(65_536)) for at in range(1, 101))
    asked = []

    def piece(at: int, count: int) -> bytes:
        asked.append(count)
        return whole[at : at + count]

    tracemalloc.start()
    try:
        count = sum(1 for _ in wal.entries_in("x", Window(piece, len(whole))))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (100, STRETCH) == (count, max(asked))
    assert peak < 4 * STRETCH


def test_a_segment_and_a_snapshot_are_read_as_they_were_written() -> None:
    data = ra_files.segment([(5, 1, b"\x83a"), (6, 1, command("g", [A, B], [C]))])
    entries = list(segment.entries_in("x", b"U", window_of(data)))
    term, before = snapshot.snapshot_in(
        "x", window_of(ra_files.snapshot(4, 1, b"l\0\0\0\1h\2w\1gw\1nj"))
    )

    assert [(5, 1), (6, 1)] == [(one.index, one.term) for one in entries]
    assert (1, 4, {"n"}) == (term, before.index, set(before.voters))
    assert list(segment.entries_in("x", b"U", window_of(ra_files.segment([])))) == []


@pytest.mark.parametrize("version", [3, 0])
def test_a_segment_of_an_unknown_version_is_refused(version: int) -> None:
    data = b"RASG" + version.to_bytes(2, "big") + bytes(100)

    with pytest.raises(NotAsWritten, match="version"):
        list(segment.entries_in("x", b"U", window_of(data)))


# -- Khepri: files made by the sources' format, not by a node --------------------------------------


def entries(count: int, term: int = 1) -> list[tuple[int, int, bytes]]:
    return [(at, term, b"\x83data-%d" % at) for at in range(1, count + 1)]


def test_a_majority_of_khepri_is_proven(tmp_path: Path) -> None:
    a, b = node(tmp_path, A, entries=entries(7)), node(tmp_path, B, entries=entries(5))

    found = verdict_of(a, b)

    assert ("proven", (A,)) == (found.verdict.value, tuple(one.member for one in found.latest))
    assert "start all these nodes" in found.next
    assert "a@localhost is best for 1 of 1 Raft group" in "\n".join(found.evidence)


def test_the_advice_for_a_minority_of_khepri_names_the_entries_that_a_forced_boot_loses(
    tmp_path: Path,
) -> None:
    """The advice names hosts that may be reached, or the command and the entries that it loses."""
    a = node(tmp_path, A, entries=entries(7), applied=5)

    found, given_up = verdict_of(a), verdict_of(a, lost=(B, C))

    assert 5 == found.code
    assert found.next.startswith(
        "on the hosts of b@localhost, c@localhost: joinproto recover collect"
    )
    assert given_up.next.startswith(
        f"start {A} alone; it waits five minutes for a majority; within this time, run:"
        f" rabbitmqctl -n {A} force_standalone_khepri_boot"
    )
    assert "entries 6 to 7" in given_up.next
    assert (
        "entries that b@localhost and c@localhost confirmed and a@localhost lacks are lost"
        in given_up.next
    )


QUEUE = "queue 'q17' in vhost '/'"


def test_a_queue_without_its_majority_is_shrunk(tmp_path: Path) -> None:
    for name in NODES:
        node(tmp_path, name, entries=entries(3))
    folder = node(tmp_path / "queue", A, entries=entries(4), group="q17", system="quorum")
    config = next(folder.rglob("config"))
    config.write_bytes(
        ra_files.config("q17", A, [A, "x@h", "y@h"], "UIDq17", "queue 'q17' in vhost '/'")
    )
    shutil.copytree(folder / "quorum", tmp_path / A / "quorum")

    found = verdict_of(*(tmp_path / name for name in NODES), lost=("x@h", "y@h"))

    assert "But 1 of 2 Raft groups is not proven: q17" in found.sentence
    assert f"rabbitmqctl -n {A} eval 'rabbit_quorum_queue:force_shrink_member" in found.next
    assert '(<<"/"/utf8>>, <<"q17"/utf8>>)' in found.next


def test_two_logs_that_contradict_each_other_are_unproven(tmp_path: Path) -> None:
    """The logs are of two queues with one name: one index and term has one entry in Raft."""
    a = node(tmp_path, A, entries=entries(7))
    b = node(tmp_path, B, entries=[(at, 1, b"\x83other%d" % at) for at in range(1, 8)])

    found = verdict_of(a, b)

    assert "unproven" == found.verdict.value
    assert "different entries under one number" in found.sentence


def test_a_log_that_is_not_named_does_not_count(tmp_path: Path) -> None:
    """RabbitMQ would start the queue with an empty log."""
    a, b = (
        node(tmp_path, name, entries=entries(7), is_named=named)
        for name, named in ((A, True), (B, False))
    )

    assert "unproven" == verdict_of(a, b).verdict.value


def test_a_log_whose_config_names_another_node_does_not_count(tmp_path: Path) -> None:
    """`config` has no checksum, so a changed letter may add one voter and remove another."""
    a, b = (node(tmp_path, name, entries=entries(7)) for name in (A, B))
    assert "proven" == verdict_of(a, b).verdict.value
    (changed,) = b.glob("coordination/*/*/config")
    text = changed.read_text()
    changed.write_text(text.replace(f"{B}}},\n", f"{B}b}},\n"))
    assert text != changed.read_text()

    (log,) = read(gather(b, host="h")).raft[0].logs

    assert B == log.node
    assert f"config: is of {B}b, and lies under {B}" in log.damaged
    assert "unproven" == verdict_of(a, b).verdict.value


# -- logs that were made at another time than the others -------------------------------------------


def q_node(place: Path, name: str, count: int, *, made: int, data: str = "", base: int = 0) -> Path:
    """Return the directory of a node with queue q: `count` entries, `base` in a snapshot."""
    return node(
        place,
        name,
        group="q",
        system="quorum",
        made=made,
        entries=[(at, 1, b"\x83%s-%d" % (data.encode(), at)) for at in range(base + 1, count + 1)],
        applied=base,
        before=ra_files.snapshot(base, 1, ra_files.members("q", NODES)) if base else b"",
    )


def verdict_on(*directories: Path) -> tuple[bool, tuple[str, ...], str]:
    """Return whether the only queue is proven, which nodes are best, and why it is not proven."""
    found = judge_groups(
        {path.name: systems(path) for path in directories}, is_defined=lambda _: True
    )
    (row,) = found.rows
    return row.is_proven, row.best, " ".join(found.lines)


def test_a_log_of_an_older_queue_with_the_same_name_makes_the_queue_unproven(
    tmp_path: Path,
) -> None:
    """c was away when q was deleted and declared again.  Its old log is longer, and the old entries
    are in a snapshot, so no index shows two different entries."""
    a, b = (q_node(tmp_path, name, 5, made=9_000_000, data="new") for name in (A, B))
    c = q_node(tmp_path, C, 300, made=1_000_000, data="old", base=290)

    for some in ((a, c), (b, c), (a, b, c)):
        is_proven, _, why = verdict_on(*some)

        assert not is_proven
        assert "its logs were made at different times (c@localhost 1970-01-01 00:16:40" in why
    assert (True, (A, B)) == verdict_on(a, b)[:2]


def test_a_log_that_began_anew_does_not_count(tmp_path: Path) -> None:
    """A node lost its log, and RabbitMQ made a new one; the other two nodes are a majority."""
    a, b = (q_node(tmp_path, name, 20, made=1_000_000 + at) for at, name in enumerate((A, B)))
    c = q_node(tmp_path, C, 21, made=9_000_000)

    is_proven, best, said = verdict_on(a, b, c)

    assert (True, (A, B)) == (is_proven, best)
    assert "was made at 1970-01-01 02:30:00, later than the queue" in said
    assert not verdict_on(a, c)[0]


def test_a_log_without_any_entry_does_not_count(tmp_path: Path) -> None:
    """c's disk was lost, and c was started; its old log may have had entries that a has."""
    b, c = q_node(tmp_path, B, 20, made=1_000_000), q_node(tmp_path, C, 0, made=1_000_000)

    is_proven, _, said = verdict_on(b, c)

    assert not is_proven
    assert "has no entry: it never heard of one, or was made anew on an emptied disk" in said
    assert verdict_on(q_node(tmp_path, A, 20, made=1_000_000), b, c)[0]


def test_learners_do_not_count(tmp_path: Path) -> None:
    changed = [*entries(2), (3, 1, command("rabbitmq_metadata", [A, B], [C]))]
    a, c = (node(tmp_path, name, entries=changed) for name in (A, C))

    assert "unproven" == verdict_of(a, c).verdict.value
    assert "proven" == verdict_of(a, node(tmp_path, B, entries=changed)).verdict.value


def test_files_that_cannot_be_read_are_not_corrupt_and_not_given_up(tmp_path: Path) -> None:
    """Data that cannot be read are unknown, and are never called corrupt or given up."""
    a = node(tmp_path, A, entries=entries(3))
    (a / "coordination" / A / "meta.dets").write_bytes(b"x" * 2000)

    found = read(gather(a, host="h"))

    assert State.UNKNOWN is found.state
    assert "meta.dets: is not a table of DETS" in found.problems[0]
    assert "a majority of them has the latest data" in verdict_of(a).next


@pytest.mark.parametrize("name", ["x'; touch /tmp/pwned; '", 'say "hi"\\\\', "häuser", "q.1-a_b"])
def test_a_name_that_a_client_chose_is_one_word_of_a_command(name: str) -> None:
    """A client that declares a queue chooses a name that an operator may paste into a shell."""
    term = verdicts._binary(name)

    assert shlex.split(f"eval {typed(term)}") == ["eval", term]
    assert not {"'", "\\n"} & {*term}
    assert term.count('"') == 2
