"""RabbitMQ from 3.13 on: the files of real nodes of 4.0.5 and 4.3.6."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.foreign.ra import log as log_of
from joinproto.recovery.foreign.ra.folders import FLAGS_SUFFIX
from joinproto.recovery.found import Found, State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.sources import look
from tests.recovery.foreign import ra_files
from tests.recovery.foreign.ra_files import NODES, command, node, real_nodes
from tools.pack_script import script

A, B, C = NODES


def verdict_of(*directories: Path, lost: tuple[str, ...] = ()) -> Judgement:
    return judgement_of(words=list(map(str, directories)), kind="auto", positions=[], lost=lost)


def store_of(directory: Path) -> Found:
    return read(gather(directory, host="h"))


def flags(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}{FLAGS_SUFFIX}")


KHEPRI = "the metadata (Khepri)"


# -- with Mnesia -----------------------------------------------------------------------------------


@pytest.fixture
def mnesia(tmp_path: Path) -> Mapping[str, Path]:
    return real_nodes(tmp_path / "mnesia", ra_files.MNESIA)


def test_a_log_of_khepri_alongside_mnesia_does_not_count(mnesia: Mapping[str, Path]) -> None:
    """From 3.13 on every node has such a log, with itself as the only member."""
    said = verdict_of(*mnesia.values())

    assert [State.DIRTY] * 3 == [one.state for one in said.stores]
    assert said.raft is not None
    assert ["q0", "q1", "q2"] == [row.title for row in said.raft.rows]
    assert "The definitions: c@localhost" in said.sentence
    assert "q2" in said.next


@pytest.mark.parametrize("name", NODES)
def test_without_the_flags_the_lists_show_that_mnesia_counts(
    mnesia: Mapping[str, Path], name: str
) -> None:
    """The lists name nodes that are not members in Khepri's log."""
    before = store_of(mnesia[name])
    flags(mnesia[name]).unlink()

    after = store_of(mnesia[name])

    assert before.state is after.state is State.DIRTY
    assert before.raft == after.raft
    assert before.node == after.node


def test_the_flag_shows_that_khepri_counts(mnesia: Mapping[str, Path]) -> None:
    """The flag is written before Mnesia's files are deleted, so a kill may leave both."""
    flags(mnesia[A]).write_text("[feature_flags_v2,khepri_db].\n", "utf-8")

    after = store_of(mnesia[A])

    assert after.node is None
    assert "Khepri" in {fact.value for fact in after.facts}


def test_a_node_with_files_of_both_and_without_flags_is_not_called_damaged(
    mnesia: Mapping[str, Path],
) -> None:
    """The node has no other members, and its file of flags was not copied."""
    alone = mnesia[A]
    flags(alone).unlink()
    (alone / "cluster_nodes.config").write_text(f"{{['{A}'],['{A}']}}.\n", "utf-8")
    (alone / "nodes_running_at_shutdown").write_text(f"['{A}'].\n", "utf-8")

    said = verdict_of(alone)

    assert State.UNKNOWN is said.stores[0].state
    assert "UNPROVEN" == said.pick.verdict.name
    assert "feature_flags" in "\n".join(said.evidence)
    flags(alone).write_text("[feature_flags_v2].\n", "utf-8")
    assert State.DIRTY is store_of(alone).state


def test_a_pack_has_the_flags(mnesia: Mapping[str, Path], tmp_path: Path) -> None:
    """The file of flags is next to the directory, and the script packs it as a part of it."""
    import subprocess

    (tmp_path / "pack.sh").write_text(script(), "utf-8")
    packed = tmp_path / "a.pack"
    with packed.open("wb") as out:
        subprocess.run(["sh", str(tmp_path / "pack.sh"), str(mnesia[A])], stdout=out, check=True)

    (one,) = look([str(packed)]).stores

    assert one.raw.file("feature_flags").data == flags(mnesia[A]).read_bytes()
    shutil.rmtree(mnesia[A])
    assert State.DIRTY is one.state


# -- with Khepri -----------------------------------------------------------------------------------


@pytest.fixture
def khepri(tmp_path: Path) -> Mapping[str, Path]:
    return real_nodes(tmp_path / "khepri", ra_files.KHEPRI)


@pytest.mark.parametrize(
    ("kept", "metadata", "joined"),
    [(ra_files.KHEPRI, 74, [3, 4]), (ra_files.KHEPRI_4_3, 103, [55, 78])],
)
def test_logs_of_khepri_have_the_entries_that_the_nodes_reported(
    tmp_path: Path, kept: Path, metadata: int, joined: list[int]
) -> None:
    nodes = real_nodes(tmp_path / "nodes", kept)
    logs = {
        (log.title, log.node): log
        for path in nodes.values()
        for system in store_of(path).raft
        for log in system.logs
    }

    titles = ("q0", "q1", "q2", KHEPRI)
    assert {(title, name) for title in titles for name in NODES} == set(logs)
    ends = {
        (title, one.last_index, one.commit, one.term, one.last_term)
        for (title, _), one in logs.items()
    }
    assert {
        (KHEPRI, metadata, metadata, 1, 1),
        *((f"q{n}", 106, 106, 1, 1) for n in range(3)),
    } == ends
    assert {NODES} == {tuple(sorted(one.configurations[-1].voters)) for one in logs.values()}
    assert [0, *joined] == [one.index for one in logs[KHEPRI, C].configurations]
    assert A == logs[KHEPRI, A].vote
    assert not any(one.damaged for one in logs.values())
    said = verdict_of(*nodes.values())
    assert ("PROVEN", "start all these nodes") == (said.pick.verdict.name, said.next[:21])


def test_the_advice_for_a_real_minority_of_khepri_is_to_start_it_and_to_force_a_boot(
    khepri: Mapping[str, Path],
) -> None:
    """The command works on a started node that waits; on 4.0.5 it brought back all data."""
    said = verdict_of(khepri[C], lost=(A, B))

    assert said.next.startswith(f"start {C} alone; it waits five minutes for a majority")
    assert f"rabbitmqctl -n {C} force_standalone_khepri_boot" in said.next
    assert f"once {C} runs: rabbitmqctl -n {C} eval '[rabbit_quorum_queue:force_shrink" in said.next


def test_after_a_forced_start_the_advice_leaves_the_removed_nodes_out(tmp_path: Path) -> None:
    """The removed nodes are of the same cluster, and would elect a leader of their own."""
    forced = real_nodes(tmp_path / "forced", ra_files.FORCED)

    said = verdict_of(*forced.values())

    assert ("PROVEN", (C,)) == (said.pick.verdict.name, tuple(one.member for one in said.latest))
    assert said.next.startswith(f"start {C}: ")
    assert f"do not start {A}, {B}" in said.next


def test_a_node_that_continued_without_the_forced_node_makes_the_verdict_unproven(
    tmp_path: Path,
) -> None:
    """Only force removes several members at once, so later entries of the others may count."""
    rest = [(at, 1, b"\x83x") for at in (6, 7)]
    both = [(at, 1, b"\x83y") for at in range(1, 6)]
    forced = [(6, 1, command("rabbitmq_metadata", [A])), (7, 2, b"\x83z")]
    a = node(tmp_path, A, entries=[*both, *forced], applied=7)
    b = node(tmp_path, B, entries=[*both, *rest])

    said, alone = verdict_of(a, b), verdict_of(a)

    assert "UNPROVEN" == said.pick.verdict.name
    assert "was started alone by force" in said.sentence
    assert "PROVEN" == alone.pick.verdict.name


def test_nodes_that_know_each_other_are_of_one_cluster(tmp_path: Path) -> None:
    """c stopped, and then a was removed, so the first names in b's and c's logs differ."""
    both = [(at, 1, b"\x83y") for at in range(1, 6)]
    change = (6, 1, command("rabbitmq_metadata", [B, C]))
    a = node(tmp_path, A, entries=both)
    b, c = (node(tmp_path, name, entries=[*both, change]) for name in (B, C))

    said = verdict_of(a, b, c)

    assert "PROVEN" == said.pick.verdict.name
    assert f"do not start {A}" in said.next


def test_a_node_that_began_anew_is_of_another_cluster(tmp_path: Path) -> None:
    both = [(at, 1, b"\x83y") for at in range(1, 6)]
    a, b = (node(tmp_path, name, entries=both) for name in (A, B))
    c = node(tmp_path, C, entries=[(1, 1, b"\x83other")], nodes=[C])

    said = verdict_of(a, b, c)

    assert 3 == said.code
    assert "2 different clusters" in said.sentence
    assert f"pick --cluster {A}" in said.next


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """4.3 renames the files of earlier releases to names with more digits, one by one."""
    a = node(tmp_path, A, entries=[(at, 1, b"\x83y") for at in range(1, 6)])
    folder = a / "coordination" / A
    (folder / "00000001.wal").rename(folder / "00000002.wal")
    uid = next(folder.glob("*/config")).parent.name.encode()
    newer = ra_files.wal((uid, at, 1, b"\x83y") for at in range(6, 9))
    (folder / f"{3:016}.wal").write_bytes(newer)

    (log,) = store_of(a).raft[0].logs

    assert (8, "") == (log.last_index, log.damaged)


def test_the_first_of_very_many_terms_are_not_known(tmp_path: Path) -> None:
    """An unknown term is not compared."""
    count = log_of.TERMS_MAX + 5
    a = node(tmp_path, A, entries=[(at, at, b"\x83y") for at in range(1, count + 1)], term=count)

    (log,) = store_of(a).raft[0].logs

    raft = log.raft("a")
    assert [0, 0, 6, count] == [raft.term_at(at) for at in (0, 5, 6, count)]


def test_a_queue_without_a_majority_among_the_started_nodes_is_shrunk(tmp_path: Path) -> None:
    """History 2413: the members dropped b, and a queue with only b and c has no majority now."""
    both = [(at, 1, b"\x83y") for at in range(1, 6)]
    change = (6, 1, command("rabbitmq_metadata", [A, C]))
    stores = [
        node(tmp_path, name, entries=both if name == B else [*both, change]) for name in NODES
    ]
    for name in (B, C):
        queue = node(
            tmp_path / "q", name, entries=both, nodes=[B, C], group="q17", system="quorum", made=1
        )
        shutil.copytree(queue / "quorum", tmp_path / name / "quorum")

    said = verdict_of(*stores)

    assert said.next.startswith(f"start {A}, {C}: ")
    assert f"once {C} runs: rabbitmqctl -n {C} eval 'rabbit_quorum_queue:force_shrink" in said.next
