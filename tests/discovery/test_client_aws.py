"""AWS by moto's server, a simulation of its API with real sockets; discovery, D1.

moto does not check signatures; another test compares them with AWS's own signer.  The metadata of
an instance come from a server of the recorded shapes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import define, field

from joinproto.apps.discovery.conform_file import conform_file
from joinproto.apps.discovery.http import Http
from joinproto.apps.discovery.opened import opened
from joinproto.discovery.answers import Failed, Listed
from joinproto.discovery.aws import Aws, AwsBackend, Endpoint, Names
from joinproto.discovery.aws_metadata import Metadata
from joinproto.discovery.chosen import chosen
from joinproto.discovery.contract import Variant
from joinproto.discovery.exchange import Broken, Request, Signing
from joinproto.discovery.lint import LintInput
from tests.discovery.asking import ask
from tests.needs import need
from tools.boots.recorded import Answer, Recorded, serving

REGION = "eu-west-1"
KEYS = Signing(access_key="testing", secret_key="testing", region="", service="")


@define(eq=False)
class MetadataServer(Recorded):
    """The metadata service of an instance: version 2, with tokens."""

    instance: str = ""
    tokens: bool = True
    given: list[str] = field(factory=list)

    def answer(self, method: str, path: list[str], query: dict[str, str], body: str) -> Answer:
        del query, body
        headers = self.seen[-1][2]
        match method, path:
            case "PUT", ["latest", "api", "token"] if self.tokens:
                self.given.append(f"token-{len(self.given)}")
                return 200, self.given[-1]
            case "GET", ["latest", "meta-data", *rest]:
                if self.tokens and headers.get("x-aws-ec2-metadata-token") not in self.given:
                    return 401, None
                return self._about(rest)
        return 404, None

    def _about(self, path: list[str]) -> Answer:
        match path:
            case ["instance-id"]:
                return 200, self.instance
            case ["placement", "availability-zone"]:
                return 200, f"{REGION}b"
            case ["iam", "security-credentials"]:
                return 200, "a-role"
            case ["iam", "security-credentials", "a-role"]:
                keys = {"AccessKeyId": "testing", "SecretAccessKey": "testing", "Token": "t"}
                return 200, keys
        return 404, None


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Return the port of moto's server."""
    # Set before the import: moto would load a thousand images that no test needs.
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
    need("moto")
    from moto import server

    one = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    try:
        yield one.get_host_and_port()[1]
    finally:
        one.stop()


def client(port: int, service: str) -> Any:
    """Return AWS's own client at this server."""
    import boto3

    return boto3.client(
        service,
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


@pytest.fixture(scope="module")
def instances(port: int) -> dict[str, list[dict[str, Any]]]:
    """Return instances: three with a tag, of which one is stopped, and two in a group."""
    ec2, groups = client(port, "ec2"), client(port, "autoscaling")
    image = "ami-12c6146b"
    tag = [{"ResourceType": "instance", "Tags": [{"Key": "service", "Value": "rabbitmq"}]}]
    tagged = ec2.run_instances(ImageId=image, MinCount=3, MaxCount=3, TagSpecifications=tag)
    ids = [one["InstanceId"] for one in tagged["Instances"]]
    ec2.stop_instances(InstanceIds=ids[:1])
    groups.create_launch_configuration(
        LaunchConfigurationName="lc", ImageId=image, InstanceType="t2.micro"
    )
    for name in ("ours", "others"):
        groups.create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchConfigurationName="lc",
            MinSize=2,
            MaxSize=2,
            AvailabilityZones=[f"{REGION}a"],
        )
    member = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["ours"])
    members = [one["InstanceId"] for one in member["AutoScalingGroups"][0]["Instances"]]

    def about(ids: list[str]) -> list[dict[str, Any]]:
        found = ec2.describe_instances(InstanceIds=ids)["Reservations"]
        return [one for reservation in found for one in reservation["Instances"]]

    return {"tagged": about(ids), "group": about(members)}


def backend(
    port: int,
    metadata: int,
    *,
    names: Names | None = None,
    keys: Signing | None = KEYS,
    region: str | None = REGION,
    **more: Any,
) -> AwsBackend:
    """Return AWS at these ports."""
    at = Endpoint(scheme="http", host="127.0.0.1", port=port)
    about = Aws(endpoint=at, **more)
    return AwsBackend(
        about, names or Names(), Metadata(host="127.0.0.1", port=metadata), keys, region
    )


def hosts(instances: list[dict[str, Any]], key: str = "PrivateDnsName") -> list[str]:
    """Return the names of the nodes of these instances."""
    return sorted(f"rabbit@{one[key]}" for one in instances)


LONG = Names(long_names=True)


@pytest.mark.landing
def test_instances_with_the_tag_that_run_are_listed(
    port: int, instances: dict[str, list[dict[str, Any]]]
) -> None:
    """Tags and states count: the stopped instance is left out."""
    by_tag = backend(port, 1, names=LONG, instance_tags={"service": "rabbitmq"})
    found = ask(by_tag, lambda it: it.list_nodes())

    assert isinstance(found, Listed)
    assert hosts(instances["tagged"][1:]) == sorted(found.nodes)
    other = backend(port, 1, instance_tags={"service": "another"})
    assert Listed(()) == ask(other, lambda it: it.list_nodes())


@pytest.mark.landing
@pytest.mark.parametrize("tokens", [True, False])
def test_the_instances_own_group_is_listed_by_private_address(
    port: int, instances: dict[str, list[dict[str, Any]]], tokens: bool
) -> None:
    """The metadata, with or without tokens, give the keys, the region and the instance's id.

    EC2 reads InstanceId whose numbers begin at 3, but moto does not, and answers with all
    instances; ours keeps the instances that it asked for.  Therefore real's listing by group is not
    tested here.
    """
    state = MetadataServer(instance=instances["group"][0]["InstanceId"], tokens=tokens)
    with serving(state):
        names = Names(use_private_ip=True)
        whole = backend(
            port,
            state.port,
            names=names,
            keys=None,
            region=None,
            use_autoscaling_group=True,
        )
        found = ask(whole, lambda it: it.list_nodes())

    assert isinstance(found, Listed)
    assert hosts(instances["group"], "PrivateIpAddress") == sorted(found.nodes)
    assert tokens == bool(state.given)


@pytest.mark.landing
def test_host_names_are_found_by_a_path_through_interfaces(
    port: int, instances: dict[str, list[dict[str, Any]]]
) -> None:
    path = ("networkInterfaceSet", "1", "privateIpAddressesSet", "1", "privateIpAddress")
    by_path = backend(
        port, 1, names=Names(hostname_paths=(path,)), instance_tags={"service": "rabbitmq"}
    )
    found = ask(by_path, lambda it: it.list_nodes())

    assert isinstance(found, Listed)
    assert hosts(instances["tagged"][1:], "PrivateIpAddress") == sorted(found.nodes)


@pytest.mark.landing
def test_an_instance_in_no_group_is_an_error_in_ours_and_an_empty_list_in_real(
    port: int, instances: dict[str, list[dict[str, Any]]]
) -> None:
    with serving(state := MetadataServer(instance=instances["tagged"][1]["InstanceId"])):
        ours = backend(port, state.port, use_autoscaling_group=True)
        real = backend(port, state.port, variant=Variant.REAL, use_autoscaling_group=True)
        assert isinstance(ask(ours, lambda it: it.list_nodes()), Failed)
        assert Listed(()) == ask(real, lambda it: it.list_nodes())


@pytest.mark.landing
def test_the_api_of_moto_conforms_with_the_keys_of_a_profile(
    port: int,
    instances: dict[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The conformance suite runs for a file; keys and region come from AWS's own places."""
    (tmp_path / "credentials").write_text(
        "[boots]\naws_access_key_id = testing\naws_secret_access_key = testing\n"
    )
    (tmp_path / "config").write_text(f"[profile boots]\nregion = {REGION}\n")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "DEFAULT_REGION"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "boots")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    text = (
        "cluster_formation.peer_discovery_backend = aws\n"
        "cluster_formation.aws.instance_tags.service = rabbitmq\n"
    )
    mine = hosts(instances["tagged"][1:])[0]

    assert conform_file(text, LintInput(), node=mine).conforms
    assert not conform_file(text, LintInput(), node="rabbit@not.there").conforms


def test_keys_that_are_replaced_in_a_file_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a node that runs for long would use the keys of its start, which have expired."""
    file = tmp_path / "credentials"
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "DEFAULT_PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    text = (
        "cluster_formation.peer_discovery_backend = aws\n"
        "cluster_formation.aws.region = us-east-1\n"
        "cluster_formation.aws.instance_tags.service = rabbitmq\n"
    )
    signed: list[str | None] = []

    async def noted(_: object, request: Request) -> Broken:
        signed.append(None if request.signing is None else request.signing.access_key)
        return Broken(why="no server is there")

    async def lists() -> None:
        async with opened(chosen(text, LintInput(), node="rabbit@a")) as port:
            for key in ("first", "second"):
                file.write_text(
                    f"[default]\naws_access_key_id = {key}\naws_secret_access_key = x\n"
                )
                assert isinstance(await port.list_nodes(), Failed)
            file.write_text("no section")
            found = await port.list_nodes()
            assert isinstance(found, Failed)
            assert "not a file of profiles" in found.why

    file.write_text("[default]\naws_access_key_id = zeroth\naws_secret_access_key = x\n")
    monkeypatch.setattr(Http, "exchange", noted)
    anyio.run(lists)

    assert ["first", "second"] == signed
