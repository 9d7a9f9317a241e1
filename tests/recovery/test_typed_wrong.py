"""Unused or wrong words on an operator's command line: each is reported.

Source: recovery, "Exit codes"; an option that changes nothing is named, not ignored silently.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.recovery.asking import ask, ask_json
from tests.recovery.disks import lay
from tests.recovery.foreign.directories import DATA
from tests.recovery.foreign.ra_files import real_nodes
from tests.recovery.foreign.test_etcd import write_tree
from tools.histories.trees import loaded

REPO = Path(__file__).parents[2]
OURS = sorted((REPO / "docs" / "examples" / "rescue").glob("*.info"))
RABBITMQ = sorted((DATA / "histories" / "rabbitmq-killed-4006").glob("*.info"))
GALERA = sorted((DATA / "histories" / "galera-power-725").glob("*.info"))
ETCD = sorted((DATA / "etcd-histories" / "cut-1064").glob("*.info"))


def unused_options(
    capsys: pytest.CaptureFixture[str], stores: list[Path], *options: str
) -> list[str]:
    """Return the options that `pick` reports as unused; text and JSON agree."""
    _, found = ask_json(capsys, "pick", *stores, *options)
    out = " ".join(ask(capsys, "pick", *stores, *options).out.split())
    unused: list[str] = found.get("unused", [])
    assert [True] * len(unused) == [f"warning: {line}" in out for line in unused]
    assert len(unused) == out.count("warning: ")
    return [line.partition(" changes nothing here")[0] for line in unused]


def postgresql(tmp_path: Path) -> list[Path]:
    for name in "ab":
        write_tree(
            loaded((DATA / "postgresql-forked" / f"{name}.tree").read_text()), tmp_path / name
        )
    return [tmp_path / "a", tmp_path / "b"]


@pytest.mark.parametrize(
    ("stores", "options", "unused"),
    [
        (OURS, ["--register", "--lost", "b", "--transient", "c"], ["--transient c", "--lost b"]),
        (OURS, ["--nodes", "3", "--lost", "z"], ["--nodes 3", "--lost z"]),
        (OURS[:1], ["--lost", "b", "--transient", "c", "--register"], []),
        (RABBITMQ, ["--register", "--nodes", "3"], ["--register", "--nodes 3"]),
        (RABBITMQ[:2], ["--lost", "c@localhost", "--transient", "x@y"], ["--transient x@y"]),
        (GALERA, ["--nodes", "3", "--register", "--lost", "db1"], ["--register", "--lost db1"]),
        (ETCD, ["--nodes", "3", "--transient", "a"], ["--nodes 3", "--transient a"]),
    ],
)
def test_an_option_that_changes_nothing_is_named(
    stores: list[Path], options: list[str], unused: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert unused == unused_options(capsys, stores, *options)


def test_an_option_that_is_said_to_be_unused_changes_no_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--register", "--nodes", "3", "--transient", "x@y", "--lost", "z@y"]
    for stores in (RABBITMQ, RABBITMQ[:2], RABBITMQ[1:]):
        code, without = ask_json(capsys, "pick", *stores)
        again, found = ask_json(capsys, "pick", *stores, *options)

        assert 4 == len(found["unused"])
        assert code == again
        assert [without[key] for key in ("verdict", "latest", "missing", "next")] == [
            found[key] for key in ("verdict", "latest", "missing", "next")
        ]


def test_a_position_for_a_store_that_needs_none_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = postgresql(tmp_path)

    unused = unused_options(
        capsys, stores, "--position", f"{stores[0]}=5", "--lost", "b", "--nodes", "2"
    )
    collected = ask(capsys, "collect", stores[0], "--position", f"{stores[0]}=5")

    assert [True, True] == [
        unused[0].startswith("--position for ") and unused[0].endswith("/a"),
        unused[1:] == ["--lost b"],
    ]
    assert "warning: --position for " in " ".join(collected.err.split())
    assert collected.out.startswith("{")


COMMANDS = {
    "collect": "joinproto recover collect {} > NAME.info",
    "inspect": "joinproto recover inspect {}",
    "compare": "joinproto recover compare {}",
    "pick": "joinproto recover pick {}",
    "plan": "joinproto recover plan {} -o plan.json",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_of_stores_leads_to_the_same_command_with_the_stores(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command's other words stay as they are."""
    shutil.copytree(DATA / "galera-killed-together", tmp_path / "all")
    inside = [str(tmp_path / "all" / name) for name in ("n1", "n2", "n3")]

    done = ask(capsys, command, tmp_path / "all")
    with_another = ask(capsys, command, OURS[0], tmp_path / "all")
    asked = ask(capsys, command, "--format", "galera", tmp_path / "all")

    assert 2 == done.code
    assert "3 data directories are in it" in done.err
    assert f"next: {COMMANDS[command].format(' '.join(inside))}\n" in done.err
    assert command == "collect" or f"{OURS[0]} {inside[0]}" in with_another.err
    assert f"next: joinproto recover {command} --format galera {inside[0]}" in asked.err


def test_the_next_command_has_the_options_of_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typed as it stands, it judges the same stores in the same way."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.5")
    options = ["--lost", "c", "--format", "joinproto"]

    compared = ask(capsys, "compare", *options, *disks.values())
    picked = ask(capsys, "pick", *options, *disks.values())

    said = f"--format joinproto --lost c {disks['a']} {disks['b']}"
    assert f"next: joinproto recover pick {said}" in " ".join(compared.out.split())
    assert f"plan --unproven {said} -o plan.json" in " ".join(picked.out.split())


def test_a_log_with_a_position_may_come_through_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--position DIR=<(journalctl -u mariadb)`, as a shell offers it."""
    store = DATA / "galera-killed-together" / "n1"
    out, into = os.pipe()
    os.write(into, b"WSREP: Recovered position: 6a0c8b5e-3b1f-11ef-9c55-0242ac120002:7\n")
    os.close(into)

    done = ask(capsys, "pick", "--position", f"{store}=/dev/fd/{out}", store)

    os.close(out)
    assert "cannot be read" not in done.err
    assert done.code != 2, done.err


def test_a_collected_store_is_not_collected_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(OURS[0], tmp_path / "a.info")

    done = ask(capsys, "collect", tmp_path)

    assert 2 == done.code
    assert f"next: joinproto recover pick {tmp_path / 'a.info'}" in done.err


def test_undo_refuses_stores_that_apply_never_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, as with `plan` and `mark-clean`; 1 is for a damaged store."""
    (other,) = postgresql(tmp_path)[:1]
    kept = DATA / "galera-killed-together"

    done = ask(capsys, "undo", other)
    galera = ask(capsys, "undo", kept / "n1", "--json")
    above = ask(capsys, "undo", kept)
    shutil.copytree(kept / "n1", tmp_path / "one" / "n1")
    alone = ask(capsys, "undo", tmp_path / "one")

    assert (2, True) == (done.code, "is a store of PostgreSQL" in done.err)
    assert (2, 2) == (galera.code, galera.object["error"]["code"])
    assert (2, True) == (above.code, f"with one of these: {kept / 'n1'}" in above.err)
    assert f"next: joinproto recover undo {tmp_path / 'one' / 'n1'}\n" in alone.err


def test_an_empty_file_is_reported_as_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell leaves such a file if `collect > a.info` fails."""
    (tmp_path / "a.info").touch()

    done = ask(capsys, "pick", tmp_path / "a.info")

    assert (1, True) == (done.code, "a.info: is empty" in done.err)


@pytest.mark.parametrize(
    ("kind", "said"), [("galera-killed-together", "--nodes N"), ("ours", "--lost NAME")]
)
def test_the_advice_about_an_unreadable_store_names_an_option_that_has_an_effect(
    kind: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For Galera `--lost` changes nothing."""
    if kind != "ours":
        shutil.copytree(DATA / kind, tmp_path / "all")
        stores = [tmp_path / "all" / name for name in ("n1", "n2", "n3")]
        (stores[2] / "grastate.dat").write_bytes(b"# GALERA saved state\nseq")
    else:
        stores = [*OURS[:1], tmp_path / "b"]
        (tmp_path / "b" / "joinproto").mkdir(parents=True)
        for name in ("store.meta", "store.meta.previous"):
            (tmp_path / "b" / "joinproto" / name).write_bytes(b"damaged")

    done = ask(capsys, "pick", *stores)

    assert 1 == done.code
    assert f"pick without it and with {said}" in " ".join(done.out.split())


@pytest.mark.parametrize("part", ["pg_wal", "global", "pg_wal/archive_status"])
def test_a_part_of_a_data_directory_gives_exit_code_2_and_the_directory_is_named(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = postgresql(tmp_path)
    (a / part).mkdir(exist_ok=True)

    done = ask(capsys, "pick", a / part, b)

    assert 2 == done.code
    assert f"is a part of the data directory {a}" in done.err
    assert f"joinproto recover pick {a} {b}" in done.err


@pytest.mark.parametrize("part", ["quorum", "quorum/a@localhost"])
def test_a_part_of_a_rabbitmq_node_is_refused_and_the_node_is_named(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`quorum/a@localhost` has a node's name, but is not a node's directory."""
    node = real_nodes(tmp_path)["a@localhost"]

    done = ask(capsys, "inspect", node / part)

    assert (2, True) == (done.code, f"joinproto recover inspect {node}" in done.err)


def test_the_error_about_a_directory_two_levels_too_high_names_the_stores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib" / "15").mkdir(parents=True)
    a, b = postgresql(tmp_path / "lib" / "15")

    done = ask(capsys, "pick", tmp_path / "lib")

    assert 2 == done.code
    assert f"joinproto recover pick {a} {b}" in done.err


def test_the_advice_about_an_empty_directory_asks_whether_its_disk_is_mounted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    done = ask(capsys, "pick", tmp_path / "empty")

    said = " ".join(done.out.split())
    assert 1 == done.code
    assert "the directory is empty" in said
    assert "whether its disk is mounted" in said


def test_a_node_of_rabbitmq_is_known_by_its_files_and_not_by_its_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy of c is a store of c, whether its directory has another name or b's."""
    nodes = real_nodes(tmp_path / "nodes")
    copy, false = tmp_path / "copy-of-c", tmp_path / "b@localhost"
    for place in (copy, false):
        shutil.copytree(nodes["c@localhost"], place)

    twice = ask(capsys, "pick", nodes["c@localhost"], copy, nodes["b@localhost"])
    called = ask(capsys, "inspect", false)

    assert 5 == twice.code
    assert "are copies of one member's store" in " ".join(twice.out.split())
    said = " ".join(called.out.split())
    assert "the directory is called 'b@localhost', and Ra's files are c@localhost's" in said
