"""Checks of the backend that a file names: `joinproto discovery conformance FILE`.

A file is needed for DNS, AWS and Kubernetes, which need more than an address: names, keys, a token.
The checks write only a Kubernetes Lease, under a name that is used nowhere else, and remove it.
"""

from __future__ import annotations

import secrets

import anyio
from attrs import evolve, frozen

from joinproto.apps.discovery.conformance import (
    ONE,
    TWO,
    Check,
    Conformance,
    locks,
    require_answer,
    unreached,
)
from joinproto.apps.discovery.opened import opened
from joinproto.apps.discovery.port import BackendPort
from joinproto.apps.discovery.resolver import Resolver
from joinproto.discovery import values
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.aws import Endpoint
from joinproto.discovery.aws_metadata import Metadata
from joinproto.discovery.chosen import chosen
from joinproto.discovery.contract import Backend
from joinproto.discovery.dns import DnsBackend
from joinproto.discovery.exchange import Kind, Lookup
from joinproto.discovery.k8s import EndpointsBackend
from joinproto.discovery.lint import LintInput
from joinproto.discovery.names import host_of, prefix_of
from joinproto.errors import UsageProblem

ASKED = (values.DNS, values.AWS, values.K8S)


@frozen(kw_only=True)
class StandIns:
    """Replacements for the system's resolver, the machine's metadata and AWS's addresses."""

    resolver: Resolver | None = None
    metadata: Metadata | None = None
    endpoint: Endpoint | None = None


def conform_file(
    text: str | bytes,
    given: LintInput,
    *,
    node: str | None = None,
    stand_ins: StandIns | None = None,
) -> Conformance:
    """Return the passed and failed checks of this file's backend.

    `node`: the name of a node that must be in the list; None if this is not checked.

    Raises `UsageProblem`, or `EnvironmentProblem` if no server answers.
    """
    about = chosen(text, given, node=node)
    if about.backend not in ASKED or (about.backend == values.K8S and about.is_pods):
        raise UsageProblem(
            f"{about.backend} of {given.release} cannot be checked with a file",
            next="give a file for dns, aws, or kubernetes with --release 4.0; for etcd or Consul"
            " give the server's address, such as etcd3+http://HOST:2379",
        )

    async def asked() -> Conformance:
        found = stand_ins or StandIns()
        async with opened(
            about, resolver=found.resolver, metadata=found.metadata, endpoint=found.endpoint
        ) as port:
            match port.backend:
                case DnsBackend(about=settings):
                    if settings.hostname is not None:
                        looked = await port.look_up(Lookup(Kind.A, settings.hostname))
                        if looked.error is not None:
                            raise unreached(about.backend, looked.error)
                case EndpointsBackend():
                    await require_answer(port, about.backend)
            checks = [*await _lists(port, node), *await _absent(port)]
            if isinstance(port.backend, EndpointsBackend):
                checks += await _lease(port, port.backend)
            return Conformance(server=about.backend, checks=tuple(checks))

    return anyio.run(asked)


async def _lists(port: BackendPort, node: str | None) -> list[Check]:
    first, again = await port.list_nodes(), await port.list_nodes()
    nodes = first.nodes if isinstance(first, Listed) else ()
    whole = all(prefix_of(one) and host_of(one) for one in nodes)
    checks = [
        Check("the backend lists nodes, and reports no error", bool(nodes), first),
        Check("a second list names the same nodes", _same(first, again), again),
        Check(
            "each node is named once, as PREFIX@HOST",
            bool(nodes) and whole and len(set(nodes)) == len(nodes),
            first,
        ),
    ]
    if node is not None:
        checks.append(Check(f"{node} is listed", node in nodes, first))
    return checks


def _same(first: Answer, again: Answer) -> bool:
    if not isinstance(first, Listed) or not isinstance(again, Listed):
        return False
    return set(first.nodes) == set(again.nodes)


async def _absent(port: BackendPort) -> list[Check]:
    """Return the check of D1: a missing entry is an error, not an empty list."""
    unused = f"joinproto-{secrets.token_hex(8)}"
    match port.backend:
        case EndpointsBackend(about):
            backend: Backend = EndpointsBackend(evolve(about, service_name=unused))
        case DnsBackend(settings):
            # The unused name is a sibling of the real one: a server that answers for a name may
            # answer for all names below it.
            alongside = f"{unused}.{(settings.hostname or '').partition('.')[2]}"
            backend = DnsBackend(evolve(settings, hostname=alongside))
        case _:
            return []  # AWS correctly answers an unused tag with an empty list
    got = await evolve(port, backend=backend).list_nodes()
    name = "a name that does not exist is an error, not an empty list"
    return [Check(name, isinstance(got, Failed), got)]


async def _lease(port: BackendPort, backend: EndpointsBackend) -> list[Check]:
    unused = f"joinproto-{secrets.token_hex(8)}"
    one, two = (evolve(backend.about, service_name=unused, node=node) for node in (ONE, TWO))
    return await locks(
        evolve(port, backend=EndpointsBackend(one)), evolve(port, backend=EndpointsBackend(two))
    )
