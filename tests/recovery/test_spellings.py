"""One directory in several spellings is one store; a directory of two brokers is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.recovery.gather import gather, read
from tests.recovery.asking import ask, ask_json
from tests.recovery.disks import lay


def test_one_directory_in_several_spellings_is_one_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies of a store would prove nothing, but this is one directory."""
    paths = lay(tmp_path, "F", a="F F.5", b="F F.4", c="F F.4")
    (tmp_path / "link").symlink_to(paths["a"])
    monkeypatch.chdir(paths["a"])

    code, said = ask_json(
        capsys, "pick", ".", paths["a"], "../a", tmp_path / "link", paths["b"], paths["c"]
    )

    assert (0, "proven", 3) == (code, said["verdict"], len(said["stores"]))
    assert {str(path) for path in paths.values()} == {one["path"] for one in said["stores"]}


def test_files_collected_with_and_without_a_link_are_one_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`collect` follows the link, so the other machine need not know of it."""
    paths = lay(tmp_path, "F", a="F F.5", b="F F.4", c="F F.4")
    (tmp_path / "link").symlink_to(paths["a"])
    files = []
    for number, path in enumerate((paths["a"], tmp_path / "link", paths["b"], paths["c"])):
        files.append(tmp_path / f"{number}.info")
        files[-1].write_text(ask(capsys, "collect", path).out)

    code, said = ask_json(capsys, "pick", *files)

    assert (0, "proven", 3) == (code, said["verdict"], len(said["stores"]))


def test_a_write_through_a_link_is_done_at_its_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """mark-clean and undo follow the link, as reading does."""
    path = lay(tmp_path, "F", a="F F.5")["a"]
    (tmp_path / "link").symlink_to(path)
    plan = ("plan", "--unproven", tmp_path / "link", "-o", tmp_path / "plan.json")
    agreed = ("--unproven", "--yes", "--plan-hash", ask_json(capsys, *plan)[1]["plan"]["hash"])

    marked = ask(capsys, "mark-clean", tmp_path / "link", *agreed).code

    assert 0 == marked
    assert (0, "done") == _outcome(ask_json(capsys, "undo", tmp_path / "link"))
    assert (0, "nothing to do") == _outcome(ask_json(capsys, "undo", path))


def _outcome(answer: tuple[int, dict[str, str]]) -> tuple[int, str]:
    return answer[0], answer[1]["outcome"]


def test_a_node_of_rabbitmq_behind_a_link_keeps_its_name(tmp_path: Path) -> None:
    """Only the directory's name shows the node's name; here it is the name of the link."""
    real = tmp_path / "disk-1"
    real.mkdir()
    (real / "cluster_nodes.config").write_text("{[a@h,b@h],[a@h,b@h]}.\n")
    (real / "nodes_running_at_shutdown").write_text("[a@h].\n")
    (tmp_path / "a@h").symlink_to(real)

    found = read(gather(tmp_path / "a@h", host="h"))

    assert ("a@h", str(real)) == (found.member, found.path)


@pytest.mark.parametrize("other", ["grastate.dat", "cluster/store.status"])
def test_a_store_alongside_files_of_another_broker_needs_the_option_format(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2: both formats are named, because it is unknown which of them counts."""
    path = lay(tmp_path, "F", a="F F.5")["a"]
    (path / other).parent.mkdir(exist_ok=True)
    (path / other).write_text("\n")

    done = ask(capsys, "pick", path)

    assert 2 == done.code
    assert "several formats: joinproto, " in done.err
    assert 0 == ask(capsys, "inspect", "--format", "joinproto", path).code
