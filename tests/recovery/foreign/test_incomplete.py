"""For no broker is a set of stores that is not complete proven or clean.

If nothing is proven, the sentence gives the choice of the broker itself, why that may be wrong, and
the evidence.

Source: Skeen 1985 (all must be supplied); Galera's own documents (two nodes that were alone cannot
be ordered by their numbers).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.text import NULL_UUID
from tests.recovery.asking import ask, ask_json
from tests.recovery.foreign.directories import DATA, stories
from tests.recovery.foreign.test_galera import A, B, C, grastate, gvwstate, node

CLUSTER = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
SHUTDOWN = "16fd2706-8baf-433b-82eb-8c7fada847da"

SURE = ("proven", "clean", "tie")


def _files(path: Path) -> list[Path]:
    return [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".log"]


def _unreadable(path: Path) -> None:
    for file in _files(path):
        file.unlink()
        file.mkdir()


def _empty(path: Path) -> None:
    for file in _files(path):
        file.unlink()


def _no_bytes(path: Path) -> None:
    for file in _files(path):
        file.write_bytes(b"")


def _cut(path: Path) -> None:
    for file in _files(path):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])


def _last_line(path: Path) -> None:
    for file in _files(path):
        lines = file.read_bytes().rstrip(b" ").splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:-1]))


HARM: dict[str, Callable[[Path], None]] = {
    "unreadable": _unreadable,
    "empty": _empty,
    "files without bytes": _no_bytes,
    "cut in half": _cut,
    "without its last line": _last_line,
}


def _qpid(folder: Path) -> Path:
    """Make the files of three brokers that were stopped together, by the documented layout."""
    for name in "abc":
        (folder / name / "cluster").mkdir(parents=True)
        text = f"{CLUSTER}\n{SHUTDOWN}\n"
        (folder / name / "cluster" / "store.status").write_text(text)
    return folder


def _stores(folder: Path, name: str) -> Path:
    return _qpid(folder) if name == "qpid" else Path(shutil.copytree(DATA / name, folder))


def _words(nodes: list[Path]) -> list[object]:
    words: list[object] = list(nodes)
    for path in nodes:
        log = path / "recovered.log"
        words += ["--position", f"{path}={log}"] if log.exists() else []
    return words


ALL = ["qpid", *stories("galera"), *stories("rabbitmq")]


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", ALL)
def test_with_a_store_that_cannot_be_read_the_verdict_is_never_proven_clean_or_a_tie(
    name: str, harm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each node of each story is damaged in turn."""
    whole = _stores(tmp_path / "whole", name)
    for victim in sorted(path.name for path in whole.iterdir() if path.is_dir()):
        folder = Path(shutil.copytree(whole, tmp_path / victim))
        HARM[harm](folder / victim)
        nodes = sorted(path for path in folder.iterdir() if path.is_dir())

        code, said = ask_json(capsys, "pick", *_words(nodes))

        assert said["verdict"] not in SURE, (victim, said["evidence"])
        assert code in (1, 3, 4, 5)
        if code in (1, 5):
            assert "itself would" in said["evidence"][0]
            assert "The evidence is " in said["evidence"][0]


@pytest.mark.parametrize("name", stories("rabbitmq"))
def test_without_a_node_that_the_others_count_no_store_is_proven(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its own list shows whether a node that stopped first was forced to start later."""
    nodes = sorted(path for path in (DATA / name).iterdir() if path.is_dir())
    for victim in nodes:
        rest = [path for path in nodes if path != victim]
        if name == "rabbitmq-forgotten" and victim.name.startswith("c@"):
            continue  # no node counts it

        code, said = ask_json(capsys, "pick", *rest)

        assert (code, said["verdict"]) in {(5, "unproven"), (4, "diverged"), (1, "corrupt")}
        if code == 5:
            assert "itself would" in said["evidence"][0]


@pytest.mark.parametrize("name", stories("galera"))
def test_without_a_latest_node_of_the_last_view_no_store_is_proven(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Galera lists the nodes of the last view, and no others."""
    nodes = sorted(path for path in (DATA / name).iterdir() if path.is_dir())
    _, whole = ask_json(capsys, "pick", *_words(nodes))
    for victim in nodes:
        if f"{whole['stores'][0]['host']}:{victim}" not in whole["latest"]:
            continue

        _, said = ask_json(capsys, "pick", *_words([path for path in nodes if path != victim]))

        assert said["verdict"] not in SURE, victim.name


def test_a_lost_rabbitmq_node_changes_the_next_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The verdict stays unproven, but the next step is the order of the start."""
    nodes = [DATA / "rabbitmq-stopped-in-turn" / f"{name}@localhost" for name in "bc"]

    code, said = ask_json(capsys, "pick", *nodes, "--lost", "a@localhost")

    assert (5, "unproven") == (code, said["verdict"])
    assert "c@localhost; then b@localhost" in said["next"]


@pytest.mark.parametrize("name", ["qpid", "galera-stopped-in-turn"])
def test_the_operator_must_give_the_number_of_nodes_if_no_file_lists_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files do not show that one is missing; the report lists it as not examined."""
    folder = _stores(tmp_path / "whole", name)
    _, *rest = nodes = sorted(path for path in folder.iterdir() if path.is_dir())

    whole, _ = ask_json(capsys, "pick", "--nodes", 3, *nodes)
    fewer, said = ask_json(capsys, "pick", "--nodes", 3, *rest)
    without_nodes = ask(capsys, "pick", *rest)

    assert (0, 5, "unproven") == (whole, fewer, said["verdict"])
    assert ["1 of 3 nodes"] == [one["member"] for one in said["missing"]]
    assert "--nodes N" in " ".join(without_nodes.out.split())


# -- Galera: two nodes that were alone -----------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        node(grastate(safe=1), gvwstate(B, mine=B), recovered="9", path="b"),
        node(grastate(safe=0), gvwstate(B, mine=B), recovered="9", path="b"),
        node(grastate(seqno=9, safe=1), path="b"),
        node(grastate(seqno=9, safe=None), path="b"),
        node(grastate(safe=1), recovered="9", path="b"),
        node(grastate(safe=None), recovered="9", path="b"),
        node(grastate(safe=1), gvwstate(B, C, mine=B, kind=1), recovered="9", path="b"),
    ],
)
@pytest.mark.parametrize("seqno", [5, 9, 12])
def test_two_nodes_that_were_alone_are_never_ordered_not_even_by_positions(
    other: object, seqno: int
) -> None:
    """One of them may have been forced, and each may have data that the other lacks."""
    for mine in (
        node(grastate(safe=0), gvwstate(A, mine=A), recovered=str(seqno), path="a"),
        node(grastate(seqno=seqno, safe=1), path="a"),
    ):
        found = pick([mine.candidate, other.candidate])  # type: ignore[attr-defined]

        assert Verdict.UNPROVEN == found.verdict


def test_a_node_that_was_alone_and_has_fewer_frames_leaves_the_others_unproven() -> None:
    """The others continued without it, or it was forced."""
    alone = node(grastate(safe=1), gvwstate(A, mine=A), recovered="5", path="a")
    others = [
        node(grastate(), gvwstate(B, C, mine=mine), recovered="9", path=mine) for mine in (B, C)
    ]

    found = pick([alone.candidate, *(one.candidate for one in others)])

    assert Verdict.UNPROVEN == found.verdict


def test_a_node_without_a_history_leaves_the_others_unproven() -> None:
    """The node is new, or its disk was wiped; its former data are unknown."""
    blank = node(grastate(uuid=NULL_UUID, safe=1), path="a")
    clean = [node(grastate(seqno=5), path="b"), node(grastate(seqno=7, safe=1), path="c")]
    whole = pick([one.candidate for one in clean])

    found = pick([one.candidate for one in (blank, *clean)])

    assert (Verdict.CLEAN, Verdict.UNPROVEN) == (whole.verdict, found.verdict)


# -- Qpid: a clean store may not be the latest -----------------------------------------------------


def test_qpid_would_start_from_the_clean_store_and_that_may_be_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text has Qpid's choice, why it may be wrong, and the log line that shows it."""
    _qpid(tmp_path)
    (tmp_path / "b" / "cluster" / "store.status").write_text(f"{CLUSTER}\n{NULL_UUID}\n")

    done = ask(capsys, "pick", tmp_path / "a", tmp_path / "b")

    assert 5 == done.code
    said = " ".join(done.out.split())
    assert f"Qpid itself would start from {_host(done.out)}:{tmp_path / 'a'}" in said
    assert "may have run later" in said
    assert 'the date of the last "member update:"' in said


def _host(text: str) -> str:
    return next(word for word in text.split() if ":/" in word).partition(":")[0]
