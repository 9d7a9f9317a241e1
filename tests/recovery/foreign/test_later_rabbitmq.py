"""RabbitMQ from 3.13 on: what the files of real nodes of 4.0.5 and 4.3.6 say."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.foreign.ra.folders import BESIDE
from joinproto.recovery.found import Found, State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.pack import script
from joinproto.recovery.sources import look
from tests.recovery.foreign import ra_files
from tests.recovery.foreign.ra_files import NODES, real

A, B, C = NODES


def judged(*directories: Path, lost: tuple[str, ...] = ()) -> Judgement:
    return judgement_of(words=list(map(str, directories)), kind="auto", positions=[], lost=lost)


def found(directory: Path) -> Found:
    return read(gather(directory, host="h"))


def flags(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}{BESIDE}")


# -- with Mnesia -----------------------------------------------------------------------------------


@pytest.fixture
def mnesia(tmp_path: Path) -> Mapping[str, Path]:
    return real(tmp_path / "mnesia", ra_files.MNESIA)


def test_a_log_of_khepri_alongside_mnesia_does_not_count(mnesia: Mapping[str, Path]) -> None:
    """Every node has one from 3.13 on, of itself alone."""
    said = judged(*mnesia.values())

    assert [State.DIRTY] * 3 == [one.state for one in said.stores]
    assert said.raft is not None
    assert ["q0", "q1", "q2"] == [row.title for row in said.raft.rows]
    assert "The definitions: c@localhost" in said.sentence
    assert "q2" in said.next


@pytest.mark.parametrize("name", NODES)
def test_without_the_flags_the_lists_say_that_mnesia_counts(
    mnesia: Mapping[str, Path], name: str
) -> None:
    """They name nodes with which Khepri's log was never joined."""
    before = found(mnesia[name])
    flags(mnesia[name]).unlink()

    after = found(mnesia[name])

    assert before.state is after.state is State.DIRTY
    assert before.raft == after.raft
    assert before.node == after.node


def test_the_flag_says_that_khepri_counts(mnesia: Mapping[str, Path]) -> None:
    """It is written before Mnesia's files are deleted, so a kill leaves both."""
    flags(mnesia[A]).write_text("[feature_flags_v2,khepri_db].\n", "utf-8")

    after = found(mnesia[A])

    assert after.node is None
    assert "Khepri" in {fact.value for fact in after.facts}


def test_a_node_of_which_nothing_says_which_counts_is_not_called_damaged(
    mnesia: Mapping[str, Path],
) -> None:
    """A node by itself, whose flags were left behind."""
    alone = mnesia[A]
    flags(alone).unlink()
    (alone / "cluster_nodes.config").write_text(f"{{['{A}'],['{A}']}}.\n", "utf-8")
    (alone / "nodes_running_at_shutdown").write_text(f"['{A}'].\n", "utf-8")

    said = judged(alone)

    assert State.UNKNOWN is said.stores[0].state
    assert "UNPROVEN" == said.pick.verdict.name
    assert "feature_flags" in "\n".join(said.evidence)
    flags(alone).write_text("[feature_flags_v2].\n", "utf-8")
    assert State.DIRTY is found(alone).state


def test_a_pack_has_the_flags(mnesia: Mapping[str, Path], tmp_path: Path) -> None:
    """They lie next to the directory, and the script packs them as of the directory."""
    import subprocess

    (tmp_path / "pack.sh").write_text(script(), "utf-8")
    packed = tmp_path / "a.pack"
    with packed.open("wb") as out:
        subprocess.run(["sh", str(tmp_path / "pack.sh"), str(mnesia[A])], stdout=out, check=True)

    (one,) = look([str(packed)]).stores

    assert one.raw.file("feature_flags").data == flags(mnesia[A]).read_bytes()
    shutil.rmtree(mnesia[A])
    assert State.DIRTY is one.state
