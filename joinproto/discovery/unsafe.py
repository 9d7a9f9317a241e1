"""Settings that are accepted one by one and are unsafe, or of no use, together.

Each function is one case of the table of operators' cases in docs/discovery.md.
Source: discovery, D2 to D4 and D6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from joinproto.discovery import defects, lock, naming, rules, values
from joinproto.discovery.first_start import first_start
from joinproto.discovery.found import Found, Said
from joinproto.discovery.keys import PREFIX, setting_of
from joinproto.discovery.names import is_name_in_dns
from joinproto.discovery.problem import Problem, Severity
from joinproto.discovery.releases import Release

SINGLE = (values.CONSUL, values.ETCD, values.K8S)
"""Backends that answer with one node."""
ALIASED = (values.AWS, values.K8S, values.CONSUL, values.ETCD)
ROOMS = {
    "classic_config": values.CLASSIC,
    "dns": values.DNS,
    "aws": values.AWS,
    "k8s": values.K8S,
    "consul": values.CONSUL,
    "etcd": values.ETCD,
}
"""First parts of the keys of each backend."""
LISTING = (values.CLASSIC, values.DNS, values.AWS, values.K8S)
"""Backends that list nodes; Kubernetes until 4.0."""


@frozen
class Configuration:
    """What holds, by key without `cluster_formation.`; later ones win.

    `written`: all keys, those as well that keep the node from starting.
    """

    release: Release
    node: str | None
    values: dict[str, Any]
    lines: dict[str, int]
    written: frozenset[str] = frozenset()
    statuses: dict[str, Said] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=dict)

    @classmethod
    def of(
        cls,
        found: Iterable[Found],
        release: Release,
        node: str | None,
        environment: Mapping[str, str] | None = None,
    ) -> Configuration:
        """Return what holds of these settings; what is ignored counts as written."""
        found = tuple(found)
        told = [one for one in found if one.status in (Said.ACCEPTED, Said.IGNORED)]
        short = {one: one.key.removeprefix(f"{PREFIX}.") for one in told}
        return cls(
            release,
            node,
            {short[one]: one.value for one in told},
            {short[one]: one.line for one in told},
            frozenset(one.key.removeprefix(f"{PREFIX}.") for one in found),
            {short[one]: one.status for one in told},
            environment or {},
        )

    def get(self, name: str) -> Any:
        """Return the value of a key, or its default read as the file would be; None without."""
        if name in self.values:
            return self.values[name]
        setting = setting_of((PREFIX, *name.split(".")))
        if setting is None or (default := setting.default_at(self.release)) is None:
            return None
        return setting.kind(self.release).read(default)

    def below(self, prefix: str) -> dict[str, Any]:
        """Return all that is written below a prefix."""
        return {name: one for name, one in self.values.items() if name.startswith(f"{prefix}.")}

    def line(self, *names: str) -> int:
        """Return the line of the first of these that the file sets; 0 without."""
        return next((self.lines[one] for one in names if self.lines.get(one)), 0)

    def unsafe(self, name: str, why: str, next: str, rule: str) -> Problem:
        """Return what can cost a cluster or data."""
        return self.problem(Severity.UNSAFE, name, why, next, rule)

    def warning(self, name: str, why: str, next: str, rule: str) -> Problem:
        """Return what has no effect, or another one than it seems."""
        return self.problem(Severity.WARNING, name, why, next, rule)

    def problem(self, severity: Severity, name: str, why: str, next: str, rule: str) -> Problem:
        """Return a problem at a key."""
        key = f"{PREFIX}.{name}"
        return Problem(
            severity=severity, line=self.line(name), key=key, why=why, next=next, rule=rule
        )

    @property
    def backend(self) -> str:
        """Return the backend's module; a plugin's own name is another name of it since 3.8.5."""
        name = str(self.get("peer_discovery_backend"))
        module = name.replace("rabbitmq_", "rabbit_", 1)
        is_alias = rules.PLUGIN_NAMES.holds(self.release) and module in ALIASED
        return module if is_alias else name

    @property
    def is_chosen(self) -> bool:
        """Whether the file or the environment says which nodes or which backend."""
        nodes = self.below("classic_config.nodes")
        return bool("peer_discovery_backend" in self.values or nodes)


def problems(about: Configuration) -> Iterator[Problem]:
    """Yield what is unsafe or of no use in this configuration."""
    for check in CHECKS:
        yield from check(about)


def _never_asks(about: Configuration) -> Iterator[Problem]:
    """Consul, etcd and DNS need a key of their own, or the list is empty for ever."""
    needs = {values.CONSUL: "consul.host", values.ETCD: "etcd.host", values.DNS: "dns.hostname"}
    name = needs.get(about.backend)
    if name is None:
        return
    if any(one.startswith(f"{name.partition('.')[0]}.") for one in about.written):
        return
    yield about.unsafe(
        "peer_discovery_backend",
        f"without any {PREFIX}.{name.partition('.')[0]}.* key the backend answers with nobody:"
        " each node stands alone",
        f"write {PREFIX}.{name}",
        "D6",
    )


def _removes(about: Configuration) -> Iterator[Problem]:
    if about.get("node_cleanup.only_log_warning") is not False:
        return
    why = "members that are only cut off are removed, and cannot come back"
    if first_start(about.release, about.backend).kind in ("selects", "seed"):
        why = f"{about.backend} answers with one node, so every other unseen one is removed"
    yield about.unsafe(
        "node_cleanup.only_log_warning", why, "write true, and remove members by hand", "D4"
    )


def _cleanup_is_on(about: Configuration) -> Iterator[Problem]:
    if about.below("node_cleanup") and about.backend in (values.CLASSIC, values.DNS):
        yield about.warning(
            next(iter(about.below("node_cleanup"))),
            f"{about.backend} is not a backend that cleanup is meant for",
            "take the node_cleanup lines out",
            "D4",
        )


def _no_name(about: Configuration) -> Iterator[Problem]:
    hostname = about.get("dns.hostname")
    if about.backend == values.DNS and hostname and not is_name_in_dns(hostname):
        yield about.unsafe(
            "dns.hostname",
            f"{hostname!r} is no name that DNS can be asked for, so nobody is ever listed: each"
            " node stands alone",
            "write a name as discovery.example.org",
            "D1",
        )


def _nobody_by_tags(about: Configuration) -> Iterator[Problem]:
    if about.backend != values.AWS or about.get("aws.use_autoscaling_group"):
        return
    if not about.below("aws.instance_tags"):
        yield about.unsafe(
            "peer_discovery_backend",
            "with neither tags nor an autoscaling group nobody is listed: each node stands alone",
            f"write {PREFIX}.aws.instance_tags.NAME, or use_autoscaling_group = true",
            "D1",
        )


def _no_lock(about: Configuration) -> Iterator[Problem]:
    name = "randomized_startup_delay_range"
    delay = (about.values.get(f"{name}.min"), about.values.get(f"{name}.max"))
    kept = lock.guard(about.release, about.backend, *delay).guard
    if not (about.is_chosen and rules.FIRST_ANSWER.holds(about.release)):
        return
    if about.backend not in LISTING or kept not in (lock.Guard.NOTHING, lock.Guard.DELAY):
        return
    if kept is lock.Guard.NOTHING:
        why = f"{about.release} has neither a lock nor a delay with {about.backend}: nodes that"
        why += " start together may all stand alone"
    else:
        why = "a delay is no lock: two nodes that draw nearly the same found two clusters"
    at = f"{name}.max" if f"{name}.max" in about.values else "peer_discovery_backend"
    step = "start one node first, and the others when it serves"
    if about.backend == values.K8S:
        step = "keep podManagementPolicy OrderedReady"
    yield about.unsafe(at, why, step, "D3")


def _two_suffice(about: Configuration) -> Iterator[Problem]:
    nodes = about.below("classic_config.nodes")
    is_listing = about.backend in LISTING and not (
        about.backend == values.K8S and rules.PODS.holds(about.release)
    )
    if (
        not rules.SORTED.holds(about.release)
        or not is_listing
        or (about.backend == values.CLASSIC and len(nodes) < 4)
    ):
        return
    if about.backend == values.CLASSIC or about.get("target_cluster_size_hint") > 3:
        yield about.unsafe(
            "target_cluster_size_hint"
            if "target_cluster_size_hint" in about.values
            else "peer_discovery_backend",
            "two nodes that see each other found a cluster; of four or more that is no majority,"
            " and a partition at the first start leaves two clusters",
            "start one node first, and the others when it serves",
            "D3",
        )


def _listed_once(about: Configuration) -> Iterator[Problem]:
    nodes = about.below("classic_config.nodes")
    if about.backend != values.CLASSIC or not nodes:
        return
    seen: dict[str, str] = {}
    for name, node in nodes.items():
        if node in seen:
            yield about.warning(name, f"{node} stands twice", "keep one line of it", "D1")
        seen[node] = name
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", node):
            yield about.unsafe(
                name,
                f"{node!r} is not the name of a node",
                "write PREFIX@HOST, as rabbit@host1",
                "D1",
            )
    if about.node is not None and about.node not in seen:
        # Which node they choose then depends on who started first: 11534, 11586.
        does = "it adds itself" if rules.ADDS_ITSELF.holds(about.release) else "it joins them"
        yield about.unsafe(
            next(iter(nodes)),
            f"{about.node} is not in its own list: {does}, but nodes with this list do not know"
            " it, and may choose another one as the first",
            f"list {about.node} on all nodes",
            "D1",
        )


def _consul_ttl(about: Configuration) -> Iterator[Problem]:
    if about.backend != values.CONSUL:
        return
    ttl, after = about.get("consul.svc_ttl"), about.values.get("consul.deregister_after")
    if ttl and ttl <= 15:
        yield about.unsafe(
            "consul.svc_ttl",
            "the node reports itself every 15 s whatever is written: its record comes and goes",
            "write more than 15, as 30",
            "D2",
        )
    if after is not None and after < 60:
        yield about.warning(
            "consul.deregister_after", "Consul takes no less than 60 s", "write 60 or more", "D2"
        )
    if after is not None and not ttl:
        yield about.warning(
            "consul.deregister_after",
            "it needs a check, and svc_ttl makes none",
            "write a svc_ttl above 15",
            "D2",
        )
    if about.values.get("consul.include_nodes_with_warnings"):
        yield about.warning(
            "consul.include_nodes_with_warnings",
            "a node whose time ran out is critical to Consul, not in the warning state",
            "do not count on it",
            "D1",
        )


def _elects_itself(about: Configuration) -> Iterator[Problem]:
    if about.backend == values.CONSUL and rules.REGISTERS_FIRST.holds(about.release):
        yield about.unsafe(
            "peer_discovery_backend",
            "a blank node registers before it lists: where all older records are gone or critical"
            " it chooses itself beside the living cluster",
            "start blank nodes only while the cluster's records pass",
            "D2",
        )


def _pod_zero(about: Configuration) -> Iterator[Problem]:
    if about.backend == values.K8S and rules.PODS.holds(about.release):
        yield about.unsafe(
            "k8s.seed_node" if "k8s.seed_node" in about.values else "peer_discovery_backend",
            "the seed pod finds itself alone: without its volume it founds a second cluster",
            "never start the seed pod blank beside a living cluster",
            "D3",
        )


def _etcd_floors(about: Configuration) -> Iterator[Problem]:
    ttl = about.values.get("etcd.node_ttl")
    if about.backend == values.ETCD and ttl is not None and ttl < 15:
        yield about.warning("etcd.node_ttl", "it is raised to 15", "write 15 or more", "D6")


def _proxy(about: Configuration) -> Iterator[Problem]:
    proxied = {"proxy.http_proxy", "proxy.https_proxy"} & about.values.keys()
    written = [name for name in about.values if name.startswith("proxy.") and about.lines.get(name)]
    if proxied and not written:
        yield about.warning(
            min(proxied),
            "the environment alone configures no proxy",
            f"write a {PREFIX}.proxy key in the file",
            "D1",
        )
    excluded = set(about.below("proxy.proxy_exclusions").values())
    if about.backend == values.AWS and proxied and "169.254.169.254" not in excluded:
        yield about.warning(
            min(proxied),
            "what an instance knows of itself is asked at 169.254.169.254, through the proxy",
            f"write {PREFIX}.proxy.proxy_exclusions.1 = 169.254.169.254",
            "D1",
        )


def _no_backend(about: Configuration) -> Iterator[Problem]:
    if about.backend in values.ALIASES:
        # Only Erlang terms leave a short name as it is: 6753.
        yield about.problem(
            Severity.ERROR,
            "peer_discovery_backend",
            f"{about.backend} is taken for the name of a module, and there is none: the boot"
            " crashes (undef). Short names are translated in rabbitmq.conf alone",
            f"write {values.ALIASES[about.backend]}",
            "D6",
        )
        return
    if about.backend not in (values.CLASSIC, values.DNS, values.AWS, *SINGLE):
        yield about.warning(
            "peer_discovery_backend",
            f"{about.backend} is no backend that ships: it is taken for the name of a module, and"
            " without such a one the node does not start",
            "write classic_config, dns, aws, k8s, consul or etcd, or enable the plugin that has it",
            "D6",
        )


def _never_ends(about: Configuration) -> Iterator[Problem]:
    limit = "discovery_retry_limit"
    is_written = about.values.get(limit, "unlimited") != "unlimited"
    if about.backend == values.K8S and rules.PODS.holds(about.release) and is_written:
        yield about.warning(
            limit,
            "this backend never ends its tries",
            "take the line out",
            "D6",
        )


def _other_backend(about: Configuration) -> Iterator[Problem]:
    """Keys of a backend that is not the one in use."""
    for room, backend in ROOMS.items():
        written = [name for name in about.below(room) if about.lines.get(name)]
        if written and backend != values.ALIASES.get(about.backend, about.backend):
            yield about.warning(
                written[0],
                f"the backend is {about.backend}: settings of {room} have no effect",
                f"write {PREFIX}.peer_discovery_backend = {room}, or take them out",
                "D6",
            )


def _no_scheme(about: Configuration) -> Iterator[Problem]:
    """Texts to the schema that the code cannot ask anybody with."""
    room = next((room for room, one in ROOMS.items() if one == about.backend), "")
    scheme = about.values.get(f"{room}.scheme")
    is_read = about.statuses.get(f"{room}.scheme") is Said.ACCEPTED
    if is_read and scheme not in ("http", "https"):
        # Before 3.13 no boot ends well without an answer; later it ends in standing alone.
        ends = rules.FIRST_ANSWER.holds(about.release)
        yield about.problem(
            Severity.ERROR if ends else Severity.UNSAFE,
            f"{room}.scheme",
            f"{scheme!r} is no scheme, so no request can be made: "
            + ("the boot crashes" if ends else "each node stands alone"),
            "write http or https; a setting that was appended to the line has lost its newline",
            "D6",
        )


CHECKS: tuple[Callable[[Configuration], Iterator[Problem]], ...] = (
    _never_asks,
    _removes,
    _cleanup_is_on,
    _no_name,
    _nobody_by_tags,
    _no_lock,
    _two_suffice,
    _listed_once,
    _consul_ttl,
    _elects_itself,
    _pod_zero,
    _etcd_floors,
    _proxy,
    _no_backend,
    _never_ends,
    _other_backend,
    _no_scheme,
    naming.problems,
    defects.problems,
)
