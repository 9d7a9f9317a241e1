"""The input of a running node: settings, messages and operators' requests; all else is refused."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.wire import Hello
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskService,
    AskStatus,
    Awaited,
    Content,
    Locked,
    Members,
    NewConfig,
    ServiceTold,
    Told,
    Unlock,
)
from joinproto.clusterer.reading import Release
from joinproto.clusterer.status import Status
from joinproto.errors import StoreCorrupt
from joinproto.net.refused import Refused
from tests.cli.running import Run, run_here
from tools.faults.ports import free_ports

GOOD: dict[str, Any] = {
    "node": '"a"',
    "data": '"data"',
    "listen": '"127.0.0.1:7501"',
    "service": '{ kind = "python", object = "tools.faults.clusterer_service:Labelled" }',
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *words: run_here(capsys, "clusterer", *words)


def written(folder: Path, **changes: str | None) -> str:
    fields = {**GOOD, **changes}
    path = folder / "node.toml"
    path.write_text("".join(f"{key} = {value}\n" for key, value in fields.items() if value))
    return str(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"node": None}, "node is missing"),
        ({"node": "1"}, "node: expected a text, found 1"),
        ({"ports": "1"}, "ports: there is no such field"),
        ({"listen": '"0.0.0.0:7501"'}, "which nothing protects"),
        ({"listen": '"here"'}, "not an address"),
        ({"nodes": '{ b = "x" }'}, "not an address"),
        ({"timing": "{ poll = 0 }"}, "timing.poll: expected more than 0, found 0"),
        ({"timing": "{ poll = nan }"}, "timing.poll: expected a finite number, found NaN"),
        ({"timing": "{ heartbeat = 4 }"}, "timing.silence"),
        ({"node": "2020-01-01"}, "a date"),
        ({"service": None}, "service: missing"),
        ({"service": '{ kind = "x" }'}, "service.kind: 'x' is not a kind"),
        ({"service": '{ kind = "x" }'}, "one of commands, python, joinproto, rabbitmq"),
        ({"service": '{ kind = "commands" }'}, "service: start is missing"),
        ({"service": '{ kind = "rabbitmq", start = ["x"] }'}, "service.start"),
        ({"release": '"now"'}, "release"),
        ({"node": "="}, "not a TOML file"),
    ],
)
def test_wrong_settings_are_refused_with_their_key(
    tmp_path: Path, run: Run, changes: dict[str, str | None], said: str
) -> None:
    """The exit code is 2, and the node does not start."""
    found = run("node", "--check", "--config", written(tmp_path, **changes))

    assert 2 == found.code
    assert said in found.err


def test_right_settings_are_reported_as_right(tmp_path: Path, run: Run) -> None:
    assert 0 == run("node", "--check", "--config", written(tmp_path)).code
    assert 2 == run("node", "--config", str(tmp_path / "none.toml")).code


CONFIG = Config(3, frozenset({"a", "b"}), frozenset({"c"}), "a", 30)
HELD = Held(CONFIG, Notes.of({"a": "x"}), Notes.of({"a": 1}))
CONTENTS: list[Content] = [
    AskStatus("x", 7),
    Told(7, HELD, Status.READY),
    Told(7, None, Status.PREBOOT),
    AskAwaited(1),
    Awaited(1, frozenset({"a"})),
    Awaited(1, None),
    NewConfig(HELD, achieved=True),
    AskLock(1),
    Locked(1, granted=False),
    Unlock(1),
    AskService(4),
    ServiceTold(4, True, 3, Notes.of({"label": "x"})),
]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda one: type(one).__name__)
def test_a_message_is_read_as_it_was_written(content: Any) -> None:
    assert content == wire.taken(wire.put(content), Release.SEED)


def test_bytes_that_are_no_message_raise_no_other_error_than_a_refusal() -> None:
    """Each message has a value replaced, a key removed, or a byte changed."""
    chance = Random(1)
    others: list[Any] = [None, True, -1, 1.5, "", "x" * 300, [], [[]], {}, {"a": []}, 10**18]
    refused = 0
    for content in CONTENTS:
        body = wire.put(content)
        tree = json.loads(body)
        bad = [json.dumps({**tree, key: other}).encode() for key in tree for other in others]
        bad += [json.dumps({k: v for k, v in tree.items() if k != key}).encode() for key in tree]
        for _ in range(60):
            at = chance.randrange(len(body))
            bad.append(body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :])
        for one in bad:
            try:
                wire.taken(one, Release.SEED)
            except Refused:
                refused += 1
    assert refused > 500


def test_a_hello_of_another_kind_is_refused() -> None:
    """The hello has another protocol, version or release, or no name."""
    good = json.loads(wire.hello(Hello(node="a", release=Release.SEED)))
    for changes in ({"protocol": "x"}, {"version": 2}, {"release": "head"}, {"node": ""}):
        with pytest.raises(Refused):
            wire.hello_of(json.dumps({**good, **changes}).encode(), Release.SEED)


def test_the_list_of_nodes_that_ran_is_stored_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """The file is read whole, or refused."""
    file = MembersFile(tmp_path / "data")
    assert Members() == file.load()
    kept = Members(members=("a", "b"), ran=("a",), given_up=True)
    file.keep(kept)
    assert kept == file.load()
    for text in ("", "[]", '{"members": 1}', '{"members": [], "ran": [1], "given_up": false}'):
        file.path.write_text(text)
        with pytest.raises(StoreCorrupt):
            file.load()


def test_apply_names_a_node_that_does_not_answer(tmp_path: Path, run: Run) -> None:
    """The node is silent, speaks another protocol, or sends half an answer."""
    config = tmp_path / "c.config"
    config.write_text("[{version, 1}, {nodes, [a]}, {gospel, reset}, {shutdown_timeout, 1}].")
    with socket.create_server(("127.0.0.1", *free_ports(1))) as server:
        port = server.getsockname()[1]
        answers = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0", b"\0\0\0\x02{}", b"\0\0\0\x02[]"]

        def serve() -> None:
            for answer in answers:
                link, _ = server.accept()
                with link:
                    link.recv(4096)
                    link.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        for _ in answers:
            found = run("apply", str(config), "--to", str(port))
            assert 1 == found.code
            assert "no node of the Clusterer answers" in found.err
        thread.join()
    assert 4 == run("status", "--to", str(port)).code
    assert 2 == run("status", "--to", "nowhere").code


def spoken(one: tuple[int, int], other: tuple[int, int]) -> int | str:
    """Return the version that a node with versions `other` speaks with `one`, or its refusal."""
    said = Hello(node="a", release=Release.SEED, newest=one[1])
    try:
        return wire.hello_of(wire.hello(said, one[0]), Release.SEED, other).newest
    except Refused as error:
        return str(error)


def test_two_versions_of_the_protocol_work_together_or_refuse_each_other_by_name() -> None:
    """The next version speaks this one, too; an error names the versions of both nodes."""
    this, next_, later = wire.VERSIONS, (1, 2), (2, 3)

    assert (1, 1) == (spoken(this, next_), spoken(next_, this))
    assert (2, 2) == (spoken(later, next_), spoken(next_, later))
    refused = "it speaks the versions 2 to 3 of the protocol, this node speaks 1 to 1"
    assert refused == spoken(later, this)
    assert "1 to 1 of the protocol, this node speaks 2 to 3" in str(spoken(this, later))


def test_a_hello_without_a_range_of_versions_is_accepted() -> None:
    """Such a hello has no `newest`, and its reader refuses any other `version` than 1 first."""
    tree = json.loads(wire.hello(Hello(node="a", release=Release.SEED)))

    assert (1, False) == (tree["version"], "newest" in tree)
    assert 1 == wire.hello_of(json.dumps(tree).encode(), Release.SEED, (1, 2)).newest
    for bad in ("1", True, None, 1.0):
        with pytest.raises(Refused, match="expected a number"):
            wire.hello_of(json.dumps({**tree, "version": bad}).encode(), Release.SEED)
