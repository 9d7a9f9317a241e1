"""Public reports of problems with these settings, and the findings for each file.

`reports/` has the files.  Numbers are issues of rabbitmq/rabbitmq-server, unless another repository
is named.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.cli.first_start import searched, start_of
from joinproto.codec.strict import fitted, parse
from joinproto.discovery.boot import Step
from joinproto.discovery.chosen import chosen
from joinproto.discovery.contract import Variant
from joinproto.discovery.findings import Severity
from joinproto.discovery.lint import Linted, LintInput, lint
from joinproto.discovery.lock import Guard, guard
from joinproto.discovery.questions import answer_boot
from joinproto.discovery.releases import release

REPORTS = Path(__file__).parent / "reports"
F = "cluster_formation"
ERROR, UNSAFE = Severity.ERROR, Severity.UNSAFE


def linted(name: str, at: str, **given: object) -> Linted:
    return lint((REPORTS / name).read_bytes(), LintInput(release=release(at), **given))  # type: ignore[arg-type]


def said(found: Linted, severity: Severity) -> list[tuple[int, str]]:
    return [(one.line, one.why) for one in found.problems if one.severity is severity]


@pytest.mark.parametrize(
    ("name", "at", "line", "why"),
    [
        ("F01a.conf", "3.8.3", 2, "accepted since 3.8.4 and 3.9"),
        ("F01a.conf", "3.8.3", 3, "accepted since 3.7.27, 3.8.4 and 3.9"),
        ("F01b.conf", "3.8.14", 2, "accepted since 3.8.24, 3.9.9 and 3.10"),
        ("F02.config", "3.10.12", 3, "consul is taken for the name of a module"),
        ("F02.config", "4.3.5", 3, "consul is taken for the name of a module"),
        ("F08.conf", "3.7.6", 7, "no clause takes svc_addr_auto = true with svc_addr_nic"),
        ("F09.conf", "3.7.28", 9, "'httploopback_users.guest = false' is not a scheme"),
        ("F11.conf", "3.8.4", 5, "the lock's answer has a form that the server does not know"),
        ("F12.conf", "4.2.1", 4, "the stored password is wrapped twice"),
    ],
)
def test_a_setting_that_keeps_the_node_from_starting_is_reported_with_its_line(
    name: str, at: str, line: int, why: str
) -> None:
    """Issues 1630, 2379, 6753 and 15191, and rabbitmq-peer-discovery-etcd 9."""
    found = linted(name, at)

    assert not found.starts
    assert [at for at, told in said(found, ERROR) if why in told] == [line]


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("F01a.conf", "3.8.5"),
        ("F01b.conf", "3.8.24"),
        ("F08.conf", "3.7.7"),
        ("F11.conf", "3.8.5"),
        ("F12.conf", "4.2.3"),
        ("F12.conf", "4.3.0"),
    ],
)
def test_a_file_is_accepted_since_the_release_that_fixed_its_defect(name: str, at: str) -> None:
    assert linted(name, at).starts


@pytest.mark.parametrize("name", ["F04a.json", "F04b.json"])
def test_until_3_12_a_node_joins_the_first_that_has_its_tables(name: str) -> None:
    """The node chooses neither itself nor the node that started first (cluster-operator 662)."""
    asked = fitted(answer_boot.asks, parse((REPORTS / name).read_bytes()))
    told = answer_boot.answer(asked)

    expected = {"F04a.json": "rabbit@p2", "F04b.json": "rabbit@p1"}[name]
    assert (Step.JOIN, expected) == (told.step, told.node)


def test_a_node_that_its_own_list_lacks_adds_itself_since_3_13() -> None:
    """So it does not stand alone, but the others do not know it (11534, 11586)."""
    node = "rabbit@rmq0.local"
    found = linted("F06.conf", "4.3", node=node)
    nodes = [
        chosen(
            (REPORTS / "F06.conf").read_bytes(),
            LintInput(release=release(at), node=node),
            variant=Variant.REAL,
        ).nodes
        for at in ("3.12.14", "3.13.0")
    ]

    assert found.starts
    unsafe = [why for _, why in said(found, UNSAFE)]
    assert any("it adds itself, but nodes with this list do not know" in why for why in unsafe)
    assert not any("stands alone" in why for why in unsafe)
    assert [node in names for names in nodes] == [False, True]


@pytest.mark.parametrize(
    ("name", "splits", "joins"),
    [("F07a.json", True, None), ("F07b.json", False, True), ("F07c.json", True, True)],
)
def test_a_first_start_follows_from_the_release(
    name: str, splits: bool, joins: bool | None
) -> None:
    """Nodes register late until 3.13.4 (10760, 11594), the service has a lock in 3.8.3, and a node
    gives up after 30 tries (bitnami/charts 29989)."""
    found = searched(start_of((REPORTS / name).read_bytes(), None, 3))

    assert splits is found.splits
    assert joins in (None, found.joins)


@pytest.mark.parametrize(
    ("backend", "at", "splits"),
    [
        ("consul", "3.13.2", True),
        ("etcd", "3.8.3", False),
        ("etcd", "3.12.14", False),
        ("dns", "3.12.14", True),
        ("aws", "3.8.17", True),
        ("aws", "3.8.18", False),
        ("k8s", "4.1.0", False),
    ],
)
def test_a_first_start_follows_from_a_configuration(backend: str, at: str, splits: bool) -> None:
    """The lock among nodes came with 3.8.18; DNS has none; pods wait for their seed."""
    text = f"{F}.peer_discovery_backend = {backend}\n"
    text += {"dns": f"{F}.dns.hostname = seed.example\n"}.get(backend, "")

    found = searched(start_of(text.encode(), at, 3))

    assert splits is found.splits
    assert splits or found.joins
    assert any(backend in word or "seed" in word for word in found.facts)


@pytest.mark.parametrize("tries", [30, 1000])
def test_a_first_start_splits_if_nodes_give_up_after_their_tries(tries: int) -> None:
    facts = f'{{"nodes": ["a", "b", "c"], "release": "4.0.2", "tries": {tries}}}'

    assert searched(start_of(facts.encode(), None, 3)).splits
    patient = facts.replace("}", ', "gives_up": false}').encode()
    assert not searched(start_of(patient, None, 3)).splits


def test_names_of_pods_without_a_suffix_do_not_reach_a_node_with_a_long_name() -> None:
    """address_type = hostname lists short names (rabbitmq/diy-kubernetes-examples 4)."""
    node = "rabbit@rabbitmq-1.rabbitmq-headless.ns.svc.cluster.local"
    text = (REPORTS / "F24.conf").read_text("utf-8")

    bare = lint(text, LintInput(release=release("3.8.9"), node=node))
    suffix = f"{F}.k8s.hostname_suffix = .rabbitmq-headless.ns.svc.cluster.local\n"
    whole = lint(text + suffix, LintInput(release=release("3.8.9"), node=node))
    short = lint(text + suffix, LintInput(release=release("3.8.9"), node="rabbit@rabbitmq-1"))

    assert any("by short names, and this node has a long name" in one.why for one in bare.problems)
    assert not any("none of them is reached" in one.why for one in whole.problems)
    assert any("by long names, and this node has a short name" in one.why for one in short.problems)


# -- reports of other kinds ------------------------------------------------------------------


def test_a_name_of_erlang_terms_is_not_a_key() -> None:
    """The guide had `cluster_nodes.disc.1` (rabbitmq-website 658)."""
    found = lint("cluster_nodes.disc.1 = rabbit@a\n", LintInput())

    assert not found.starts
    assert f"write {F}.classic_config.nodes.1" in found.problems[0].next


def test_addresses_do_not_fit_short_names() -> None:
    """AWS lists private addresses, and nodes have short names (rabbitmq-peer-discovery-aws 11)."""
    text = f"{F}.peer_discovery_backend = aws\n{F}.aws.use_autoscaling_group = true\n"
    text += f"{F}.aws.use_private_ip = true\n"

    found = lint(text, LintInput(release=release("3.7.2"), node="rabbit@ip-10-141-111-159"))
    long_names = {"RABBITMQ_NODENAME": "rabbit@10.141.111.159", "RABBITMQ_USE_LONGNAME": "true"}
    mended = lint(text, LintInput(release=release("3.7.2"), environment=long_names))

    assert any(
        "by IP addresses, and this node has a short name" in why for _, why in said(found, UNSAFE)
    )
    assert not any("IP addresses" in one.why for one in mended.problems)


@pytest.mark.parametrize(
    ("paths", "listed"),
    [
        ("aws.hostname_path = publicDnsName", False),
        ("aws.hostname_path = privateDnsName", True),
        ("aws.hostname_path.1 = publicDnsName\n{F}.aws.hostname_path.2 = privateDnsName", True),
    ],
)
def test_the_private_address_is_listed_in_the_place_of_the_private_name_alone(
    paths: str, listed: bool
) -> None:
    """As in `ask discovery.aws.hostnames`, other paths stay as they are."""
    text = f"{F}.peer_discovery_backend = aws\n{F}.aws.use_autoscaling_group = true\n"
    text += f"{F}.aws.use_private_ip = true\n{F}.{paths.format(F=F)}\n"
    found = lint(text, LintInput(release=release("4.3"), node="rabbit@ip-10-141-111-159"))

    assert listed == any("by IP addresses" in why for _, why in said(found, UNSAFE))


@pytest.mark.parametrize(("at", "why"), [("3.7.8", "accepted since 3.7.9"), ("4.0", "expected")])
def test_tags_in_brackets_are_refused(at: str, why: str) -> None:
    """`svc_tags = ["rabbitmq"]` (rabbitmq-peer-discovery-consul 18)."""
    text = f'{F}.peer_discovery_backend = consul\n{F}.consul.svc_tags = ["rabbitmq"]\n'

    found = lint(text, LintInput(release=release(at)))

    assert not found.starts
    assert any(why in told for _, told in said(found, ERROR))


def test_pods_of_a_deployment_that_start_together_split() -> None:
    """The first releases have neither a lock nor a delay (rabbitmq-peer-discovery-k8s 27)."""
    text = f"{F}.peer_discovery_backend = rabbit_peer_discovery_k8s\n{F}.k8s.address_type = ip\n"

    assert searched(start_of(text.encode(), "3.7.4", 3)).splits
    unsafe = said(lint(text, LintInput(release=release("3.7.4"))), UNSAFE)
    assert [1] == [line for line, why in unsafe if "neither a lock nor a delay" in why]


def test_a_delay_is_taken_until_it_has_no_effect_and_then_refused() -> None:
    """`randomized_startup_delay_range` (3075, 12050)."""
    text = f"{F}.randomized_startup_delay_range.min = 0\n"
    found = {at: lint(text, LintInput(release=release(at))) for at in ("3.8.17", "3.13.7", "4.0.1")}

    assert [True, True, False] == [one.starts for one in found.values()]
    assert "taken out in 3.8.18" in found["3.13.7"].problems[0].why
    assert "no more since 4.0" in found["4.0.1"].problems[0].why


def test_a_key_of_erlang_terms_that_no_release_reads_is_named() -> None:
    """`consul_svc_addr_use_nodename` (rabbitmq-peer-discovery-consul 25)."""
    inner = "{consul_svc_addr_auto, true}, {consul_svc_addr_use_nodename, false}"
    text = "[{rabbit, [{cluster_formation, [{peer_discovery_backend, rabbit_peer_discovery_consul},"
    text += f"{{peer_discovery_consul, [{inner}]}}]}}]}}]."

    found = lint(text, LintInput(release=release("3.7.9")))

    assert found.starts
    unknown = [one.key for one in found.problems if "no release has this setting" in one.why]
    assert [f"{F}.peer_discovery_consul.consul_svc_addr_use_nodename"] == unknown


def test_without_plugins_the_answer_says_what_it_depends_on() -> None:
    """Cleanup alongside DNS belongs to a plugin, too (rabbitmq-peer-discovery-consul 21)."""
    consul = f"{F}.peer_discovery_backend = consul\n{F}.consul.host = c\n"
    cleanup = f"{F}.dns.hostname = a.example\n{F}.node_cleanup.only_log_warning = true\n"

    def why(text: str, **given: object) -> str:
        return lint(text, LintInput(**given)).why  # type: ignore[arg-type]

    assert why(consul).startswith("it starts, if rabbitmq_peer_discovery_consul is enabled;")
    assert "if rabbitmq_peer_discovery_common is enabled" in why(cleanup)
    enabled = frozenset({"rabbitmq_peer_discovery_consul"})
    assert why(consul, plugins=enabled).startswith("it starts;")
    assert why(f"{F}.node_type = disc\n").startswith("it starts;")


# -- rules and terms ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "backend", "expected"),
    [
        ("3.7.3", "aws", Guard.NOTHING),
        ("3.7.4", "aws", Guard.DELAY),
        ("3.8.17", "aws", Guard.DELAY),
        ("3.8.18", "aws", Guard.GLOBAL),
        ("3.8.18", "k8s", Guard.GLOBAL),
        ("4.0.9", "k8s", Guard.GLOBAL),
        ("4.1.0", "k8s", Guard.SEED),
        ("3.8.17", "classic_config", Guard.NOTHING),
        ("3.9.0", "classic_config", Guard.GLOBAL),
        ("3.13.4", "consul", Guard.SERVICE),
        ("3.13.5", "consul", Guard.NOTHING),
        ("4.3.5", "dns", Guard.NOTHING),
    ],
)
def test_each_release_has_its_own_guard_against_two_clusters(
    at: str, backend: str, expected: Guard
) -> None:
    """The lock among nodes came with 3.8.18; before it AWS delayed since 3.7.4."""
    assert expected is guard(release(at), backend, None, None).guard


def test_erlang_terms_are_not_checked_by_a_schema() -> None:
    """The schema would refuse this port, and the code ignores the name `host`."""
    text = (
        "[{rabbit, [{cluster_formation, [{peer_discovery_backend, rabbit_peer_discovery_consul},"
        " {lock_acquisition_failure_mode, ignore}, {node_type, disk}, {peer_discovery_consul,"
        ' [{consul_port, 65535}, {host, "a"}, {consul_host, "b"}]}]}]}].'
    )

    found = lint(text, LintInput(release=release("4.0.2")))

    held = {one.key.removeprefix(f"{F}."): one.value for one in found.settings}
    assert found.starts
    assert (65535, "b") == (held["consul.port"], held["consul.host"])
    ignored = [one.key for one in found.problems if "no release has this setting" in one.why]
    assert [f"{F}.peer_discovery_consul.host"] == ignored


@pytest.mark.parametrize(
    ("node", "environment", "why"),
    [
        ("rabbit@a", {"RABBITMQ_USE_LONGNAME": "true"}, "a short name, but RABBITMQ_USE_LONGNAME"),
        ("rabbit@a.b", {"USE_LONGNAME": "false"}, "a long name, but RABBITMQ_USE_LONGNAME"),
        (None, {"RABBITMQ_NODENAME": "rabbit@a.b"}, "by short names, and this node has a long"),
    ],
)
def test_variables_that_decide_the_form_of_names_count(
    node: str | None, environment: dict[str, str], why: str
) -> None:
    text = f"{F}.classic_config.nodes.1 = rabbit@a\n{F}.classic_config.nodes.2 = rabbit@b\n"

    found = lint(text, LintInput(node=node, environment=environment)).problems

    assert any(why in one.why for one in found), found


def test_a_malformed_variable_is_reported_as_an_error() -> None:
    text = f"{F}.peer_discovery_backend = consul\n{F}.consul.host = c\n"

    found = lint(text, LintInput(environment={"CONSUL_SVC_TTL": "soon"}))

    assert not found.starts
    assert any("CONSUL_SVC_TTL in the environment" in why for _, why in said(found, ERROR))
    assert lint(text, LintInput(environment={"CONSUL_SVC_TTL": ""})).starts
