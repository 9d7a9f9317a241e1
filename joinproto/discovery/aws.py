"""AWS: the instances of this instance's autoscaling group, or the instances with some tags.

Real: if neither a group nor tags are set, for an instance in no group, or after a listing by tags
that fails, the list is empty.  Ours: each of these is an error; all pages of instances are read.

Source: AWS requests of the peer discovery plugin; discovery, D1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

from attrs import evolve, field, frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery import aws_metadata
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.aws_answers import (
    HostPath,
    error_code,
    group_of,
    hosts,
    members_of,
    next_page,
    tree_of,
)
from joinproto.discovery.contract import Backend, BackendSettings, Variant
from joinproto.discovery.exchange import (
    Argument,
    Flow,
    Refused,
    Request,
    Response,
    Scheme,
    Signing,
    Wait,
    asked,
    failing,
)
from joinproto.discovery.names import node_of, prefix_of
from joinproto.discovery.sigv4 import domain

STATES = ("running", "pending")
KNOWN_STATES = ("pending", "running", "shutting-down", "terminated", "stopping", "stopped")
TRIES = 5
PAUSE = 0.5  # seconds between two tries
PAGES_MAX = 1000
AGAIN = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "Throttling",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TooManyRequestsException",
    }
)
"""The error codes after which a request is tried again."""


@frozen(kw_only=True)
class Endpoint:
    """An address for all services instead of AWS's own, like AWS_ENDPOINT_URL."""

    scheme: Annotated[Scheme, "http or https"]
    host: Annotated[str, "the server"]
    port: Annotated[int, AtLeast(1), "its port"]


@frozen(kw_only=True)
class Aws:
    """The settings of the AWS backend, by their names in the file."""

    variant: Annotated[Variant, "the rules: the shipped broker's, or ours"] = Variant.OURS
    region: Annotated[str, "the region whose services are asked"] = "us-east-1"
    use_autoscaling_group: Annotated[
        bool, "whether to list the autoscaling group of this instance"
    ] = False
    instance_tags: Annotated[Mapping[str, str], "the tags that an instance must have"] = field(
        factory=dict
    )
    ec2_instance_states: Annotated[
        tuple[str, ...] | None, "the states of instances to list; null: all, as before 4.3"
    ] = STATES
    endpoint: Annotated[Endpoint | None, "another address for all services"] = None

    @property
    def states(self) -> tuple[str, ...] | None:
        """Return the known states to list, or None to list all states."""
        if self.ec2_instance_states is None:
            return None
        return tuple(one for one in self.ec2_instance_states if one in KNOWN_STATES)

    def request(self, service: str, pairs: Mapping[str, str]) -> Request:
        """Return a request with its arguments sorted by name; it is not signed yet."""
        at = self.endpoint
        return Request(
            method="GET",
            scheme="https" if at is None else at.scheme,
            host=f"{service}.{self.region}.{domain(self.region)}" if at is None else at.host,
            port=443 if at is None else at.port,
            path="/",
            arguments=tuple(Argument(name, pairs[name]) for name in sorted(pairs)),
            seconds=10.0,
        )


def groups_request(about: Aws, token: str | None = None) -> Request:
    """Return the request for one page of all instances in groups."""
    pairs = {"Action": "DescribeAutoScalingInstances", "Version": "2011-01-01"}
    return about.request("autoscaling", pairs | ({"NextToken": token} if token else {}))


def instances_request(about: Aws, ids: tuple[str, ...] = (), token: str | None = None) -> Request:
    """Return the request for one page of the instances with these ids, tags and states."""
    pairs = {"Action": "DescribeInstances", "Version": "2015-10-01"}
    for one in ids:  # like the shipped plugin, count the two arguments above: the first id is 3
        pairs[f"InstanceId.{len(pairs) + 1}"] = one
    for at, (name, value) in enumerate(about.instance_tags.items(), 1):
        pairs[f"Filter.{at}.Name"] = f"tag:{name}"
        pairs[f"Filter.{at}.Value.1"] = value
    if about.states is not None:
        at = len(about.instance_tags) + 1
        pairs[f"Filter.{at}.Name"] = "instance-state-name"
        for number, state in enumerate(about.states, 1):
            pairs[f"Filter.{at}.Value.{number}"] = state
    return about.request("ec2", pairs | ({"NextToken": token} if token else {}))


@frozen(kw_only=True)
class Names(BackendSettings):
    """How the nodes on instances are named."""

    long_names: Annotated[bool, "whether names keep their dots"] = False
    hostname_paths: Annotated[
        tuple[tuple[str, ...], ...],
        "the paths from an instance to its host names; numbers in a path count from 1",
    ] = (("privateDnsName",),)
    use_private_ip: Annotated[
        bool, "whether the path `privateDnsName` is replaced by `privateIpAddress`"
    ] = False

    @property
    def paths(self) -> tuple[HostPath, ...]:
        name: HostPath = ("privateDnsName",)
        address: HostPath = ("privateIpAddress",) if self.use_private_ip else name
        return tuple(address if path == name else path for path in self.hostname_paths or (name,))

    def nodes(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """Return the nodes on these hosts."""
        prefix, long = prefix_of(self.node), self.long_names
        nodes = tuple(node_of(prefix, one, long_names=long) for one in found)
        return nodes if self.is_real else tuple(dict.fromkeys(nodes))


@frozen
class AwsBackend(Backend):
    """The backend of AWS.

    `keys`: the keys for signing; None: the keys of the instance's role.  `region`: the region;
    None: the region of the instance's zone.
    """

    about: Aws
    names: Names
    metadata: aws_metadata.Metadata
    keys: Signing | None = None
    region: str | None = None

    @failing
    def list_nodes(self) -> Flow[Answer]:
        about, real = self.about, self.about.variant is Variant.REAL
        if not about.use_autoscaling_group and not about.instance_tags:
            none = "neither a group nor tags are set: no instance can be asked for"
            return Listed(()) if real else Failed(none)
        about = evolve(about, region=(yield from self._region()))
        signing = yield from self._signing(about.region)
        ids: tuple[str, ...] = ()
        if about.use_autoscaling_group:
            own = yield from aws_metadata.instance_id(self.metadata)
            ids = yield from self._group(about, own, signing)
            if not ids:
                none = f"{own} is in no autoscaling group"
                return Listed(()) if real else Failed(none)
        try:
            found = yield from self._hosts(about, ids, signing)
        except Refused:
            if real and not ids:
                return Listed(())
            raise
        return Listed(self.names.nodes(found))

    def _region(self) -> Flow[str]:
        if self.region:
            return self.region
        zone = yield from aws_metadata.zone(self.metadata)
        facts = aws_metadata.RegionFacts(variant=self.about.variant, zone=zone)
        return aws_metadata.region(facts)[0]

    def _signing(self, region: str) -> Flow[Signing]:
        keys = self.keys or (yield from aws_metadata.role_keys(self.metadata))
        return evolve(keys, region=region)

    def _group(self, about: Aws, own: str, signing: Signing) -> Flow[tuple[str, ...]]:
        ask = partial(groups_request, about)
        pages = yield from self._pages(ask, signing, "autoscaling")
        group = group_of(pages, own)
        return members_of(pages, group) if group is not None else ()

    def _hosts(self, about: Aws, ids: tuple[str, ...], signing: Signing) -> Flow[tuple[str, ...]]:
        real = about.variant is Variant.REAL
        ask = partial(instances_request, about, ids)
        pages = yield from self._pages(ask, signing, "ec2", first_only=real)
        # Ours filters the answer again, in case the server did not.
        states, own = (None, None) if real else (about.states, ids or None)
        return tuple(one for page in pages for one in hosts(page, self.names.paths, states, own))

    def _pages(
        self,
        ask: Callable[[str | None], Request],
        signing: Signing,
        service: str,
        *,
        first_only: bool = False,
    ) -> Flow[list[str]]:
        """Return all pages of an answer.  `ask`: returns the request for a page by its token."""
        pages: list[str] = []
        token: str | None = None
        for _ in range(PAGES_MAX):
            got = yield from self._asked(ask(token), signing, service)
            pages.append(got.body)
            token = next_page(got.body)
            if first_only or token is None:
                return pages
        raise Refused(f"more than {PAGES_MAX} pages of instances")

    def _asked(self, request: Request, signing: Signing, service: str) -> Flow[Response]:
        last: Refused | None = None
        for tried in range(TRIES):
            if tried:
                yield Wait(PAUSE)
            try:
                by = evolve(signing, service=service)
                got = yield from asked(evolve(request, signing=by))
                tree_of(got.body)
            except Refused as refused:
                code = error_code(refused.body)
                if code is not None:
                    refused.why += f" ({code})"
                last = refused
                if code not in AGAIN:
                    raise
                if code.startswith(("Expired", "RequestExpired")) and self.keys is None:
                    signing = yield from self._signing(signing.region)
            else:
                return got
        raise last or Refused("not asked")
