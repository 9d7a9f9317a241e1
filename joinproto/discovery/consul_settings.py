"""What is set for Consul, and the form of every request to it.

Source: the settings and requests of the peer discovery plugin; discovery, D1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from attrs import field, frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Argument, Header, Request, Scheme, request_to

REQUEST_SECONDS = 2.25
"""The real client's limit for every request, a blocking one included."""


@frozen(kw_only=True)
class Consul:
    """The settings, by their names in the file, and what the node knows of itself."""

    variant: Annotated[Variant, "whose rules"] = Variant.OURS
    node: Annotated[str, "this node, as rabbit@host"] = "rabbit@localhost"
    host: Annotated[str, "the agent"] = "localhost"
    port: Annotated[int, AtLeast(1), "its port"] = 8500
    scheme: Annotated[Scheme, "http or https"] = "http"
    acl_token: Annotated[str | None, "sent as X-Consul-Token"] = None
    cluster_name: Annotated[str, "default: neither tagged nor asked for"] = "default"
    svc: Annotated[str, "the service"] = "rabbitmq"
    svc_id: Annotated[str | None, "its id; null: derived"] = None
    svc_port: Annotated[int, AtLeast(1), "the service's port"] = 5672
    svc_addr: Annotated[str | None, "the address, where none is found"] = None
    svc_addr_auto: Annotated[bool, "the address is found"] = False
    svc_addr_nic: Annotated[str | None, "the interface whose address is taken"] = None
    svc_addr_use_nodename: Annotated[bool, "the node's own host is the address"] = False
    hostname: Annotated[str, "what the system calls this machine"] = "localhost"
    nic_address: Annotated[str | None, "the interface's IPv4 address"] = None
    svc_ttl: Annotated[int | None, AtLeast(0), "seconds of the check; null: no check"] = 30
    deregister_after: Annotated[int | None, AtLeast(0), "seconds; null: never"] = None
    svc_tags: Annotated[tuple[str, ...], "in their order"] = ()
    svc_meta: Annotated[Mapping[str, str], "what else is known of it"] = field(factory=dict)
    domain_suffix: Annotated[str, "behind .node, for long names"] = "consul"
    long_names: Annotated[bool, "whether names keep their dots"] = False
    include_nodes_with_warnings: Annotated[bool, "count who is in the warning state"] = False
    lock_prefix: Annotated[str, "the first part of the lock's key"] = "rabbitmq"
    lock_timeout: Annotated[int, AtLeast(0), "seconds after which the lock is given up"] = 300
    selects: Annotated[bool, "real: it names one node, as since 3.13.5; false: all"] = True
    retry_interval: Annotated[float, AtLeast(0), "seconds between two listings"] = 1.0

    def request(
        self,
        method: str,
        path: str,
        *,
        arguments: tuple[Argument, ...] = (),
        body: str = "",
        seconds: float = REQUEST_SECONDS,
    ) -> Request:
        """Return a request to the agent, with the token."""
        token = (Header("X-Consul-Token", self.acl_token),) if self.acl_token else ()
        kind = (Header("Content-Type", "application/json"),) if body else ()
        headers = (*token, *kind)
        return request_to(
            self, method, path, arguments=arguments, headers=headers, body=body, seconds=seconds
        )
