"""After the restart: `verify` asks real sockets and nodes whether they are one cluster again.

Source: recovery, "Commands", exit codes.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.recovery import live
from joinproto.recovery.schema import RESULT
from tests.cli.schemas import faults, unexplained
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay

CHAIN = "F R:abc"
AnswerServer = Callable[[Path, bytes], None]


@pytest.fixture
def serve_answer(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnswerServer]:
    """Return a function that makes a socket which gives one answer to all clients."""
    monkeypatch.setattr(live, "SECONDS", 60.0)
    open_sockets = []
    threads = []

    def serve(path: Path, data: bytes) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(os.fspath(path))
        listener.listen()
        open_sockets.append(listener)

        def run() -> None:
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                with link:
                    assert b"status\n" == link.recv(100)
                    link.sendall(data)

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()

    yield serve
    for one in open_sockets:
        one.shutdown(socket.SHUT_RDWR)
        one.close()
    for thread in threads:
        thread.join()


def write_config(folder: Path, name: str, *, cluster: str = "cluster") -> Path:
    """Write a node's configuration next to its data directory."""
    path = folder / f"{name}.toml"
    path.write_text(
        f'member = "{name}"\ncluster = "{cluster}"\ndata = "{name}"\n'
        f'control = "{name}.sock"\nelectors = ["a", "b", "c"]\nwait_for = 2\n'
    )
    return path


def status(name: str, **more: Any) -> dict[str, Any]:
    """Return the status of a node that serves in view 2."""
    initial = initial_signature()
    return {
        "member": name,
        "store_id": f"{name}'",
        "cluster": "cluster",
        "phase": "active",
        "serves": True,
        "store": "dirty",
        "initial": initial,
        "view": {"id": "v2", "number": 2, "kind": "restart", "members": ["a", "b", "c"]},
        "position": {"view": "v2", "seq": 7},
        "committed": 7,
        "peers": sorted({"a", "b", "c"} - {name}),
        "waiting": None,
        **more,
    }


def initial_signature() -> str:
    from tests.join.pictures import lineage

    return str(lineage("F").initial)


@pytest.fixture
def three_nodes(tmp_path: Path, serve_answer: AnswerServer) -> Callable[..., list[Path]]:
    """Return a function that makes three nodes; arguments change answers, None: no answer."""
    lay(tmp_path, CHAIN, a="R F.5", b="R F.5", c="R F.5")

    def make(**said: dict[str, Any] | None) -> list[Path]:
        files = []
        for name in "abc":
            files.append(write_config(tmp_path, name))
            change = said.get(name, {})
            if change is not None:
                tree = status(name, **change)
                serve_answer(tmp_path / f"{name}.sock", json.dumps(tree).encode() + b"\n")
        return files

    return make


def config_options(files: list[Path]) -> list[object]:
    return [word for file in files for word in ("--config", file)]


WAITS = {
    "phase": "initializing",
    "serves": False,
    "waiting": {"rule": "chain-restart I6", "case": "no clean store", "reason": None},
}
OTHER = {"view": {"id": "v3", "number": 3, "kind": "change", "members": ["a", "b"]}}
FORK = {"view": {"id": "w2", "number": 2, "kind": "restart", "members": ["c"]}}


@pytest.mark.parametrize(
    ("code", "word", "said"),
    [
        (0, "RUNS: The cluster runs", {}),
        (1, "NO ANSWER: No member answers: a, b, c", {"a": None, "b": None, "c": None}),
        (3, "DIFFERENT-CLUSTERS:", {"b": {"cluster": "another"}}),
        (3, "DIFFERENT-CLUSTERS:", {"b": {"member": "x"}}),
        (3, "DIFFERENT-CLUSTERS:", {"b": {"initial": "f" * 64}}),
        (4, "DIVERGED: Two views have the number 2", {"c": FORK}),
        (5, "NOT YET: b does not answer", {"b": None}),
        (5, "NOT YET: Not all members serve clients yet: c is initializing", {"c": WAITS}),
        (5, "NOT YET: The members serve in different views", {"a": OTHER, "b": OTHER}),
    ],
)
def test_each_set_of_answers_has_its_verdict_and_exit_code(
    code: int,
    word: str,
    said: dict[str, Any],
    three_nodes: Callable[..., list[Path]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first case that holds is reported."""
    files = three_nodes(**said)

    done = ask(capsys, "verify", *config_options(files))
    found, tree = ask_json(capsys, "verify", *config_options(files))

    assert (code, code) == (done.code, found)
    assert done.out.startswith(word)
    assert "\nnext: " in done.out
    assert [] == list(faults(tree, RESULT))
    assert [] == list(unexplained(tree, RESULT))
    assert [said.get(name, {}) is not None for name in "abc"] == [
        one["answers"] for one in tree["members"]
    ]


def test_one_serving_member_is_enough_for_the_verdict(
    three_nodes: Callable[..., list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A member serves only after all were ready, but does not know their present state."""
    files = three_nodes(b=None, c=None)

    done = ask(capsys, "verify", "--config", files[0])

    assert 0 == done.code
    assert "b, c: run this on their machines, too" in done.out


def test_stores_on_two_branches_are_found(
    tmp_path: Path, serve_answer: AnswerServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two restarts were forced, and the members of both serve."""
    lay(tmp_path, "F", a="R1 F.5 of F R1:ab", b="R1 F.5 of F R1:ab", c="R2 F.5 of F R2:bc")
    files = [write_config(tmp_path, name) for name in "abc"]
    for name, number in (("a", 2), ("b", 2), ("c", 3)):
        view = {"id": f"v{number}", "number": number, "kind": "restart", "members": [name]}
        line = json.dumps(status(name, view=view)).encode() + b"\n"
        serve_answer(tmp_path / f"{name}.sock", line)

    done = ask(capsys, "verify", *config_options(files))

    assert 4 == done.code
    assert "view 1 is the last that both have" in done.out


def test_verify_changes_no_file(
    three_nodes: Callable[..., list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No lock file is made."""
    files = three_nodes()
    before = snapshot(tmp_path)

    ask(capsys, "verify", *config_options(files))

    assert before == snapshot(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[node", "is not a TOML file"),
        ('cluster = "c"\ndata = "d"\nelectors = []\n', "member: found no value"),
        ('member = 5\ncluster = "c"\ndata = "d"\nelectors = []\n', "member: found 5"),
        ('member = "a"\ncluster = "c"\nelectors = []\n', "data: found no value"),
        ('member = "a"\ncluster = "c"\ndata = "d"\nelectors = "a"\n', "electors: found 'a'"),
        ('member = "a\\u001b[2J"\ncluster = "c"\ndata = "d"\nelectors = []\n', "member: found"),
    ],
)
def test_a_malformed_configuration_gives_exit_code_2(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the field."""
    path = tmp_path / "node.toml"
    path.write_text(text)

    done = ask(capsys, "verify", "--config", path)

    assert 2 == done.code
    assert said in done.err
    assert "\x1b" not in done.err


# -- possible listeners at the other end ---------------------------------------------------------


def test_each_path_without_a_node_has_its_own_message(
    tmp_path: Path, serve_answer: AnswerServer
) -> None:
    """A file, a dead socket, a socket without an answer, a missing path and a too long path."""
    (tmp_path / "file").write_text("")
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(os.fspath(tmp_path / "dead"))
    dead.close()
    serve_answer(tmp_path / "silent", b"")
    long = tmp_path / ("x" * 100)
    (tmp_path / "real").mkdir()
    long.symlink_to(tmp_path / "dead")

    assert "is not a socket" == live.ask(tmp_path / "file")
    assert "no process answers" in str(live.ask(tmp_path / "dead"))
    assert "gives an answer that no node gives" in str(live.ask(tmp_path / "silent"))
    assert "is not there" in str(live.ask(tmp_path / "nothing"))
    assert "too long for a socket" in str(live.ask(long))


def test_a_node_that_hangs_is_reported_after_the_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process does not answer, but its socket still accepts connections."""
    monkeypatch.setattr(live, "SECONDS", 0.05)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tmp_path / "hangs"))
        listener.listen()

        said = live.ask(tmp_path / "hangs")

    assert "no answer within" in str(said)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(key=st.sampled_from([*status("a")]), value=values)
def test_any_answer_is_a_status_or_raises_an_expected_error(key: str, value: object) -> None:
    """One field of the answer has a random value."""
    try:
        found = live._decoded(json.dumps({**status("a"), key: value}).encode())
    except (KeyError, TypeError, ValueError):
        return

    assert isinstance(found.member, str)
    assert isinstance(found.seq, int)


# -- a real cluster, really killed -----------------------------------------------------------------


@pytest.mark.landing
@pytest.mark.needs("anyio")
@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_a_cluster_that_was_killed_is_recovered_and_verified(
    order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """collect, pick, plan, apply, start, verify: no acknowledged frame is lost."""
    from tools.faults.clients import Connection
    from tools.faults.nodes import Fleet, until

    fleet = Fleet.make(tmp_path, "abc")
    try:
        fleet.start()
        until(lambda: all(fleet[name].status().get("serves") for name in "abc"))
        written = Connection(fleet["a"].clients)
        assert written.ask("append before").startswith(b"ok")
        written.close()
        for name in order[:2]:
            fleet[name].kill()
        fleet[order[2]].kill()
        configs = [fleet[name].config for name in "abc"]
        assert 1 == ask(capsys, "verify", *config_options(configs)).code
        stores = [fleet[name].data for name in "abc"]

        _, picked = ask_json(capsys, "pick", *stores)
        # The position may be in the journal only.
        assert {1} == {one["seq"] for one in picked["stores"] if one["name"] in picked["latest"]}
        _, planned = ask_json(capsys, "plan", *stores, "-o", tmp_path / "plan.json")
        agreed = ("--yes", "--plan-hash", planned["plan"]["hash"])
        assert 0 == ask(capsys, "apply", tmp_path / "plan.json", *agreed).code
        fleet.start()
        until(lambda: 0 == ask(capsys, "verify", *config_options(configs)).code)

        _, said = ask_json(capsys, "verify", *config_options(configs))
        (mark,) = [line for line in said["evidence"] if "the mark of" in line]
        assert re.search(r"from view .*: view \d+ followed \(RESTART .*\): the restart", mark)
        read = Connection(fleet["b"].clients)
        assert "before" in [text for _, text in read.read_all() or []]
        read.close()
    finally:
        fleet.close()
