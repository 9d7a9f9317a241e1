"""`[discovery]` in node.toml: which backend names the peers, and the register that keeps the view
chain.

`[discovery.settings]` has the keys of RabbitMQ's guide without `cluster_formation.`.  They are read
and checked as by `joinproto discovery lint` (docs/discovery.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from attrs import evolve, field, frozen

from joinproto.codec.marks import Duration
from joinproto.discovery import values
from joinproto.discovery.chosen import Chosen, chosen
from joinproto.discovery.lint import LintInput
from joinproto.discovery.names import host_of, is_name_in_dns, prefix_of
from joinproto.discovery.releases import LATEST, Release, release
from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address

VOTES = "votes"
REGISTERS = ("etcd", "consul")
ENDPOINTS = Release(4, 0)
"""The last release that asks Kubernetes for the nodes; later releases compute the pods' names."""
EXPECTED_MAX = 64
REGISTER_ADDRESSES = {"etcd.host", "etcd.endpoints.1", "consul.host"}
"""The settings that give the address of a register; one of them must be set."""


@frozen(kw_only=True)
class DiscoveryFile:
    """The table `[discovery]` as it is written in the file.

    `expected`: the number of members that found the cluster.  `register`: how views are chosen: by
    `votes` of the electors, or by a key of `etcd` or `consul`.  `port`: the port of the other
    members unless `[members]` gives another; None means this member's port.  `interval`: seconds
    between two rounds.  `nameserver`: HOST:PORT that the backend `dns` asks; None: the system's.
    """

    backend: str
    expected: int
    register: str = VOTES
    release: str | None = None
    port: int | None = None
    interval: Duration = 2.0
    nameserver: str | None = None
    settings: dict[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class Discovery:
    """Checked settings of discovery.

    `register`: None means that the electors vote.  `members`: addresses that the file gives.
    """

    backend: Chosen
    register: Chosen | None
    expected: int
    port: int
    interval: float
    nameserver: Address | None
    members: Mapping[str, Address]

    def address(self, member: str) -> Address:
        """Return a member's address: from the file, or the host in its name and `port`."""
        return self.members.get(member) or Address(host_of(member), self.port)


def require_expected(file: DiscoveryFile) -> int:
    """Return how many members found the cluster; raises `UsageProblem`."""
    if not 1 <= file.expected <= EXPECTED_MAX:
        raise UsageProblem(
            f"discovery.expected is {file.expected}",
            next=f"give the number of members that found the cluster, 1 to {EXPECTED_MAX}",
        )
    return file.expected


def discovery_of(
    file: DiscoveryFile,
    *,
    member: str,
    cluster: str,
    listen: Address,
    members: Mapping[str, Address],
) -> Discovery:
    """Return the settings; raises `UsageProblem`."""
    if not (prefix_of(member) and host_of(member)):
        raise UsageProblem(
            f"member is {member!r}, and backends name nodes PREFIX@HOST",
            next=f"name it as {member or 'rabbit'}@HOST, with the host at which others reach it",
        )
    port = listen.port if file.port is None else file.port
    if not 0 < port <= 65_535:
        raise UsageProblem(f"discovery.port is {port}", next="give 1 to 65535")
    if values.ALIASES.get(file.backend, file.backend) not in values.ALIASES.values():
        known = "config, dns, aws, k8s, consul or etcd"
        raise UsageProblem(f"discovery.backend is {file.backend!r}", next=f"write {known}")
    if file.register != VOTES and file.register not in REGISTERS:
        raise UsageProblem(
            f"discovery.register is {file.register!r}",
            next=f"write {', '.join((VOTES, *REGISTERS))}",
        )

    def choose(backend: str) -> Chosen:
        return _chosen(evolve(file, backend=backend), member, cluster)

    backend = _asking(choose(file.backend))
    return Discovery(
        backend=backend,
        register=None if file.register == VOTES else _placed(choose(file.register), backend),
        expected=file.expected,
        port=port,
        interval=file.interval,
        nameserver=None if file.nameserver is None else _nameserver(file.nameserver),
        members=members,
    )


def _nameserver(text: str) -> Address:
    found = Address.parse(text)
    try:
        ip_address(found.host)
    except ValueError:
        raise UsageProblem(
            f"discovery.nameserver is {text!r}", next="write its IP address, such as 10.0.0.2:53"
        ) from None
    return found


def _asking(about: Chosen) -> Chosen:
    """Return the backend; raises `UsageProblem` if it can never name a member."""
    match about.backend:
        case values.CLASSIC:
            strange = [one for one in about.nodes if not (prefix_of(one) and host_of(one))]
            if strange:
                raise UsageProblem(
                    f"discovery.settings: classic_config.nodes: {strange[0]!r} is not the name of"
                    " a node",
                    next="write PREFIX@HOST, such as n@10.0.0.1",
                )
            missing = None if about.nodes else "classic_config.nodes"
        case values.DNS:
            hostname = about.dns.hostname
            if hostname and not is_name_in_dns(hostname):
                raise UsageProblem(
                    f"discovery.settings: dns.hostname: {hostname!r} is not a name that DNS can"
                    " look up",
                    next="write a name, such as discovery.example.org",
                )
            missing = None if hostname else "dns.hostname"
        case values.AWS:
            is_told = about.aws.use_autoscaling_group or about.aws.instance_tags
            missing = None if is_told else "aws.instance_tags or aws.use_autoscaling_group"
        case _:
            return about
    if missing:
        raise UsageProblem(
            f"discovery.settings: {missing} is not set, so no node can be found",
            next="set it, as in rabbitmq.conf, but without cluster_formation.",
        )
    return about


def _placed(about: Chosen, backend: Chosen) -> Chosen:
    """Return the register; raises `UsageProblem` if the settings do not give its address."""
    name = about.backend.rpartition("_")[2]
    if about.backend != backend.backend and not (
        about.about.below(name).keys() & REGISTER_ADDRESSES
    ):
        raise UsageProblem(
            f"discovery.register is {name!r}, but discovery.settings do not give its address",
            next=f"set {name}.host",
        )
    return about


def _chosen(file: DiscoveryFile, member: str, cluster: str) -> Chosen:
    # One service may hold several clusters; the name of the cluster tells their records apart.
    usual = {"etcd.cluster_name": cluster, "consul.cluster_name": cluster, "consul.svc": cluster}
    name = values.ALIASES.get(file.backend, file.backend).rpartition("_")[2]
    written = dict(_flat(file.settings, ()))
    said = {"peer_discovery_backend": file.backend}
    said |= {key: value for key, value in usual.items() if key.startswith(f"{name}.")} | written
    keys = list(said)
    lines = [f"cluster_formation.{key} = '{_text(key, said[key])}'" for key in keys]
    found = release(file.release) if file.release else _usual_release(file.backend)
    try:
        return chosen("\n".join(lines), LintInput(release=found), node=member)
    except UsageProblem as error:
        # This function wrote the lines, so their numbers tell the operator nothing.
        number, _, rest = error.message.partition(": ")
        what = rest if number.startswith("line ") else error.message
        raise UsageProblem(f"discovery.settings: {what}", next=error.next) from None


def _usual_release(backend: str) -> Release:
    return ENDPOINTS if values.ALIASES.get(backend, backend) == values.K8S else LATEST


def _flat(tree: Mapping[str, Any], above: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values; a list's items are numbered from 1, as in the guide."""
    for name, value in tree.items():
        # A dot inside a name, for example of a tag, does not separate parts of the key.
        parts = (*above, name if not above else name.replace(".", r"\."))
        if isinstance(value, dict):
            yield from _flat(value, parts)
        elif isinstance(value, list):
            yield from _flat({str(at): one for at, one in enumerate(value, 1)}, parts)
        else:
            yield ".".join(parts), value


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        text = str(value)
        if "'" not in text and "\n" not in text:
            return text
    raise UsageProblem(
        f"discovery.settings: {key} is {value!r}",
        next="write a text without ', a whole number, true or false",
    )
