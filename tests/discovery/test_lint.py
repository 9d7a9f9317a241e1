"""The effect of a rabbitmq.conf in a release, and its problems.

Source: discovery, D6.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joinproto.discovery import conf
from joinproto.discovery.findings import SettingEffect, Severity
from joinproto.discovery.keys import SETTINGS
from joinproto.discovery.lint import Linted, LintInput, lint
from joinproto.discovery.releases import FIRST, LATEST, release
from joinproto.errors import UsageProblem

EXAMPLES = Path(__file__).parent / "examples"
F = "cluster_formation"


def problems(found: Linted) -> list[tuple[str, int, str]]:
    """Return the problems: severity, place, subject."""
    name = f"{F}."
    return [
        (one.severity.value, one.line, (one.key or "").removeprefix(name)) for one in found.problems
    ]


def of(text: str, at: str = "head", **given: object) -> Linted:
    return lint(text, LintInput(release=release(at), **given))  # type: ignore[arg-type]


def test_a_quoted_value_may_contain_a_number_sign() -> None:
    """The format: `#` ends an unquoted value, a part of a key may hold a dot."""
    lines, wrong = conf.read(b"a.b = 'x # y'  # z\n\n# c\n  c\\.d.e=1 # two\n")

    assert [] == wrong
    assert [("a", "b"), ("c.d", "e")] == [line.parts for line in lines]
    assert ["x # y", "1"] == [line.value for line in lines]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"443 is used by default", "there is no = between a key and a value"),
        (b"a.b =", "there is no value"),
        (b"a b = 1", "'a b' is not a key"),
        (b"a = 'x", "a quoted value has no closing '"),
        (b"a = \xff", "byte 5 of the line is not UTF-8"),
        (b"include other.conf", "an included file is not read here"),
    ],
)
def test_a_line_that_is_not_a_setting_is_reported_with_its_number(line: bytes, why: str) -> None:
    """It is an error, because the node would not start."""
    found = lint(b"# one\n" + line + b"\n", LintInput())

    assert [(2, why)] == [(one.line, one.why) for one in found.problems]
    assert not found.starts


@pytest.mark.parametrize(
    ("at", "status"), [("3.8", "accepted"), ("3.13", "ignored"), ("4.0", "unknown")]
)
def test_the_startup_delay_was_removed_in_two_releases(at: str, status: str) -> None:
    """3.9.0 ignores it, 4.0 refuses the whole file."""
    found = of(f"{F}.randomized_startup_delay_range.max = 60\n", at)

    assert [status] == [one.status.value for one in found.settings]
    assert (status != "unknown") == found.starts


def test_a_key_of_a_plugin_that_is_off_keeps_the_node_from_starting() -> None:
    """The whole file is refused, with the plugin to enable."""
    text = f"{F}.consul.host = consul\n"

    text += f"{F}.peer_discovery_backend = consul\n"
    off = of(text, plugins=frozenset({"rabbitmq_peer_discovery_aws"}))
    on = of(text, plugins=frozenset({"rabbitmq_peer_discovery_consul"}))

    assert not off.starts
    assert "rabbitmq_peer_discovery_consul" in off.problems[0].next
    assert not any("without any" in one.why for one in off.problems)
    assert on.starts


def test_cleanup_is_known_with_any_plugin_and_unknown_with_none() -> None:
    """Cleanup belongs to the plugins' common settings."""
    text = f"{F}.node_cleanup.interval = 60\n"

    assert not of(text, plugins=frozenset()).starts
    assert of(text, plugins=frozenset({"rabbitmq_peer_discovery_etcd"})).starts


def test_a_misspelt_key_is_reported_with_the_nearest_key() -> None:
    found = of(f"{F}.consul.svc_adr_auto = true\n")

    assert [SettingEffect.UNKNOWN] == [one.status for one in found.settings]
    assert f"did you mean {F}.consul.svc_addr_auto?" == found.problems[0].next


@pytest.mark.parametrize(
    ("key", "value", "is_read"),
    [
        ("consul.port", "65534", True),
        ("consul.port", "65535", False),
        ("discovery_retry_limit", "unlimited", True),
        ("discovery_retry_limit", "0", False),
        ("aws.hostname_path.1", "privateIpAddress", True),
        ("aws.hostname_path.first", "privateIpAddress", False),
        ("node_type", "ram", False),
        ("registration.enabled", "yes", False),
        ("etcd.ssl_options.fail_if_no_peer_cert", "true", False),
    ],
)
def test_a_value_is_read_as_the_schema_reads_it(key: str, value: str, is_read: bool) -> None:
    """Consul's setting does not accept 65535; the guide's own example for etcd is refused."""
    assert is_read == of(f"{F}.{key} = {value}\n").starts


def test_the_environment_wins_over_the_file_and_secrets_are_hidden() -> None:
    """Names are tried with `RABBITMQ_` first, then without."""
    found = of(
        f"{F}.peer_discovery_backend = consul\n{F}.consul.acl_token = hush\n",
        environment={"RABBITMQ_CONSUL_ACL_TOKEN": "hush too", "CONSUL_HOST": "there"},
    )

    values = {(one.key, one.origin.value): one.value for one in found.settings}
    assert "..." == values[f"{F}.consul.acl_token", "file"]
    assert "..." == values[f"{F}.consul.acl_token", "environment"]
    assert "there" == values[f"{F}.consul.host", "environment"]
    assert "hush" not in str(found)


@pytest.mark.parametrize(
    ("text", "at", "given", "next"),
    [
        (f"{F}.foo = 1", "4.3", {}, "take the line out, or correct the key"),
        (f"{F}.etcd.ssl_options.fail_if_no_peer_cert = true", "4.3", {}, "take the line out"),
        (f"{F}.node_type = ram", "4.3", {}, "write disc"),
        (f"{F}.peer_discovery_backend = foo", "4.3", {}, "write classic_config, dns"),
        (
            f"{F}.peer_discovery_backend = k8s\n{F}.discovery_retry_limit = 3",
            "4.1",
            {},
            "take the line out",
        ),
        (f"{F}.node_cleanup.interval = 7", "4.3", {"CLEANUP_INTERVAL": "8"}, "keep one of the two"),
    ],
)
def test_each_problem_has_its_advice(text: str, at: str, given: dict[str, str], next: str) -> None:
    """No advice names a key of another backend."""
    found = of(text, at, environment=given).problems

    assert any(one.next.startswith(next) for one in found), found


def test_a_backend_whose_plugin_is_off_cannot_be_asked() -> None:
    """This does not depend on the backend's own keys."""
    text = f"{F}.peer_discovery_backend = consul"

    assert not [one for one in of(text).problems if "not enabled" in one.why]
    off = of(text, plugins=frozenset({"rabbitmq_management"})).problems
    assert any("rabbitmq_peer_discovery_consul, which is not enabled" in one.why for one in off)


def test_the_last_of_two_lines_counts() -> None:
    found = of(f"{F}.node_type = disc\n{F}.node_type = disk\n")

    assert ["disc"] == [one.value for one in found.settings]
    assert [("warning", 1, "node_type")] == problems(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("peer_discovery_backend = consul", ("unsafe", 1, "peer_discovery_backend")),
        ("peer_discovery_backend = aws", ("unsafe", 1, "peer_discovery_backend")),
        ("node_cleanup.only_log_warning = false", ("unsafe", 1, "node_cleanup.only_log_warning")),
        ("classic_config.nodes.1 = host1", ("unsafe", 1, "classic_config.nodes.1")),
        (
            "peer_discovery_backend = consul\nconsul.svc_ttl = 15",
            ("unsafe", 2, "consul.svc_ttl"),
        ),
        ("dns.hostname = seed", ("unsafe", 1, "dns.hostname")),
        ("classic_config.nodes.1 = rabbit@a\ndns.hostname = seed", ("warning", 2, "dns.hostname")),
        ("peer_discovery_backend = classic_config", ("warning", 1, "peer_discovery_backend")),
        ("peer_discovery_backend = dns\ndns.hostname = x y..z", ("unsafe", 2, "dns.hostname")),
        (
            "peer_discovery_backend = consul\nconsul.deregister_after = 30",
            ("warning", 2, "consul.deregister_after"),
        ),
    ],
)
def test_an_unsafe_or_useless_setting_is_reported(
    text: str, expected: tuple[str, int, str]
) -> None:
    """Each is a case in the table of operators' cases."""
    found = of("\n".join(f"{F}.{line}" for line in text.splitlines()))

    assert expected in problems(found)


def test_a_plain_list_of_three_has_no_problem() -> None:
    """On a node that the list lacks, the list has a problem."""
    lines = [f"{F}.classic_config.nodes.{at} = rabbit@host{at}" for at in (1, 2, 3)]

    found = of("\n".join(lines), node="rabbit@host2")

    assert () == found.problems
    assert of("\n".join(lines), node="rabbit@host9").problems


def test_ten_thousand_lines_are_read() -> None:
    """Lines about other settings are skipped."""
    text = "".join(f"default_permissions.{at} = x\n" for at in range(10_000))

    assert () == of(f"{text}{F}.node_type = disc\n").problems


def examples() -> dict[int, str]:
    """Return the examples of the guide by number."""
    text = (EXAMPLES / "guide.conf").read_text("utf-8")
    parts = re.split(r"^# == (\d+)\n", text, flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def judged(number: int, text: str) -> list[str]:
    """Return the problems of an example: the refused settings of 3.8 and 3.13, and all of 4.3."""
    told = [
        f"{number} {at} {one.severity.value}: {(one.key or '').removeprefix(f'{F}.')}: {one.why}"
        for at in ("3.8", "3.13", "4.3")
        for one in of(text, at).problems
        if at == "4.3" or one.severity is Severity.ERROR
    ]
    return told or [f"{number} fine"]


def test_the_examples_of_the_guide_are_judged() -> None:
    """All 42 have the problems in guide.txt; release 4.3 refuses one."""
    told = [line for number, text in examples().items() for line in judged(number, text)]

    assert (EXAMPLES / "guide.txt").read_text("utf-8").splitlines() == told
    refused = {line.split()[0] for line in told if " 4.3 error: " in line}
    assert {"15"} == refused


def test_an_example_with_comments_without_a_sign_is_refused_with_their_lines() -> None:
    """Copies of the guide have such lines, and its example in Erlang terms has curly quotes."""
    lost = of(f"443 is used by default\n{F}.k8s.port = 443\n")
    terms = of("[\n{rabbit, [\n{cluster_nodes, {[\u2018rabbit@a\u2019], disc}}\n]}\n].\n")

    assert not lost.starts
    assert [1] == [one.line for one in lost.problems if one.severity is Severity.ERROR]
    assert not terms.starts
    assert [3] == [one.line for one in terms.problems]


def test_every_setting_has_one_row_and_a_default_that_can_be_read() -> None:
    keys = [setting.key for setting in SETTINGS]

    assert sorted(set(keys)) == sorted(keys)
    for setting in SETTINGS:
        for at in (FIRST, LATEST):
            default = setting.default_at(at)
            assert default is None or setting.kind(at).read(default) is not None


@pytest.mark.parametrize("text", ["", "4", "2.8", "5.0", "4.x", "four"])
def test_a_malformed_or_unknown_release_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        release(text)


CLASSIC = """\
%% The older form.
[{rabbit, [
  {tcp_listeners, [5672]},
  {cluster_nodes, {['rabbit@a', 'rabbit@b'], disc}},
  {cluster_formation, [
    {peer_discovery_backend, rabbit_peer_discovery_consul},
    {randomized_startup_delay_range, {0, 2}},
    {node_cleanup, [{cleanup_only_log_warning, false}]},
    {peer_discovery_consul, [
      {consul_host, "consul.example"}, {consul_svc_tags, ["a", "b"]}, {consul_acl_token, "x"},
      {consul_nonsense, 1}]}]}]}].
"""


def test_the_older_form_is_read_with_the_keys_of_the_newer_one() -> None:
    """Each setting has its line, and secrets are hidden."""
    found = {one.key.removeprefix("cluster_formation."): one for one in of(CLASSIC).settings}

    assert ("consul.example", 10) == (found["consul.host"].value, found["consul.host"].line)
    assert "rabbit@b" == found["classic_config.nodes.2"].value
    assert "b" == found["consul.svc_tags.2"].value
    assert found["node_cleanup.only_log_warning"].value is False
    assert "..." == found["consul.acl_token"].value


def test_in_the_older_form_unknown_names_are_ignored_and_not_refused() -> None:
    """No schema checks the older form; with the newer form, the node does not start."""
    found = of(CLASSIC)

    assert found.starts
    said = {one.key: one.severity.value for one in found.problems}
    assert "warning" == said["cluster_formation.consul.nonsense"]
    assert "unsafe" == said["cluster_formation.node_cleanup.only_log_warning"]
    assert not of("cluster_formation.consul.nonsense = 1").starts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[{rabbit, [", "the end of the text"),
        (b"[{rabbit, []}]", "full stop"),
        (b"[a]. [b].", "one list of applications"),
        (b"[{rabbit, [{a, \xff}]}].", "not UTF-8"),
        (b"[" * 100_000, "brackets"),
        (b"[X].", "a variable"),
    ],
)
def test_terms_that_cannot_be_read_are_reported(text: bytes, why: str) -> None:
    """The one error has a line."""
    (problem,) = [one for one in lint(text, LintInput()).problems if one.severity is Severity.ERROR]

    assert why in problem.why
    assert problem.line >= 1
