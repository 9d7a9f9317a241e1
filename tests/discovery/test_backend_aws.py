"""AWS: arguments and their order, groups, host name paths, errors; discovery, D1."""

from __future__ import annotations

import pytest

from joinproto.discovery.asked import FlowResult, Outcome, ServerReply
from joinproto.discovery.aws import Aws, AwsBackend, Names, groups_request, instances_request
from joinproto.discovery.aws_answers import group_of, hosts, members_of, next_page
from joinproto.discovery.aws_metadata import Metadata, RegionFacts, region, role_keys
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Header, Refused, Signing
from tests.discovery.flows import BROKEN, lines, ok, play

REAL = Variant.REAL
KEYS = Signing(access_key="AK", secret_key="SK", region="", service="")
TAGS = {"service": "rabbitmq", "environment": "staging"}


def instance(host: str = "", state: str = "running", more: str = "", name: str = "i-1") -> str:
    """Return one instance, as EC2 prints it."""
    names = f"<instanceId>{name}</instanceId><privateDnsName>{host}</privateDnsName>"
    return f"<item><instanceState><name>{state}</name></instanceState>{names}{more}</item>"


def page(*reservations: str, token: str = "") -> str:
    """Return an answer of DescribeInstances; each text is the content of one reservation."""
    items = "".join(f"<item><instancesSet>{one}</instancesSet></item>" for one in reservations)
    more = f"<nextToken>{token}</nextToken>" if token else ""
    return (
        '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2015-10-01/">'
        f"<reservationSet>{items}</reservationSet>{more}</DescribeInstancesResponse>"
    )


def group_answer(*members: str, token: str = "") -> str:
    """Return an answer of DescribeAutoScalingInstances; members as `id:group`."""
    items = "".join(
        f"<member><InstanceId>{one.partition(':')[0]}</InstanceId>"
        f"<AutoScalingGroupName>{one.partition(':')[2]}</AutoScalingGroupName></member>"
        for one in members
    )
    more = f"<NextToken>{token}</NextToken>" if token else ""
    return (
        '<DescribeAutoScalingInstancesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">'
        "<DescribeAutoScalingInstancesResult>"
        f"<AutoScalingInstances>{items}</AutoScalingInstances>{more}"
        "</DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"
    )


def listed(about: Aws, *answers: ServerReply, names: Names | None = None) -> FlowResult:
    """Play a whole listing, with keys and region set."""
    backend = AwsBackend(
        about, names or Names(variant=about.variant), Metadata(), KEYS, "eu-west-1"
    )
    return play(backend.list_nodes(), *answers)


# -- requests ---------------------------------------------------------------------------------


def test_tags_and_states_are_filters_and_arguments_are_sorted_by_name() -> None:
    """The filters are numbered in the order of the tags."""
    request = instances_request(Aws(instance_tags=TAGS))

    assert "https://ec2.us-east-1.amazonaws.com" == f"{request.scheme}://{request.host}"
    assert (
        "/?Action=DescribeInstances"
        "&Filter.1.Name=tag%3Aservice&Filter.1.Value.1=rabbitmq"
        "&Filter.2.Name=tag%3Aenvironment&Filter.2.Value.1=staging"
        "&Filter.3.Name=instance-state-name&Filter.3.Value.1=running&Filter.3.Value.2=pending"
        "&Version=2015-10-01"
    ) == request.target


def test_instances_are_numbered_from_three_and_sorted_as_text() -> None:
    """The shipped plugin numbers them so; as text, 10 stands before 3."""
    ids = tuple(f"i-{n}" for n in range(9))
    names = [one.name for one in instances_request(Aws(ec2_instance_states=None), ids).arguments]

    assert ["Action", "InstanceId.10", "InstanceId.11", "InstanceId.3"] == names[:4]
    assert "Version" == names[-1]
    assert not [one for one in names if one.startswith("Filter")]


def test_states_that_are_not_known_are_ignored_and_may_leave_a_filter_without_values() -> None:
    request = instances_request(Aws(instance_tags={"a": "b"}, ec2_instance_states=("sleeping",)))

    assert "Filter.2.Name=instance-state-name" in request.target
    assert "Filter.2.Value" not in request.target


def test_a_group_is_looked_for_among_all_instances_of_the_account() -> None:
    """The request names no group and no instance."""
    request = groups_request(Aws(region="cn-north-1"), "a/b")

    assert "autoscaling.cn-north-1.amazonaws.com.cn" == request.host
    assert (
        "/?Action=DescribeAutoScalingInstances&NextToken=a%2Fb&Version=2011-01-01" == request.target
    )


# -- answers ----------------------------------------------------------------------------------


def test_a_group_is_found_over_all_pages() -> None:
    """Each of the two pages has a member of the group x."""
    pages = [group_answer("i-1:x", "i-2:y", token="t"), group_answer("i-3:x")]

    assert "t" == next_page(pages[0])
    assert next_page(pages[1]) is None
    assert "x" == group_of(pages, "i-3")
    assert ("i-1", "i-3") == members_of(pages, "x")
    assert group_of(pages, "i-9") is None


INTERFACES = (
    "<networkInterfaceSet>"
    "<item><attachment><deviceIndex>10</deviceIndex></attachment>"
    "<privateDnsName>tenth</privateDnsName></item>"
    "<item><attachment><deviceIndex>0</deviceIndex></attachment><privateDnsName>first"
    "</privateDnsName><privateIpAddressesSet>"
    "<item><primary>false</primary><privateIpAddress>10.0.0.2</privateIpAddress></item>"
    "<item><primary>true</primary><privateIpAddress>10.0.0.1</privateIpAddress></item>"
    "</privateIpAddressesSet></item>"
    "<item><attachment><deviceIndex>2</deviceIndex></attachment>"
    "<privateDnsName>second</privateDnsName></item>"
    "</networkInterfaceSet>"
)
INTERFACE_SET = "networkInterfaceSet"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("privateDnsName",), "host"),
        ((INTERFACE_SET, "1", "privateDnsName"), "first"),
        ((INTERFACE_SET, "2", "privateDnsName"), "second"),
        ((INTERFACE_SET, "3", "privateDnsName"), "tenth"),
        ((INTERFACE_SET, "1", "privateIpAddressesSet", "1", "privateIpAddress"), "10.0.0.1"),
        ((INTERFACE_SET, "1", "privateIpAddressesSet", "2", "privateIpAddress"), "10.0.0.2"),
        ((INTERFACE_SET, "4", "privateDnsName"), None),
        ((INTERFACE_SET, "0", "privateDnsName"), None),
        ((INTERFACE_SET, "-1", "privateDnsName"), None),
        ((INTERFACE_SET, "x", "privateDnsName"), None),
        ((INTERFACE_SET, "1"), None),
        ((INTERFACE_SET,), None),
        (("nothing",), None),
        (("../..",), None),
        ((), None),
    ],
)
def test_a_path_leads_to_a_host_name_or_nowhere(path: tuple[str, ...], found: str | None) -> None:
    """Interfaces are sorted by deviceIndex; the primary address comes first."""
    assert ((found,) if found else ()) == hosts(page(instance("host", more=INTERFACES)), (path,))


def test_names_are_unique_only_within_a_reservation() -> None:
    """Two reservations have a host of the same name."""
    text = page(instance("a") + instance("a"), instance("a"), instance(""))

    assert ("a", "a") == hosts(text, (("privateDnsName",),))


def test_nodes_have_the_asking_nodes_prefix_and_short_names() -> None:
    """A host ends at its first dot, unless it is an IPv4 address or names are long."""
    found = ("ip-10-0-0-1.ec2.internal", "10.0.0.2")

    assert ("bunny@ip-10-0-0-1", "bunny@10.0.0.2") == Names(node="bunny@x").nodes(found)
    assert (
        "bunny@ip-10-0-0-1.ec2.internal" == Names(node="bunny@x", long_names=True).nodes(found)[0]
    )


def test_the_private_address_replaces_only_the_plain_path() -> None:
    """The plain path is [privateDnsName], alone or one of several paths."""
    other = (("publicDnsName",),)
    several = (("networkInterfaceSet", "1", "privateDnsName"), ("privateDnsName",), *other)

    assert (("privateIpAddress",),) == Names(use_private_ip=True).paths
    assert other == Names(use_private_ip=True, hostname_paths=other).paths
    assert (("privateDnsName",),) == Names(hostname_paths=()).paths
    assert several == Names(hostname_paths=several).paths
    assert (several[0], ("privateIpAddress",), several[2]) == (
        Names(use_private_ip=True, hostname_paths=several).paths
    )


def test_a_name_and_an_address_that_become_one_are_one_host() -> None:
    """`use_private_ip` makes both paths the same, as in the plugin's own test."""
    both = (("privateDnsName",), ("privateIpAddress",))
    text = page(instance("a", more="<privateIpAddress>10.0.16.29</privateIpAddress>"))

    assert ("a", "10.0.16.29") == hosts(text, Names(hostname_paths=both).paths)
    assert ("10.0.16.29",) == hosts(text, Names(hostname_paths=both, use_private_ip=True).paths)


@pytest.mark.parametrize(
    "text", ["", "x", "<a/>", page()[:-9], "<DescribeInstancesResponse/>", "<!DOCTYPE a><a/>"]
)
def test_a_malformed_answer_is_refused(text: str) -> None:
    """The answer is no XML, incomplete, or another document."""
    with pytest.raises(Refused):
        hosts(text, (("privateDnsName",),))


# -- a whole listing --------------------------------------------------------------------------

BY_TAGS = Aws(instance_tags=TAGS)
BY_GROUP = Aws(use_autoscaling_group=True)
REAL_TAGS, REAL_GROUP = (
    Aws(variant=REAL, instance_tags=TAGS),
    Aws(variant=REAL, use_autoscaling_group=True),
)
TOKEN = ok("metadata-token")


def test_a_listing_by_group_asks_the_metadata_then_all_pages_then_the_instances() -> None:
    """An instance that was not asked for is left out."""
    done = listed(
        BY_GROUP,
        TOKEN,
        ok("i-1"),
        ok(group_answer("i-1:x", token="t")),
        ok(group_answer("i-2:x")),
        ok(page(instance("a"), token="u")),
        ok(page(instance("b", name="i-2"), instance("stranger", name="i-9"))),
    )

    assert [
        "PUT /latest/api/token",
        "GET /latest/meta-data/instance-id",
        "GET /?Action=DescribeAutoScalingInstances&Version=2011-01-01",
        "GET /?Action=DescribeAutoScalingInstances&NextToken=t&Version=2011-01-01",
    ] == lines(done)[:4]
    assert ("169.254.169.254", 80) == (done.requests[0].host, done.requests[0].port)
    ttl = Header("X-aws-ec2-metadata-token-ttl-seconds", "60")
    assert (ttl,) == done.requests[0].headers
    assert (Header("X-aws-ec2-metadata-token", "metadata-token"),) == done.requests[1].headers
    assert ("rabbit@a", "rabbit@b") == done.nodes
    assert "autoscaling.eu-west-1.amazonaws.com" == done.requests[2].host


def test_real_reads_one_page_of_instances_and_ours_all() -> None:
    """If a page is left out, the list is partial."""
    first, second = ok(page(instance("a"), token="u")), ok(page(instance("b")))

    assert ("rabbit@a",) == listed(REAL_TAGS, first).nodes
    assert ("rabbit@a", "rabbit@b") == listed(BY_TAGS, first, second).nodes
    assert "NextToken=u" in lines(listed(BY_TAGS, first))[1]
    assert next_page(second.body) is None


def test_ours_counts_only_instances_in_the_states_that_were_asked_for() -> None:
    """The server may not filter, so ours filters its answer again."""
    gone = ok(page(instance("a"), instance("b", state="terminated")))

    assert ("rabbit@a",) == listed(BY_TAGS, gone).nodes


def test_real_takes_three_errors_for_an_empty_list() -> None:
    """Neither a group nor tags are set; a query by tags fails; this instance is in no group."""
    none = (TOKEN, ok("i-9"), ok(group_answer("i-1:x")))
    cases = [
        (Aws(variant=REAL), Aws(), ()),
        (REAL_TAGS, BY_TAGS, (ok("", status=500),)),
        (REAL_GROUP, BY_GROUP, none),
    ]
    for real, ours, answers in cases:
        assert () == listed(real, *answers).nodes
        assert Outcome.ERROR is listed(ours, *answers).outcome


def test_a_group_query_that_fails_is_an_error_in_both_variants() -> None:
    """The service answers 503 (docs/discovery.md, case 5)."""
    for about in (REAL_GROUP, BY_GROUP):
        done = listed(about, TOKEN, ok("i-1"), ok("", status=503))
        assert Outcome.ERROR is done.outcome


def error(code: str) -> str:
    """Return an error, as EC2 prints it."""
    return f"<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>"


def test_a_throttled_request_is_tried_five_times() -> None:
    """The tries are 0.5 s apart; a request without permission is tried once."""
    slow = ok(error("RequestLimitExceeded"), status=503)
    done = listed(BY_TAGS, *[slow] * 5)
    assert ((0.5,) * 4, Outcome.ERROR) == (done.waits, done.outcome)
    assert "RequestLimitExceeded" in (done.error or "")

    at_last = listed(BY_TAGS, *[slow] * 4, ok(page(instance("a"))))
    assert ("rabbit@a",) == at_last.nodes
    refused = listed(BY_TAGS, ok(error("UnauthorizedOperation"), status=403))
    assert 1 == len(refused.requests)


def test_keys_of_the_role_are_asked_for_and_once_more_when_they_have_expired() -> None:
    keys = ok({"AccessKeyId": "AK", "SecretAccessKey": "SK", "Token": "T"})
    role = (TOKEN, ok("a-role\n"), TOKEN, keys)
    backend = AwsBackend(BY_TAGS, Names(), Metadata(), None, "eu-west-1")
    expired = ok(error("RequestExpired"), status=400)
    done = play(backend.list_nodes(), *role, expired, *role, ok(page(instance("a"))))

    assert ("rabbit@a",) == done.nodes
    assert "GET /latest/meta-data/iam/security-credentials/a-role" == lines(done)[3]


def test_a_metadata_service_without_tokens_is_queried_as_in_version_1() -> None:
    """A setting turns tokens off, or the service has none."""
    flow = role_keys(Metadata(prefer_imdsv2=False))
    assert ["GET /latest/meta-data/iam/security-credentials/"] == lines(play(flow))

    old = listed(BY_GROUP, ok("", status=404), ok("i-1"))
    assert () == old.requests[1].headers


def test_a_metadata_service_that_cannot_be_read_is_an_error() -> None:
    """The service does not answer, or answers with a page."""
    assert Outcome.ERROR is listed(BY_GROUP, BROKEN, BROKEN).outcome
    assert Outcome.ERROR is listed(REAL_GROUP, BROKEN, ok("<html>")).outcome


def test_the_region_comes_from_the_first_source_that_has_one() -> None:
    """Real takes the setting, AWS_DEFAULT_REGION, the profile, the zone, or else us-east-1."""
    facts = {"configured": "a", "environment": "b", "profile": "c", "zone": "eu-west-1b"}
    said = []
    while True:
        said.append(region(RegionFacts(variant=REAL, **facts))[0])
        if not facts:
            break
        facts.pop(next(iter(facts)))

    assert ["a", "b", "c", "eu-west-1", "us-east-1"] == said


def test_ours_does_not_guess_a_region_and_knows_local_zones() -> None:
    """The default us-east-1 has no node of other regions; a local zone's name has a place."""
    with pytest.raises(Refused):
        region(RegionFacts())
    zone = "us-west-2-lax-1a"

    assert "us-west-2" == region(RegionFacts(zone=zone))[0]
    assert "us-west-2-lax-1" == region(RegionFacts(variant=REAL, zone=zone))[0]
