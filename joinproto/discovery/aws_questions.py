"""The answers of `joinproto ask discovery.aws.*`.

Source: discovery, D1.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Question, question
from joinproto.codec.json_form import AtLeast, Merged, filled
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import aws, sigv4
from joinproto.discovery.asked import FlowResult, ListingAnswer, ServerReply, played
from joinproto.discovery.aws_answers import group_of, hosts, members_of, next_page
from joinproto.discovery.aws_metadata import Metadata, RegionFacts, region
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Argument, Header, Refused, Request, Scheme, Signing

_PAGE = (
    "<DescribeInstancesResponse><reservationSet><item><instancesSet><item>"
    "<instanceState><name>running</name></instanceState>"
    "<privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName>"
    "</item></instancesSet></item></reservationSet></DescribeInstancesResponse>"
)
_GROUPS = (
    "<DescribeAutoScalingInstancesResponse><DescribeAutoScalingInstancesResult>"
    "<AutoScalingInstances><member><InstanceId>i-1</InstanceId>"
    "<AutoScalingGroupName>g</AutoScalingGroupName></member></AutoScalingInstances>"
    "</DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"
)
_KEYS = {"access_key": "AKIDEXAMPLE", "secret_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


@frozen(kw_only=True)
class DescribeAnswer(ListingAnswer):
    """The requests for instances, not signed."""

    requests: Annotated[
        tuple[Request, ...],
        "the request for all instances in groups, if ids are needed but not given; else the request"
        " for the instances; empty: none",
    ]


@question(
    "discovery.aws.describe", "The requests for instances.", instance_tags={"service": "rabbitmq"}
)
def answer_describe(
    about: aws.Aws,
    *,
    instance_ids: Annotated[tuple[str, ...], "the ids of the instances in the node's group"] = (),
    next_token: Annotated[
        str | None, "the token in the page before; null: ask for the first page"
    ] = None,
) -> DescribeAnswer:
    """The requests for a group or for instances, with their arguments in order."""
    if about.use_autoscaling_group and not instance_ids:
        request = aws.groups_request(about, next_token)
        why = "all instances in groups are asked for, to find this instance's group"
    elif not instance_ids and not about.instance_tags:
        why = "no group and no tags are set, so there is no request"
        return DescribeAnswer(requests=(), why=why)
    else:
        request = aws.instances_request(about, instance_ids, next_token)
        of = "the group" if instance_ids else "the tags"
        why = f"the instances of {of}; arguments are sorted by name"
    return DescribeAnswer(requests=(request,), why=why)


class HeaderSet(Enum):
    """The headers that are signed."""

    SHIPPED = "shipped"  # content-length;date;host;x-amz-content-sha256
    USUAL = "usual"  # host;x-amz-date


@frozen(kw_only=True)
class AskSign:
    """A request to sign, the keys and the time."""

    access_key: Annotated[str, "the id of the key"]
    secret_key: Annotated[str, "the key"]
    token: Annotated[str | None, "the session token of temporary keys"] = None
    region: Annotated[str, "the region of the service"] = "us-east-1"
    service: Annotated[str, "ec2 or autoscaling"] = "ec2"
    time: Annotated[str, "the time in UTC, such as 20150830T123600Z"]
    headers_signed: Annotated[
        HeaderSet, "the set of headers to sign, in addition to the request's own"
    ] = HeaderSet.SHIPPED
    method: Annotated[str, "the method of the request"] = "GET"
    scheme: Annotated[Scheme, "the scheme of the request"] = "https"
    host: Annotated[str, "the host of the request"]
    port: Annotated[int, AtLeast(1), "the port of the request"] = 443
    path: Annotated[str, "the path of the request, encoded"] = "/"
    arguments: Annotated[tuple[Argument, ...], "the arguments of the request, not encoded"] = ()
    headers: Annotated[tuple[Header, ...], "the request's own headers, which are signed"] = ()
    body: Annotated[str, "the body of the request"] = ""


@frozen(kw_only=True)
class SignAnswer(ListingAnswer):
    """A signature, and the texts from which it was computed."""

    signed: Annotated[sigv4.Signed, Merged()]


@question(
    "discovery.aws.sign", host="ec2.us-east-1.amazonaws.com", time="20150830T123600Z", **_KEYS
)
def answer_sign(asked: AskSign) -> SignAnswer:
    """A signed request."""
    if not sigv4.TIME.fullmatch(asked.time):
        raise DoesNotFit(
            "time",
            f"expected a time such as 20150830T123600Z, found {asked.time!r}",
            next="write the time in UTC in this form",
        )
    request, by = filled(Request, asked), filled(Signing, asked)
    is_shipped = asked.headers_signed is HeaderSet.SHIPPED
    chosen = sigv4.shipped if is_shipped else sigv4.usual
    done = sigv4.sign(request, by, asked.time, chosen(request, asked.time, asked.token))
    time_in = "date" if is_shipped else "x-amz-date"
    why = f"signature version 4, with the time in {time_in}"
    return SignAnswer(signed=done, why=why)


@frozen(kw_only=True)
class HostnamesAnswer(ListingAnswer):
    """The nodes on instances, or the reason why they are not known."""

    hosts: Annotated[
        tuple[str, ...] | None, "the host names in the order of the answers; null: not known"
    ] = None
    nodes: Annotated[tuple[str, ...] | None, "the nodes on these hosts; null: not known"] = None
    error: Annotated[str | None, "why the pages cannot be read; null: they can"] = None


@question("discovery.aws.hostnames", "Pages of instances, and how they are named.", pages=[_PAGE])
def answer_hostnames(
    about: aws.Names,
    *,
    pages: Annotated[tuple[str, ...], "answers of DescribeInstances, in XML"],
    states: Annotated[
        tuple[str, ...] | None,
        "the states of instances to list (ours); null: all, because the server has filtered them",
    ] = aws.STATES,
) -> HostnamesAnswer:
    """The nodes, from pages of instances."""
    counted = None if about.variant is Variant.REAL else states
    try:
        found = tuple(one for page in pages for one in hosts(page, about.paths, counted))
    except Refused as refused:
        return HostnamesAnswer(error=refused.why, why="an error is not a list")
    paths = ", ".join(".".join(path) for path in about.paths)
    why = f"the texts at {paths}; instances without a text there are skipped"
    return HostnamesAnswer(hosts=found, nodes=about.nodes(found), why=why)


@frozen(kw_only=True)
class GroupAnswer(ListingAnswer):
    """The autoscaling group of an instance."""

    group: Annotated[str | None, "the name of the group; null: none, or not known"] = None
    instances: Annotated[tuple[str, ...], "the ids of all instances in the group"] = ()
    next_token: Annotated[
        str | None, "the token for the page after the last given one; null: there is none"
    ] = None
    error: Annotated[str | None, "why the pages cannot be read; null: they can"] = None


@question(
    "discovery.aws.group",
    "Pages of instances in groups, and the id of this instance.",
    instance="i-1",
    pages=[_GROUPS],
)
def answer_group(
    *,
    instance: Annotated[str, "this instance's id"],
    pages: Annotated[tuple[str, ...], "answers of DescribeAutoScalingInstances, in XML"],
) -> GroupAnswer:
    """The autoscaling group of an instance, from pages of instances."""
    try:
        group = group_of(pages, instance)
        token = next_page(pages[-1]) if pages else None
        ids = members_of(pages, group) if group is not None else ()
    except Refused as refused:
        return GroupAnswer(error=refused.why, why="an error is not a list")
    why = "no page names the instance" if group is None else f"{instance} is in {group}"
    return GroupAnswer(group=group, instances=ids, next_token=token, why=why)


@frozen(kw_only=True)
class RegionAnswer(ListingAnswer):
    """The region of AWS that a node uses."""

    region: Annotated[str | None, "the region; null: no source has one"]


@question("discovery.aws.region", zone="eu-west-1b")
def answer_region(asked: RegionFacts) -> RegionAnswer:
    """The region, and its source."""
    try:
        found, who = region(asked)
    except Refused as refused:
        return RegionAnswer(region=None, why=refused.why)
    return RegionAnswer(region=found, why=f"from {who}")


@question(
    "discovery.aws.list",
    "A whole listing: metadata, group, instances.",
    instance_tags={"service": "rabbitmq"},
    answers=[{"body": _PAGE}],
    **_KEYS,
)
def answer_list(
    about: aws.Aws,
    *,
    node: Annotated[str, "this node, such as rabbit@host"] = "rabbit@localhost",
    access_key: Annotated[
        str | None, "the id of the key; null: the role's keys are asked for"
    ] = None,
    secret_key: Annotated[str | None, "the key; null: the role's keys are asked for"] = None,
    answers: Annotated[tuple[ServerReply, ...], "one answer for each request, in their order"] = (),
) -> FlowResult:
    """A whole listing: metadata, group, instances."""
    keys = None
    if access_key is not None and secret_key is not None:
        keys = Signing(access_key=access_key, secret_key=secret_key, region="", service="")
    names = aws.Names(variant=about.variant, node=node)
    backend = aws.AwsBackend(about, names, Metadata(), keys, about.region)
    return played(backend.list_nodes(), answers, "D1")


AWS_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_describe,
    answer_sign,
    answer_group,
    answer_hostnames,
    answer_region,
    answer_list,
)
