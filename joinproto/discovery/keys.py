"""Every `cluster_formation.*` setting: its kind, default, variable, and what each release does.

A part `$` of a key stands for any label.  What holds for a release is the last of the key's spans
that begins at or before it.  Source: the schema and the code of the releases (discovery, D6).
"""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen

from joinproto.discovery import values
from joinproto.discovery.releases import FIRST, Release
from joinproto.discovery.values import FLAG, NONE, NOT_NEGATIVE, POSITIVE, SECRET, TEXT, WORDS, Kind

PREFIX = "cluster_formation"


class Status(Enum):
    """What a release does with a key."""

    ACCEPTED = "accepted"
    IGNORED = "ignored"  # taken without a complaint, or with a warning, and of no effect
    UNKNOWN = "unknown"  # the whole file is refused: the node does not start


class Owner(Enum):
    """Who knows a key: the server itself, or a plugin that must be enabled."""

    CORE = "rabbit"
    COMMON = "rabbitmq_peer_discovery_common"
    AWS = "rabbitmq_peer_discovery_aws"
    K8S = "rabbitmq_peer_discovery_k8s"
    CONSUL = "rabbitmq_peer_discovery_consul"
    ETCD = "rabbitmq_peer_discovery_etcd"
    AWS_LIBRARY = "rabbitmq_aws"


@frozen
class Span:
    """From this release on."""

    since: Release
    status: Status
    why: str = ""


@frozen(kw_only=True)
class Setting:
    """One key.  `default`: at run time; the schema writes nothing for a key that is not set.

    `variables`: names in the environment, each also without its first `RABBITMQ_`.
    """

    key: str
    kind: Kind
    owner: Owner
    default: str | None = None
    variables: tuple[str, ...] = ()
    spans: tuple[Span, ...] = field(default=(Span(FIRST, Status.ACCEPTED),))
    was: tuple[tuple[Release, str], ...] = ()  # other defaults, up to a release
    gone: tuple[tuple[str, Release], ...] = ()  # values that are refused from a release on

    def span(self, at: Release) -> Span:
        """Return what this release does with it."""
        before = Span(FIRST, Status.UNKNOWN, f"it came with {self.spans[0].since}")
        return max((one for one in self.spans if one.since <= at), default=before, key=_since)

    def default_at(self, at: Release) -> str | None:
        """Return the default of this release."""
        return next((value for until, value in self.was if at < until), self.default)


def _since(span: Span) -> Release:
    return span.since


def _from(release: Release, why: str = "") -> tuple[Span, ...]:
    return (Span(release, Status.ACCEPTED, why),)


def _ignored(since: Release, why: str) -> tuple[Span, ...]:
    spans = (Span(since, Status.IGNORED, why),)
    return spans if since == FIRST else (Span(FIRST, Status.ACCEPTED), *spans)


V39, V40, V41, V43 = Release(3, 9), Release(4, 0), Release(4, 1), Release(4, 3)
ETCD_V3 = Release(3, 8, 4)

_NO_DELAY = (
    Span(FIRST, Status.ACCEPTED),
    Span(V39, Status.IGNORED, "the delay before a start was taken out in 3.9.0"),
    Span(V40, Status.UNKNOWN, "the delay before a start was taken out, and its keys in 4.0"),
)
_ONCE_LOCKED = _ignored(V40, "nothing reads it any more; internal_lock_retries sets the lock")
_NO_API = "names are computed from the own pod's name; the API is not asked"


def _core(name: str, kind: Kind, **more: object) -> Setting:
    return Setting(key=f"{PREFIX}.{name}", kind=kind, owner=Owner.CORE, **more)  # type: ignore[arg-type]


def _common(name: str, kind: Kind, *variables: str, **more: object) -> Setting:
    key = f"{PREFIX}.{name}"
    return Setting(key=key, kind=kind, owner=Owner.COMMON, variables=variables, **more)  # type: ignore[arg-type]


def _aws(name: str, kind: Kind, *variables: str, **more: object) -> Setting:
    key = f"{PREFIX}.aws.{name}"
    return Setting(key=key, kind=kind, owner=Owner.AWS, variables=variables, **more)  # type: ignore[arg-type]


def _k8s(name: str, kind: Kind, **more: object) -> Setting:
    more.setdefault("spans", _ignored(V41, _NO_API))
    variables = (f"K8S_{name.upper()}",) if "." not in name else ()
    key = f"{PREFIX}.k8s.{name}"
    return Setting(key=key, kind=kind, owner=Owner.K8S, variables=variables, **more)  # type: ignore[arg-type]


def _consul(name: str, kind: Kind, *variables: str, **more: object) -> Setting:
    key = f"{PREFIX}.consul.{name}"
    return Setting(key=key, kind=kind, owner=Owner.CONSUL, variables=variables, **more)  # type: ignore[arg-type]


def _etcd(name: str, kind: Kind, **more: object) -> Setting:
    return Setting(key=f"{PREFIX}.etcd.{name}", kind=kind, owner=Owner.ETCD, **more)  # type: ignore[arg-type]


_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_READABLE = Kind("the path of a file that the node can read", str)
_PEM = Kind("the path of a PEM file", str)
_STATES = values.one_of("pending", "running", "shutting-down", "terminated", "stopping", "stopped")
_TLS = (
    "cacertfile",
    "certfile",
    "keyfile",
    "password",
    "verify",
    "depth",
    "versions.$",
    "ciphers.$",
)
_TLS_SERVER = ("fail_if_no_peer_cert", "dh", "dhfile")
_LOCK_CAPPED = "the wait ends with the request, after 2250 ms"
_ETCD_DROPPED = "the code drops it before the client sees it"

SETTINGS: tuple[Setting, ...] = (
    _core("peer_discovery_backend", values.BACKEND, default="classic_config"),
    _core(
        "node_type",
        values.one_of("disc", "disk", "ram", means={"disk": "disc"}),
        default="disc",
        gone=(("ram", V40),),
    ),
    _core("registration.enabled", FLAG, default="true", spans=_from(V41)),
    _core("classic_config.nodes.$", TEXT),
    _core("dns.hostname", TEXT),
    _core("internal_lock_retries", POSITIVE, default="80", spans=_from(V39)),
    _core("lock_retry_limit", POSITIVE, default="10", spans=_ONCE_LOCKED),
    _core("lock_retry_timeout", POSITIVE, default="30000", spans=_ONCE_LOCKED),
    _core("discovery_retry_limit", values.RETRIES, default="30", was=((Release(3, 13), "10"),)),
    _core("discovery_retry_interval", POSITIVE, default="1000", was=((Release(3, 13), "500"),)),
    _core("target_cluster_size_hint", POSITIVE, default="1"),
    _core("randomized_startup_delay_range.min", NOT_NEGATIVE, default="5", spans=_NO_DELAY),
    _core("randomized_startup_delay_range.max", NOT_NEGATIVE, default="60", spans=_NO_DELAY),
    _common("node_cleanup.interval", NOT_NEGATIVE, "CLEANUP_INTERVAL", default="60"),
    _common("node_cleanup.only_log_warning", FLAG, "CLEANUP_ONLY_LOG_WARNING", default="true"),
    _common("proxy.http_proxy", TEXT, "HTTP_PROXY"),
    _common("proxy.https_proxy", TEXT, "HTTPS_PROXY"),
    _common("proxy.proxy_exclusions.$", TEXT, "PROXY_EXCLUSIONS"),
    _aws("region", TEXT, "AWS_EC2_REGION", default="us-east-1"),
    _aws("access_key_id", TEXT, "AWS_ACCESS_KEY_ID"),
    _aws("secret_key", SECRET, "AWS_SECRET_ACCESS_KEY"),
    _aws("use_autoscaling_group", FLAG, "AWS_AUTOSCALING", default="false"),
    _aws("instance_tags", NONE),
    _aws("instance_tags.$", TEXT, "AWS_EC2_TAGS"),
    _aws("use_private_ip", FLAG, "AWS_USE_PRIVATE_IP", default="false"),
    _aws("hostname_path", WORDS, "AWS_HOSTNAME_PATH", default="privateDnsName"),
    _aws("hostname_path.$", WORDS, "AWS_HOSTNAME_PATHS", spans=_from(V43)),
    _aws("ec2_instance_states.$", _STATES, "AWS_EC2_INSTANCE_STATES", spans=_from(V43)),
    Setting(key="aws.prefer_imdsv2", kind=FLAG, owner=Owner.AWS_LIBRARY, default="true"),
    _k8s("ordinal_start", NOT_NEGATIVE, default="0", spans=_from(V41)),
    _k8s("seed_node", TEXT, spans=_from(V41)),
    _k8s("host", TEXT, default="kubernetes.default.svc.cluster.local"),
    _k8s("port", NOT_NEGATIVE, default="443"),
    _k8s("scheme", TEXT, default="https"),
    _k8s("token_path", _READABLE, default=f"{_ACCOUNT}/token"),
    _k8s("cert_path", _PEM, default=f"{_ACCOUNT}/ca.crt"),
    _k8s("namespace_path", _READABLE, default=f"{_ACCOUNT}/namespace"),
    _k8s("service_name", TEXT, default="rabbitmq"),
    _k8s("address_type", values.one_of("hostname", "ip"), default="ip"),
    _k8s("hostname_suffix", TEXT, default=""),
    *(
        _k8s(f"tls.{name}", TEXT)
        for name in ("cacertfile", "certfile", "keyfile", "verify", "fail_if_no_peer_cert")
    ),
    _consul("host", TEXT, "CONSUL_HOST", default="localhost"),
    _consul("port", values.CONSUL_PORT, "CONSUL_PORT", default="8500"),
    _consul("scheme", TEXT, "CONSUL_SCHEME", default="http"),
    _consul("acl_token", SECRET, "CONSUL_ACL_TOKEN"),
    _consul("cluster_name", TEXT, "CLUSTER_NAME", default="default"),
    _consul("svc", TEXT, "CONSUL_SVC", default="rabbitmq"),
    _consul("svc_addr", TEXT, "CONSUL_SVC_ADDR"),
    _consul("svc_addr_auto", FLAG, "CONSUL_SVC_ADDR_AUTO", default="false"),
    _consul("svc_addr_nic", TEXT, "CONSUL_SVC_ADDR_NIC"),
    _consul("svc_addr_use_nodename", FLAG, "CONSUL_SVC_ADDR_NODENAME", default="false"),
    _consul("svc_id", TEXT, "CONSUL_SVC_ID", spans=_from(V40)),
    _consul("svc_port", values.PORT, "CONSUL_SVC_PORT", default="5672"),
    _consul("svc_ttl", NOT_NEGATIVE, "CONSUL_SVC_TTL", default="30"),
    _consul("deregister_after", NOT_NEGATIVE, "CONSUL_DEREGISTER_AFTER"),
    _consul("domain_suffix", TEXT, "CONSUL_DOMAIN", default="consul"),
    _consul(
        "include_nodes_with_warnings", FLAG, "CONSUL_INCLUDE_NODES_WITH_WARNINGS", default="false"
    ),
    _consul(
        "use_longname",
        FLAG,
        "CONSUL_USE_LONGNAME",
        default="false",
        spans=_ignored(FIRST, "the running node's own name says whether names are long"),
    ),
    _consul("svc_tags", NONE),
    _consul("svc_tags.$", TEXT, "CONSUL_SVC_TAGS"),
    _consul("svc_meta", NONE),
    _consul("svc_meta.$", TEXT, "CONSUL_SVC_META"),
    _consul("lock_prefix", TEXT, "CONSUL_LOCK_PREFIX", default="rabbitmq"),
    *(
        _consul(
            name,
            NOT_NEGATIVE,
            "LOCK_WAIT_TIME",
            default="300",
            spans=_ignored(FIRST, _LOCK_CAPPED),
        )
        for name in ("lock_timeout", "lock_wait_time")
    ),
    *(_consul(f"ssl_options.{name}", TEXT) for name in (*_TLS, *_TLS_SERVER)),
    _etcd("endpoints", NONE),
    _etcd("endpoints.$", TEXT),
    _etcd("host", TEXT),
    _etcd("port", NOT_NEGATIVE, default="2379"),
    _etcd(
        "scheme", TEXT, default="http", spans=_ignored(ETCD_V3, "the v3 client does not read it")
    ),
    _etcd("key_prefix", TEXT, default="rabbitmq", spans=_ignored(ETCD_V3, _ETCD_DROPPED)),
    _etcd("cluster_name", TEXT, default="default"),
    _etcd("node_ttl", POSITIVE, default="61"),
    *(
        _etcd(name, POSITIVE, default="70", spans=_ignored(ETCD_V3, _ETCD_DROPPED))
        for name in ("lock_timeout", "lock_wait_time")
    ),
    _etcd("username", TEXT),
    _etcd("password", SECRET),
    *(_etcd(f"ssl_options.{name}", TEXT) for name in _TLS),
)

_BY_LENGTH: dict[tuple[str, ...], Setting] = {tuple(one.key.split(".")): one for one in SETTINGS}
_LABELLED = {parts[:-1]: one for parts, one in _BY_LENGTH.items() if parts[-1] == "$"}


def setting_of(parts: tuple[str, ...]) -> Setting | None:
    """Return the setting of a key, or None where no release knows it."""
    return _BY_LENGTH.get(parts) or _LABELLED.get(parts[:-1])
