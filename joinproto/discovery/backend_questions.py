"""The questions of `joinproto ask discovery.*` about backends, and their answers.

A question about an exchange takes the settings and the responses so far.  Its answer is the next
request, or the result.  Source: discovery, D1 to D3.
"""

from __future__ import annotations

from operator import methodcaller
from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Answer, Question, question
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import consul, dns, k8s, proxy
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.asked import FlowResult, ListingAnswer, ServerReply, played, played_with
from joinproto.discovery.aws_questions import AWS_QUESTIONS
from joinproto.discovery.consul import Consul
from joinproto.discovery.contract import Backend
from joinproto.discovery.etcd2 import Etcd2, Etcd2Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend
from joinproto.discovery.exchange import LookedUp, Lookup, Refused
from joinproto.discovery.names import node_of, prefix_of
from joinproto.discovery.round import named

PORT_MAX = 65535


_AT = {"node": "rabbit@a"}
_ENTRY = (
    '[{"Node":{"Node":"m1"},"Service":{"Address":"10.0.0.1","CreateIndex":7,'
    '"Meta":{"erlang-node-name":"rabbit@a"}},"Checks":[{"Status":"passing"}]}]'
)
_REAL = _AT | {"variant": "real"}


def _port(port: int) -> None:
    if port > PORT_MAX:
        raise DoesNotFit(
            "port", f"expected at most {PORT_MAX}, found {port}", next="use a smaller number"
        )


def _node(node: str) -> None:
    prefix, _, host = node.partition("@")
    if not prefix or not host:
        raise DoesNotFit(
            "node",
            f"expected PREFIX@HOST, found {node!r}",
            next="write a name such as rabbit@host1",
        )


@frozen(kw_only=True)
class NameAnswer(ListingAnswer):
    """The node on a host."""

    node: Annotated[str, "the name of the node"]


@question(
    "discovery.name",
    "A host, and the node that asks.",
    host="node1.eng.example.local",
    node="rabbit@node2",
)
def answer_name(
    *,
    host: Annotated[str, "a host name, or an IPv4 address"],
    node: Annotated[str, "the asking node, whose prefix is used"] = "rabbit@localhost",
    long_names: Annotated[bool, "whether names keep their dots"] = False,
) -> NameAnswer:
    """The node on a host."""
    _node(node)
    if not host or "@" in host:
        raise DoesNotFit(
            "host", f"expected a host, found {host!r}", next="write a name such as host1.example"
        )
    found = node_of(prefix_of(node), host, long_names=long_names)
    cut = not found.endswith(f"@{host}")
    why = "short names end at the first dot" if cut else "the asking node's prefix, and the host"
    return NameAnswer(node=found, why=why)


@frozen(kw_only=True)
class DnsAnswer(ListingAnswer):
    """Look-ups in DNS, and their result."""

    lookups: Annotated[tuple[Lookup, ...], "the look-ups in their order; each takes one answer"]
    nodes: Annotated[tuple[str, ...] | None, "the nodes that are listed; null: not known"] = None
    error: Annotated[str | None, "why a look-up failed; null: none failed"] = None


@question(
    "discovery.dns",
    "A name that has the addresses of all nodes.",
    hostname="discovery.eng.example.local",
    answers=[
        {"values": ["192.168.100.1"]},
        {"values": []},
        {"values": ["node1.eng.example.local."]},
    ],
)
def answer_dns(
    about: dns.Dns,
    *,
    answers: Annotated[tuple[LookedUp, ...], "one answer for each look-up, in their order"] = (),
) -> DnsAnswer:
    """The look-ups, and the nodes that they list."""
    _node(about.node)
    result, given = played_with(dns.DnsBackend(about).list_nodes(), answers)
    lookups = tuple(given.asked)
    match result:
        case None:
            why = "the last look-up is not answered yet"
            return DnsAnswer(lookups=lookups, why=why)
        case Failed(error):
            why = "a look-up failed, and an error is not an empty list"
            return DnsAnswer(lookups=lookups, error=error, why=why)
    why = "the names of all addresses that were found"
    return DnsAnswer(lookups=lookups, nodes=named(result), why=why)


@frozen(kw_only=True)
class AskEndpoints(k8s.K8s):
    """The settings of Kubernetes, and the answers of its API."""

    answers: Annotated[tuple[ServerReply, ...], "one answer for each request, in their order"] = ()


@frozen(kw_only=True)
class PodAnswer(ListingAnswer):
    """The nodes on the pods of a set, computed from a pod's name."""

    nodes: Annotated[
        tuple[str, ...] | None, "the node on the seed, or on all pods; null: not known"
    ]
    error: Annotated[str | None, "why the nodes are not known; null: they are"]


@question("discovery.k8s.pod", node="rabbit@rabbit-server-2.rabbit-nodes.default")
def answer_pod(asked: k8s.Pod) -> PodAnswer:
    """The node on the seed's pod, computed from this node's own name."""
    match k8s.pods(asked):
        case Listed(nodes):
            why = "the set has this many pods, numbered from the first"
            return PodAnswer(nodes=nodes, error=None, why=why)
        case Selected(node):
            why = "this node's name, with the seed's number instead of its own"
            if asked.seed_node is not None:
                why = "the setting names the seed"
            elif node == asked.node:
                why = "this pod is the seed itself"
            return PodAnswer(nodes=(node,), error=None, why=why)
        case Failed(error):
            return PodAnswer(nodes=None, error=error, why="an error is not a list")


@frozen(kw_only=True)
class AskConsul(Consul):
    """The settings of Consul, and the answers of its agent."""

    answers: Annotated[tuple[ServerReply, ...], "one answer for each request, in their order"] = ()
    locked: Annotated[
        bool, "discovery.consul.list: whether the nodes are listed under the lock, as since 3.13"
    ] = False


@frozen(kw_only=True)
class AddressAnswer(Answer):
    """The address that is registered, and the id of the record."""

    address: Annotated[
        str | None, "the address; null: none is sent, so Consul takes its agent's address"
    ]
    id: Annotated[str, "the id of the service, under which the record is kept"]


@question("discovery.consul.address", **_REAL, svc_addr_auto=True, svc_addr_use_nodename=True)
def answer_address(asked: Consul) -> AddressAnswer:
    """The address that is registered, and the id of the record."""
    _node(asked.node)
    found = consul.address(asked)
    if asked.svc_addr_nic is not None and asked.nic_address is not None:
        why = "the address of the interface, which has precedence"
    elif asked.svc_addr_auto:
        why = "the host of the node's name" if asked.svc_addr_use_nodename else "the host name"
    else:
        why = "the configured address" if found is not None else "no address is configured"
    return AddressAnswer(address=found, id=consul.service_id(asked), rule="D2", why=why)


@frozen(kw_only=True)
class AskEtcd2(Etcd2):
    """The settings of etcd v2, and its answers."""

    answers: Annotated[tuple[ServerReply, ...], "one answer for each request, in their order"] = ()


@frozen(kw_only=True)
class AskEtcd3(Etcd3):
    """The settings of etcd v3, and the answers of its JSON gateway."""

    answers: Annotated[tuple[ServerReply, ...], "one answer for each request, in their order"] = ()


def _consul(asked: AskConsul) -> Backend:
    return consul.ConsulBackend(asked, asked.locked)


FLOWS = {
    "list": (methodcaller("list_nodes"), "D1"),
    "endpoints": (methodcaller("list_nodes"), "D1"),
    "register": (methodcaller("register"), "D2"),
    "keep-alive": (methodcaller("keep_alive"), "D2"),
    "unregister": (methodcaller("unregister"), "D2"),
    "lock": (methodcaller("lock"), "D3"),
}
"""The backend's operation and the rule, by the last part of the question's name."""
ABOUT = {
    "register": "The request that writes the node's record.",
    "list": "The request for the records, and the nodes that they list.",
    "unregister": "The request that removes the record.",
    "lock": "The requests for the lock.",
}
CONSUL_ABOUT = ABOUT | {
    "list": "The request for the records, and the node that is selected.",
    "keep-alive": "The request that keeps the record, and the requests after it if it is lost.",
    "lock": "The requests for the lock: session, key, blocking read.",
}
_CONSUL: dict[str, dict[str, Any]] = {
    "register": _REAL | {"cluster_name": "qa", "answers": [{"status": 200}]},
    "list": _REAL | {"answers": [{"body": _ENTRY}]},
    "keep-alive": _AT | {"answers": [{"status": 404}, {"status": 200}]},
    "unregister": _AT | {"answers": [{"status": 200}]},
    "lock": _REAL | {"answers": [{"body": '{"ID":"adf4238a"}'}, {"body": "true"}]},
}
_PODS = '{"kind":"Endpoints","subsets":[{"addresses":[{"ip":"172.17.0.5"}]}]}'


def _exchange(
    name: str, asks: type[Any], make: Any, about: str, example: dict[str, Any]
) -> Question[Any, FlowResult]:
    flow, rule = FLOWS[name.rpartition(".")[2]]

    def answer(asked: Any) -> FlowResult:
        _node(asked.node)
        _port(asked.port)
        return played(flow(make(asked)), asked.answers, rule)

    return Question(
        name=name,
        about=about,
        asks=asks,
        answers=FlowResult,
        answer=answer,
        function=answer,
        example=example,
    )


@frozen(kw_only=True)
class ProxyAnswer(ListingAnswer):
    """The proxy of a request, if any."""

    proxy: Annotated[
        str | None, "the proxy as http://[user@]host:port; null: the request goes directly"
    ]
    error: Annotated[str | None, "why the setting cannot be read; null: it can"]


@question(
    "discovery.proxy",
    "Whether a request goes through a proxy.",
    http_proxy="192.168.0.98",
    exclusions=["169.254.169.254"],
    host="169.254.169.254",
)
def answer_proxy(
    about: proxy.Proxies,
    *,
    scheme: Annotated[str, "the scheme of the request: http or https"] = "http",
    host: Annotated[str, "the host of the request"],
) -> ProxyAnswer:
    """The proxy that a request goes through, if any."""
    if scheme not in ("http", "https"):
        raise DoesNotFit(
            "scheme", f"expected http or https, found {scheme!r}", next="write http or https"
        )
    try:
        found = proxy.route_of(about, scheme, host)
    except Refused as refused:
        return ProxyAnswer(
            proxy=None, error=refused.why, why="the setting of the proxy cannot be read"
        )
    return ProxyAnswer(proxy=found.proxy, error=None, why=found.why)


BACKEND_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_name,
    answer_dns,
    *AWS_QUESTIONS,
    _exchange(
        "discovery.k8s.endpoints",
        AskEndpoints,
        k8s.EndpointsBackend,
        "The request for a service's endpoints, and the nodes that they list.",
        _REAL | {"answers": [{"body": _PODS}]},
    ),
    answer_pod,
    _exchange(
        "discovery.k8s.lock",
        AskEndpoints,
        k8s.EndpointsBackend,
        "The requests for a lock that is a Lease (ours).",
        _AT | {"answers": [{"status": 201}]},
    ),
    *(
        _exchange(f"discovery.consul.{what}", AskConsul, _consul, CONSUL_ABOUT[what], example)
        for what, example in _CONSUL.items()
    ),
    answer_address,
    *(
        _exchange(f"discovery.{etcd}.{what}", asks, make, about, dict(_AT))
        for etcd, asks, make in (
            ("etcd2", AskEtcd2, Etcd2Backend),
            ("etcd3", AskEtcd3, Etcd3Backend),
        )
        for what, about in ABOUT.items()
    ),
    answer_proxy,
)
