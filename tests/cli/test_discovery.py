"""`joinproto discovery`: its output, its exit codes, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from joinproto.cli.main import cli
from joinproto.errors import EnvironmentProblem, UsageProblem

K8S = """cluster_formation.peer_discovery_backend = rabbit_peer_discovery_k8s
cluster_formation.randomized_startup_delay_range.max = 2
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["discovery", *words], standalone_mode=False)


def facts(folder: Path, **fields: Any) -> str:
    file = folder / "facts.json"
    file.write_text(json.dumps(fields))
    return str(file)


def test_lint_reports_the_line_the_reason_and_the_next_step(tmp_path: Path) -> None:
    """4.1 refuses settings that 3.13 only ignored."""
    file = tmp_path / "rabbitmq.conf"
    file.write_text(K8S)

    new = run("lint", str(file), "--release", "4.1")
    old = run("lint", str(file), "--release", "3.13")

    assert 1 == new.return_value
    assert f"{file}:2: error: cluster_formation.randomized_startup_delay_range.max:" in new.output
    assert "next: take the line out" in new.output
    assert f"{file}:2: warning:" in old.output


def test_lint_prints_json_and_exits_0_without_findings(tmp_path: Path) -> None:
    file = tmp_path / "rabbitmq.conf"
    file.write_text("cluster_formation.classic_config.nodes.1 = rabbit@a\n")

    found = run("lint", str(file), "--json")

    assert 0 == found.return_value
    assert json.loads(found.output)["starts"] is True


def test_a_formation_that_splits_is_reported_step_by_step(tmp_path: Path) -> None:
    """Release 4.x splits if two of four nodes see only each other."""
    file = facts(tmp_path, nodes=["n1", "n2", "n3", "n4"], cut=[["n1", "n2"]])

    text, tree = run("would-it-split", file), run("would-it-split", file, "--json")

    assert 1 == text.return_value
    assert "it splits, in 8 steps" in text.output
    assert 8 == len(json.loads(tree.output)["run"])


@pytest.mark.parametrize(
    "name", ["rabbit_peer_discovery_etcd", "rabbitmq_peer_discovery_etcd", "peer_discovery_etcd"]
)
def test_a_backend_may_be_named_as_its_module(name: str, tmp_path: Path) -> None:
    runs = [
        run("would-it-split", facts(tmp_path, nodes=["n1", "n2"], release="4.0", backend=one))
        for one in (name, "etcd")
    ]
    assert runs[0].output == runs[1].output
    assert "rabbit_peer_discovery_etcd names the node" in runs[0].output
    wrong = run("would-it-split", facts(tmp_path, nodes=["n1"], backend=["etcd"]))
    assert "backend: expected one of" in str(wrong.exception)


def test_a_formation_that_does_not_split_is_reported(tmp_path: Path) -> None:
    """By our rules, a node that is cut off founds no cluster of its own."""
    file = facts(tmp_path, nodes=["n1", "n2", "n3"], cut=[["n1"]], release="ours")

    found = run("would-it-split", file)

    assert 0 == found.return_value
    assert "one cluster in every order" in found.output


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"nodes": []}, "nodes"),
        ({"nodes": ["a", "a"]}, "nodes[1]"),
        ({"nodes": ["a"], "cut": [["b"]]}, "cut"),
        ({"nodes": ["a"], "answers": {"a": {}}}, "answer"),
        ({"nodes": ["a"], "release": "2"}, "release"),
        ({"nodes": ["a"], "tries": -1}, "tries"),
        ({"nodes": ["a"], "tries": 1_000_000}, "tries"),
        ({"nodes": ["a"], "what": 1}, "what"),
    ],
)
def test_facts_that_do_not_fit_are_refused_by_their_path(
    tmp_path: Path, fields: dict[str, Any], path: str
) -> None:
    found = run("would-it-split", facts(tmp_path, **fields))

    assert found.exception is not None
    assert path == getattr(found.exception, "path", None)


CLASSIC = """cluster_formation.classic_config.nodes.1 = rabbit@a
cluster_formation.classic_config.nodes.2 = rabbit@b
"""


def test_list_uses_the_backend_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rabbitmq.conf"
    file.write_text(CLASSIC)

    found = run("list", str(file), "--node", "rabbit@a", "--json")

    assert 0 == found.return_value
    assert ["rabbit@a", "rabbit@b"] == json.loads(found.output)["nodes"]


@pytest.mark.parametrize(
    ("release", "now", "last", "seconds"),
    [("4.1", "retry", "standalone", 30.0), ("ours", "wait", "wait", None)],
)
def test_boot_reports_the_end_of_a_node_that_discovers_no_other(
    tmp_path: Path, release: str, now: str, last: str, seconds: float | None
) -> None:
    """4.1 tries thirty times, a second apart, and then starts alone; our rules wait for others."""
    file = tmp_path / "rabbitmq.conf"
    file.write_text(CLASSIC)

    found = run("boot", str(file), "--node", "rabbit@a", "--release", release, "--json")

    tree = json.loads(found.output)
    assert (now, last, seconds) == (tree["now"]["step"], tree["at_last"]["step"], tree["seconds"])


def test_boot_joins_a_node_that_answers(tmp_path: Path) -> None:
    file, seen = tmp_path / "rabbitmq.conf", tmp_path / "seen.json"
    file.write_text(CLASSIC)
    seen.write_text(json.dumps({"rabbit@b": {"members": 2, "in_cluster": True, "ready": True}}))

    found = run("boot", str(file), "--node", "rabbit@a", "--seen", str(seen))

    assert "now: join rabbit@b: of the nodes that answer, rabbit@b is first (D3)" in found.output


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"rabbit@b": {"foo": 1}}', "rabbit@b.foo: "), ('{"rabbit@b": 7}', "rabbit@b: "), ("{", "")],
)
def test_a_status_that_does_not_fit_is_named(tmp_path: Path, text: str, place: str) -> None:
    """The error names the node and the field, and advises no option that the command lacks."""
    file, seen = tmp_path / "rabbitmq.conf", tmp_path / "seen.json"
    file.write_text(CLASSIC)
    seen.write_text(text)

    refused = run("boot", str(file), "--node", "rabbit@a", "--seen", str(seen)).exception

    assert str(refused).startswith(f"--seen: {place}")
    assert not getattr(refused, "next", "").startswith("--schema")


def test_an_address_without_a_kind_is_refused() -> None:
    found = run("conformance", "http://127.0.0.1")

    assert found.exception is not None
    assert "KIND+http://HOST:PORT" in getattr(found.exception, "next", "")


@pytest.mark.parametrize("kind", ["consul", "etcd2", "etcd3"])
def test_a_server_that_does_not_answer_gets_no_verdict(kind: str) -> None:
    """The command exits with 4 and names the address, and does not call the server faulty."""
    found = run("conformance", f"{kind}+http://127.0.0.1:1")

    assert isinstance(found.exception, EnvironmentProblem)
    assert 4 == found.exception.code
    assert f"{kind}+http://127.0.0.1:1 does not answer" in found.exception.message
    assert "FAILS" not in found.output


def test_a_search_that_did_not_end_is_reported(tmp_path: Path) -> None:
    """The search neither finds a split nor excludes one, so the exit code is 3."""
    file = facts(tmp_path, nodes=["a", "b", "c", "d", "e"], release="ours", fails=True)

    found = run("would-it-split", file, "--max-seconds", "0")

    assert 3 == found.return_value
    assert "not all were searched" in found.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plugins", "consul"), "rabbitmq_peer_discovery_consul"),
        (("--plugins", "rabbitmq_peer_discovery_zookeeper"), "is not a plugin of peer discovery"),
        (("--node", "bad"), "PREFIX@HOST"),
    ],
)
def test_unknown_plugins_and_malformed_node_names_are_refused(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "rabbitmq.conf"
    file.write_text("cluster_formation.consul.host = a\n")
    found = run("lint", str(file), *words)

    assert isinstance(found.exception, UsageProblem)
    assert 2 == found.exception.code
    assert message in f"{found.exception.message} {found.exception.next}"


def test_the_summary_names_the_release(tmp_path: Path) -> None:
    """The output has the release itself, and not the word `head`."""
    file = tmp_path / "rabbitmq.conf"
    file.write_text("cluster_formation.discovery_retry_limit = 1\n")

    assert "head" not in run("lint", str(file)).output


def test_a_file_that_ends_early_is_reported_with_its_line(tmp_path: Path) -> None:
    """The Erlang terms are cut off, so the error names a line and no setting."""
    file = tmp_path / "advanced.config"
    file.write_text("[{rabbit, [")

    found = run("lint", str(file))

    assert f"{file}:1: error: not Erlang terms: the end of the text (D6)" in found.output
