"""What `joinproto ask discovery.aws.*` answers.

Source: discovery, D1.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Question, question
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import aws, sigv4
from joinproto.discovery.asked import Exchanged, Served, played, shaped
from joinproto.discovery.aws_answers import group_of, hosts, members_of, next_token
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
class AskDescribe(aws.Aws):
    """The requests for instances."""

    instance_ids: Annotated[tuple[str, ...], "of its own group"] = ()
    next_token: Annotated[str | None, "of the page before; null: the first page"] = None


@frozen(kw_only=True)
class DescribeAnswer:
    """The requests, unsigned."""

    requests: Annotated[tuple[Request, ...], "for the group, where its ids are not given; else"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question("discovery.aws.describe", instance_tags={"service": "rabbitmq"})
def answer_describe(asked: AskDescribe) -> DescribeAnswer:
    """The requests for a group or for instances, with their arguments in order."""
    if asked.use_autoscaling_group and not asked.instance_ids:
        request = aws.groups(asked, asked.next_token)
        why = "all instances in groups are asked for, to find this instance's group"
    elif not asked.instance_ids and not asked.instance_tags:
        why = "neither a group nor tags are set: nothing is requested"
        return DescribeAnswer(requests=(), rule="D1", why=why)
    else:
        request = aws.instances(asked, asked.instance_ids, asked.next_token)
        of = "the group" if asked.instance_ids else "the tags"
        why = f"the instances of {of}; arguments are sorted by name"
    return DescribeAnswer(requests=(request,), rule="D1", why=why)


class HeaderSet(Enum):
    """Which headers are signed."""

    SHIPPED = "shipped"  # content-length;date;host;x-amz-content-sha256
    USUAL = "usual"  # host;x-amz-date


@frozen(kw_only=True)
class AskSign:
    """A request, the keys and the time."""

    access_key: Annotated[str, "the id of the key"]
    secret_key: Annotated[str, "the key"]
    token: Annotated[str | None, "of keys that end"] = None
    region: Annotated[str, "of the service"] = "us-east-1"
    service: Annotated[str, "ec2 or autoscaling"] = "ec2"
    time: Annotated[str, "UTC, as 20150830T123600Z"]
    headers_signed: Annotated[HeaderSet, "which headers, besides those of the request"] = (
        HeaderSet.SHIPPED
    )
    method: Annotated[str, "of the request"] = "GET"
    scheme: Annotated[Scheme, "of the request"] = "https"
    host: Annotated[str, "of the request"]
    port: Annotated[int, AtLeast(1), "of the request"] = 443
    path: Annotated[str, "encoded, as it is sent"] = "/"
    arguments: Annotated[tuple[Argument, ...], "not encoded"] = ()
    headers: Annotated[tuple[Header, ...], "more that are signed"] = ()
    body: Annotated[str, "of the request"] = ""


@frozen(kw_only=True)
class SignAnswer:
    """The signature, and how it came about."""

    canonical_request: Annotated[str, "what is hashed first"]
    string_to_sign: Annotated[str, "what is signed"]
    signed_headers: Annotated[str, "their names, sorted"]
    signature: Annotated[str, "in hexadecimal"]
    authorization: Annotated[str, "the header's value"]
    headers: Annotated[tuple[Header, ...], "all that are sent, in their order"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "discovery.aws.sign", host="ec2.us-east-1.amazonaws.com", time="20150830T123600Z", **_KEYS
)
def answer_sign(asked: AskSign) -> SignAnswer:
    """A signed request."""
    if not sigv4.TIME.fullmatch(asked.time):
        raise DoesNotFit("time", f"found {asked.time!r}", next="write it as 20150830T123600Z")
    request, by = shaped(Request, asked), shaped(Signing, asked)
    is_shipped = asked.headers_signed is HeaderSet.SHIPPED
    chosen = sigv4.shipped if is_shipped else sigv4.usual
    done = sigv4.sign(request, by, asked.time, chosen(request, asked.time, asked.token))
    time_in = "date" if is_shipped else "x-amz-date"
    return shaped(
        SignAnswer,
        done,
        canonical_request=done.canonical,
        string_to_sign=done.to_sign,
        rule="D1",
        why=f"signature version 4, with the time in {time_in}",
    )


@frozen(kw_only=True)
class AskHostnames(aws.Names):
    """Pages of instances, and how they are named."""

    pages: Annotated[tuple[str, ...], "answers of DescribeInstances, in XML"]
    states: Annotated[
        tuple[str, ...] | None, "which count (ours); null: the server has sorted them out"
    ] = aws.STATES


@frozen(kw_only=True)
class HostnamesAnswer:
    """The nodes, or why they are not known."""

    hosts: Annotated[tuple[str, ...] | None, "host names, in the order of the answers"]
    nodes: Annotated[tuple[str, ...] | None, "the nodes on them"]
    error: Annotated[str | None, "why nothing is known; null: it is"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question("discovery.aws.hostnames", pages=[_PAGE])
def answer_hostnames(asked: AskHostnames) -> HostnamesAnswer:
    """The nodes, from pages of instances."""
    states = None if asked.variant is Variant.REAL else asked.states
    try:
        found = tuple(one for page in asked.pages for one in hosts(page, asked.paths, states))
    except Refused as refused:
        return HostnamesAnswer(
            hosts=None, nodes=None, error=refused.why, rule="D1", why="an error is not a list"
        )
    paths = ", ".join(".".join(path) for path in asked.paths)
    why = f"what stands at {paths}; what leads nowhere is skipped"
    return HostnamesAnswer(hosts=found, nodes=asked.nodes(found), error=None, rule="D1", why=why)


@frozen(kw_only=True)
class AskGroup:
    """Pages of instances in groups, and the id of this instance."""

    instance: Annotated[str, "this instance's id"]
    pages: Annotated[tuple[str, ...], "answers of DescribeAutoScalingInstances, in XML"]


@frozen(kw_only=True)
class GroupAnswer:
    """Its own group."""

    group: Annotated[str | None, "its name; null: none, or not known"]
    instances: Annotated[tuple[str, ...], "ids of all in it"]
    next_token: Annotated[str | None, "what asks for the page after the last; null: there is none"]
    error: Annotated[str | None, "why nothing is known; null: it is"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question("discovery.aws.group", instance="i-1", pages=[_GROUPS])
def answer_group(asked: AskGroup) -> GroupAnswer:
    """Its own autoscaling group, from pages of instances."""
    try:
        group = group_of(asked.pages, asked.instance)
        token = next_token(asked.pages[-1]) if asked.pages else None
        ids = members_of(asked.pages, group) if group is not None else ()
    except Refused as refused:
        return GroupAnswer(
            group=None,
            instances=(),
            next_token=None,
            error=refused.why,
            rule="D1",
            why="an error is not a list",
        )
    why = "no page names the instance" if group is None else f"{asked.instance} is in {group}"
    return GroupAnswer(group=group, instances=ids, next_token=token, error=None, rule="D1", why=why)


@frozen(kw_only=True)
class RegionAnswer:
    """The region."""

    region: Annotated[str | None, "null: not set"]
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


@question("discovery.aws.region", zone="eu-west-1b")
def answer_region(asked: RegionFacts) -> RegionAnswer:
    """The region, and who says it."""
    try:
        found, who = region(asked)
    except Refused as refused:
        return RegionAnswer(region=None, rule="D1", why=refused.why)
    return RegionAnswer(region=found, rule="D1", why=f"said by {who}")


@frozen(kw_only=True)
class AskList(aws.Aws):
    """A whole listing: metadata, group, instances."""

    node: Annotated[str, "this node, as rabbit@host"] = "rabbit@localhost"
    access_key: Annotated[str | None, "null: the role's are asked for"] = None
    secret_key: Annotated[str | None, "of the key"] = None
    answers: Annotated[tuple[Served, ...], "one for each request, in their order"] = ()


@question(
    "discovery.aws.list", instance_tags={"service": "rabbitmq"}, answers=[{"body": _PAGE}], **_KEYS
)
def answer_list(asked: AskList) -> Exchanged:
    """A whole listing: metadata, group, instances."""
    keys = None
    if asked.access_key is not None and asked.secret_key is not None:
        keys = Signing(
            access_key=asked.access_key, secret_key=asked.secret_key, region="", service=""
        )
    names = aws.Names(variant=asked.variant, node=asked.node)
    backend = aws.AwsBackend(asked, names, Metadata(), keys, asked.region)
    return played(backend.list_nodes(), asked.answers, "D1")


AWS_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_describe,
    answer_sign,
    answer_group,
    answer_hostnames,
    answer_region,
    answer_list,
)
