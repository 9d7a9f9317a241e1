"""The metadata of an instance: its region, id and keys, requested from its own address.

Source: the metadata service, versions 1 and 2, as the peer discovery plugin asks it.
"""

from __future__ import annotations

import re
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Flow, Header, Refused, Request, Signing, Tree, asked

IPV4, IPV6 = "169.254.169.254", "fd00:ec2::254"
TTL = 60  # seconds for which a token lives
FALLBACK = "us-east-1"


@frozen(kw_only=True)
class Metadata:
    """The metadata service's address; `prefer_imdsv2`: use a token if the service gives one."""

    host: Annotated[str, "the service"] = IPV4
    port: Annotated[int, AtLeast(1), "its port"] = 80
    prefer_imdsv2: Annotated[bool, "ask for a token first"] = True

    def request(self, method: str, path: str, headers: tuple[Header, ...] = ()) -> Request:
        return Request(
            method=method,
            scheme="http",
            host=self.host,
            port=self.port,
            path=f"/latest/{path}",
            headers=headers,
            seconds=2.25,
        )


def _read(about: Metadata, path: str) -> Flow[str]:
    headers: tuple[Header, ...] = ()
    if about.prefer_imdsv2:
        ttl = Header("X-aws-ec2-metadata-token-ttl-seconds", str(TTL))
        try:
            got = yield from asked(about.request("PUT", "api/token", (ttl,)))
            headers = (Header("X-aws-ec2-metadata-token", got.body.strip()),)
        except Refused:
            pass  # version 1 has no tokens; if no service answers, the next request fails, too
    got = yield from asked(about.request("GET", f"meta-data/{path}", headers))
    text = got.body.strip()
    if not text or "<" in text:
        raise Refused(f"{path} of the metadata: expected a text, found nothing or a page")
    return text


def instance_id(about: Metadata) -> Flow[str]:
    """Return this instance's id."""
    return _read(about, "instance-id")


def zone(about: Metadata) -> Flow[str | None]:
    """Return this instance's availability zone, or None if the service does not tell it."""
    try:
        return (yield from _read(about, "placement/availability-zone"))
    except Refused:
        return None


def role_keys(about: Metadata) -> Flow[Signing]:
    """Return the keys of the instance's role; region and service are left empty."""
    role = (yield from _read(about, "iam/security-credentials/")).splitlines()[0]
    text = yield from _read(about, f"iam/security-credentials/{role}")
    keys = Tree.read(text, "the keys of the role")
    return Signing(
        access_key=keys.need("AccessKeyId", str),
        secret_key=keys.need("SecretAccessKey", str),
        region="",
        service="",
        token=keys.get("Token", str),
    )


@frozen(kw_only=True)
class RegionFacts:
    """The sources of the region, in the order of requests."""

    variant: Annotated[Variant, "the rules: the shipped broker's, or ours"] = Variant.OURS
    configured: Annotated[str | None, "the region in the setting, or in AWS_EC2_REGION"] = None
    environment: Annotated[str | None, "the region in AWS_DEFAULT_REGION"] = None
    profile: Annotated[str | None, "the region in the profile of AWS's own file"] = None
    zone: Annotated[str | None, "the instance's availability zone, by its metadata"] = None


_ZONE = re.compile(r"([a-z]+(?:-[a-z]+)+-[0-9]+).*")


def region(about: RegionFacts) -> tuple[str, str]:
    """Return the region and its source; raises `Refused` if there is no source (ours)."""
    for value, who in (
        (about.configured, "the setting"),
        (about.environment, "AWS_DEFAULT_REGION"),
        (about.profile, "the profile"),
    ):
        if value:
            return value, who
    if about.zone and about.variant is Variant.REAL:
        return about.zone[:-1], "the zone without its last letter"
    if about.zone and (found := _ZONE.fullmatch(about.zone)):
        return found[1], "the zone"
    if about.variant is Variant.REAL:
        return FALLBACK, "the default, because no source has a region"
    raise Refused("no region: it is not set, and the instance's metadata have no zone")
