"""The backend that a file chooses, with its settings, including secrets.

The backend's real variant ignores the settings that the release ignores or does not pass to its
client.  Source: discovery, D1 and D6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve, frozen

from joinproto.discovery.aws import STATES, Aws, Names
from joinproto.discovery.configuration import Configuration, variable
from joinproto.discovery.consul import Consul
from joinproto.discovery.contract import Variant
from joinproto.discovery.dns import Dns
from joinproto.discovery.etcd2 import Etcd2
from joinproto.discovery.etcd3 import Etcd3
from joinproto.discovery.findings import Severity
from joinproto.discovery.k8s import AddressType, K8s, Pod
from joinproto.discovery.keys import PREFIX, SETTINGS
from joinproto.discovery.lint import Linted, LintInput, lint, read
from joinproto.discovery.proxy import Proxies
from joinproto.discovery.rules import does
from joinproto.errors import UsageProblem

_CONSUL = (
    *("host", "port", "scheme", "acl_token", "cluster_name", "svc", "svc_id", "svc_port"),
    *("svc_addr", "svc_addr_auto", "svc_addr_nic", "svc_addr_use_nodename", "svc_ttl"),
    *("deregister_after", "domain_suffix", "include_nodes_with_warnings", "lock_prefix"),
)
T = TypeVar("T")
TLS = ("cacertfile", "certfile", "keyfile", "password", "verify")


@frozen(kw_only=True)
class Chosen:
    """The backend that a file chooses, with the configuration.

    `about`: the settings in force, by key.  `given`: the release, plugins and environment.
    """

    backend: str
    variant: Variant
    node: str
    long_names: bool
    about: Configuration
    given: LintInput

    def get(self, name: str) -> Any:
        return self.about.get(name)

    def labelled(self, name: str) -> dict[str, Any]:
        """Return the values below a key by their labels, numeric labels first and in their order.

        If a variable of the environment sets this key, it has all values, and wins over the file.
        """
        below = self.about.below(name)
        labels = {key.removeprefix(f"{name}."): one for key, one in below.items()}
        if "$" in labels:
            labels = _of_variable(name, labels["$"])
        return dict(sorted(labels.items(), key=_number_first))

    @property
    def proxies(self) -> Proxies:
        written = any(self.about.lines.get(name) for name in self.about.below("proxy"))
        return Proxies(
            variant=self.variant,
            http_proxy=self.get("proxy.http_proxy"),
            https_proxy=self.get("proxy.https_proxy"),
            exclusions=tuple(self.labelled("proxy.proxy_exclusions").values()),
            in_file=written,
        )

    def tls(self, prefix: str) -> Mapping[str, str]:
        """Return the TLS settings below a prefix."""
        found = {name: self.about.values.get(f"{prefix}.{name}") for name in TLS}
        return {name: str(value) for name, value in found.items() if value is not None}

    @property
    def k8s_tls(self) -> Mapping[str, str]:
        """Return the TLS settings of Kubernetes, whose certificate authority has its own key."""
        is_https = self.get("k8s.scheme") == "https"
        usual = {"cacertfile": str(self.get("k8s.cert_path"))} if is_https else {}
        return usual | dict(self.tls("k8s.tls"))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the configured nodes; some releases add the node itself."""
        nodes = tuple(self.labelled("classic_config.nodes").values())
        is_real = self.variant is Variant.REAL and does(self.given.release, "ADDS_ITSELF")
        return (self.node, *nodes) if is_real and self.node not in nodes else nodes

    def _settings(self, kind: Callable[..., T], prefix: str, *names: str, **more: Any) -> T:
        """Return the settings of a backend: these names below a prefix, and the facts in `more`."""
        read = {name: self.get(f"{prefix}.{name}") for name in names}
        return kind(variant=self.variant, node=self.node, **read, **more)

    @property
    def dns(self) -> Dns:
        return self._settings(Dns, "dns", "hostname", long_names=self.long_names)

    @property
    def is_pods(self) -> bool:
        """Return whether the release computes the pods' names, without asking a server."""
        return does(self.given.release, "PODS")

    @property
    def pod(self) -> Pod:
        ordinal_start = self.get("k8s.ordinal_start") or 0
        return self._settings(Pod, "k8s", "seed_node", ordinal_start=ordinal_start)

    @property
    def k8s(self) -> K8s:
        return self._settings(
            K8s,
            "k8s",
            *("host", "port", "scheme", "service_name"),
            address_type=AddressType(self.get("k8s.address_type")),
            hostname_suffix=self.get("k8s.hostname_suffix") or "",
            not_ready=None
            if self.variant is Variant.OURS
            else does(self.given.release, "NOT_READY"),
        )

    @property
    def consul(self) -> Consul:
        timeout = self.about.values.get("consul.lock_timeout")
        return self._settings(
            Consul,
            "consul",
            *_CONSUL,
            long_names=self.long_names,
            svc_tags=tuple(self.labelled("consul.svc_tags").values()),
            svc_meta=self.labelled("consul.svc_meta"),
            selects=does(self.given.release, "SELECTS"),
            lock_timeout=timeout if timeout is not None else self.get("consul.lock_wait_time"),
        )

    @property
    def is_etcd2(self) -> bool:
        return not does(self.given.release, "ETCD_V3")

    @property
    def etcd2(self) -> Etcd2:
        return self._settings(
            Etcd2,
            "etcd",
            *("port", "scheme", "key_prefix", "cluster_name"),
            host=self.get("etcd.host") or "localhost",
            node_ttl=self.about.values.get("etcd.node_ttl") or 30,
            lock_timeout=self._lock_timeout or 300,
        )

    @property
    def etcd3(self) -> Etcd3:
        # The v3 client reads no scheme: with TLS options it speaks TLS.
        has_tls = bool(self.tls("etcd.ssl_options"))
        return self._settings(
            Etcd3,
            "etcd",
            *("port", "key_prefix", "cluster_name", "node_ttl", "username", "password"),
            host=self.get("etcd.host") or "localhost",
            scheme="https" if has_tls else "http",
            selects=does(self.given.release, "SELECTS"),
            lock_timeout=self._lock_timeout or self.get("etcd.lock_timeout"),
        )

    @property
    def _lock_timeout(self) -> int | None:
        written = self.about.values
        found: int | None = written.get("etcd.lock_timeout", written.get("etcd.lock_wait_time"))
        return found

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(self.labelled("etcd.endpoints").values())

    @property
    def aws(self) -> Aws:
        written = tuple(self.labelled("aws.ec2_instance_states").values())
        states = (written or STATES) if does(self.given.release, "AWS_STATES") else None
        return Aws(
            variant=self.variant,
            use_autoscaling_group=self.get("aws.use_autoscaling_group"),
            instance_tags=self.labelled("aws.instance_tags"),
            ec2_instance_states=states,
        )

    @property
    def aws_names(self) -> Names:
        paths = tuple(tuple(one) for one in self.labelled("aws.hostname_path").values() if one)
        paths = paths or (tuple(self.get("aws.hostname_path")),)
        return self._settings(
            Names, "aws", "use_private_ip", long_names=self.long_names, hostname_paths=paths
        )


def _of_variable(name: str, value: Any) -> dict[str, Any]:
    """Return the labelled values of a variable: a JSON object, or words separated by commas.

    Raises `UsageProblem` for a malformed object.
    """
    if not isinstance(value, str):
        return {"1": value}
    if not value.lstrip().startswith("{"):
        words = [one.strip() for one in value.split(",") if one.strip()]
        return {str(number): word for number, word in enumerate(words, 1)}
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise UsageProblem(
            f"the variable of {name} is not a JSON object of texts",
            next='write it as {"key": "value"}',
        )
    return found


def _number_first(pair: tuple[str, Any]) -> tuple[bool, int, str]:
    label = pair[0]
    is_number = label.isascii() and label.isdigit() and len(label) < 10
    return (not is_number, int(label) if is_number else 0, label)


def chosen(
    text: str | bytes, given: LintInput, *, variant: Variant = Variant.OURS, node: str | None = None
) -> Chosen:
    """Return the backend that a file chooses.

    Raises `UsageProblem` for a file that the schemas refuse, or a variable that cannot be read.
    """
    linted = lint(text, given)
    if not linted.accepted:
        raise _refused(linted)
    node = node or given.node or "rabbit@localhost"
    about = Configuration.of(linted.settings, given.release, node)
    secrets = _secrets(text, given, linted)
    return Chosen(
        backend=about.backend,
        variant=variant,
        node=node,
        long_names="." in node.partition("@")[2],
        about=evolve(about, values=about.values | secrets),
        given=given,
    )


def require_start(text: str | bytes, given: LintInput) -> None:
    """Raise `UsageProblem` for a file with which the node does not start."""
    linted = lint(text, given)
    if not linted.starts:
        raise _refused(linted)


def _refused(linted: Linted) -> UsageProblem:
    first = next(one for one in linted.problems if one.severity is Severity.ERROR)
    where = f"line {first.line}: " if first.line else ""
    return UsageProblem(f"{where}{first.key or 'the file'}: {first.why}", next=first.next)


def _secrets(text: str | bytes, given: LintInput, linted: Linted) -> dict[str, str]:
    """Return the secrets, which `lint` does not show; the environment wins over the file."""
    held = {one.key for one in linted.settings}
    written = {line.key: line.value for line in read(text)[0]}
    found: dict[str, str] = {}
    for setting in SETTINGS:
        if not setting.is_secret or setting.key not in held:
            continue
        secret = written.get(setting.key)
        told = variable(given.environment, setting.variable)
        secret = secret if told is None else told
        if secret is not None:
            found[setting.key.removeprefix(f"{PREFIX}.")] = secret
    return found
