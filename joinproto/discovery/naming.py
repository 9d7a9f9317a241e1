"""Whether the names that a backend will return have the form of the node's own name.

Erlang nodes with short names (a host without dots) and with long names never reach each other, and
an IP address is a host for long names only.  The own name is `--node`, or else RABBITMQ_NODENAME;
RABBITMQ_USE_LONGNAME decides, or the form of the name where it is not given (discovery, D1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from joinproto.discovery import rules, values
from joinproto.discovery.names import host_of
from joinproto.discovery.problem import Problem, Severity

if TYPE_CHECKING:
    from joinproto.discovery.unsafe import Configuration


class Host(Enum):
    """Which hosts a backend names."""

    SHORT = "short names"
    LONG = "long names"
    ADDRESS = "IP addresses"


POD = re.compile(r"[^@]+@[^.]*-[0-9]+(?:\..*)?")
"""A node's name that Kubernetes' backend of 4.1 and later can compute its seed from."""
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|.*:.*")


def own_name(about: Configuration) -> str | None:
    """Return the node's own name, where it is known."""
    named = _variable(about, "NODENAME")
    return about.node or (named if named and "@" in named else None)


def uses_long_names(about: Configuration) -> bool | None:
    """Return whether the node has a long name; None where nothing says so."""
    said = _variable(about, "USE_LONGNAME")
    node = own_name(about)
    if said is not None:
        return said.lower() in ("true", "1", "yes", "on")
    return None if node is None else "." in host_of(node)


def _variable(about: Configuration, name: str) -> str | None:
    return about.environment.get(f"RABBITMQ_{name}", about.environment.get(name)) or None


def problems(about: Configuration) -> Iterator[Problem]:
    """Yield where the own name has another form than the names that the backend returns."""
    if not about.is_chosen:
        return
    node, long_names = own_name(about), uses_long_names(about)
    yield from _own(about, node, long_names)
    if about.backend == values.K8S and rules.PODS.holds(about.release):
        yield from _pod(about, node)
        return
    key, listed = _listed(about)
    if listed is None or long_names is None:
        return
    wanted = "a long name" if long_names else "a short name"
    if (listed is Host.SHORT) is long_names:
        yield about.unsafe(
            key,
            f"the backend names nodes by {listed.value}, and this node has {wanted}: none of them"
            " is reached",
            _mend(about, listed),
            "D1",
        )
    elif listed is Host.ADDRESS and node is not None and not ADDRESS.fullmatch(host_of(node)):
        yield about.unsafe(
            key,
            f"the backend names nodes by IP addresses, and this node is {node}: others that look"
            " for it by its address do not find it",
            "name the node PREFIX@ADDRESS, or have the backend return host names",
            "D1",
        )


def _own(about: Configuration, node: str | None, long_names: bool | None) -> Iterator[Problem]:
    if node is None or long_names is ("." in host_of(node)):
        return
    says = "RABBITMQ_USE_LONGNAME says " + ("true" if long_names else "false")
    yield about.problem(
        Severity.ERROR,
        "peer_discovery_backend",
        f"{node} is a {'short' if long_names else 'long'} name, and {says}: it does not start",
        "write PREFIX@HOST.DOMAIN with RABBITMQ_USE_LONGNAME=true, or PREFIX@HOST without it",
        "D1",
    )


def _pod(about: Configuration, node: str | None) -> Iterator[Problem]:
    seed = about.get("k8s.seed_node")
    if node is None:
        return
    if seed is None and not POD.fullmatch(node):
        yield about.unsafe(
            "peer_discovery_backend",
            f"{node} has no number behind a hyphen as pods of a StatefulSet have: the seed cannot"
            " be computed, and the node tries for ever",
            "name nodes as rabbit@rabbitmq-0.DOMAIN, or write cluster_formation.k8s.seed_node",
            "D1",
        )
    elif seed is not None and ("." in host_of(seed)) is not ("." in host_of(node)):
        yield about.unsafe(
            "k8s.seed_node",
            f"{seed} and {node} are not both short or both long names: the seed is not reached",
            "write the seed's name in the form of the node's own",
            "D1",
        )


def _listed(about: Configuration) -> tuple[str, Host | None]:
    """Return the key that decides which hosts are named, and which they are; None: as the own."""
    match about.backend:
        case values.CLASSIC:
            for key, node in about.below("classic_config.nodes").items():
                if "@" in node and ("." in host_of(node)) is not uses_long_names(about):
                    return key, Host.LONG if "." in host_of(node) else Host.SHORT
        case values.K8S:
            if about.get("k8s.address_type") == "ip":
                key = "k8s.address_type"
                return key if key in about.values else "peer_discovery_backend", Host.ADDRESS
            suffix = about.get("k8s.hostname_suffix")
            key = "k8s.hostname_suffix" if suffix else "k8s.address_type"
            return key, Host.LONG if suffix else Host.SHORT
        case values.AWS:
            # It takes the place of this path alone, among several, too.
            paths = about.below("aws.hostname_path").values() or [about.get("aws.hostname_path")]
            is_name = any([*(path or ("privateDnsName",))] == ["privateDnsName"] for path in paths)
            if about.get("aws.use_private_ip") and is_name:
                return "aws.use_private_ip", Host.ADDRESS
        case values.CONSUL if not rules.SELECTS.holds(about.release):
            # Later releases read the name that the node itself wrote into its record.
            if about.get("consul.svc_addr_nic"):
                return "consul.svc_addr_nic", Host.ADDRESS
            address = about.get("consul.svc_addr")
            if address and not about.get("consul.svc_addr_auto") and ADDRESS.fullmatch(address):
                return "consul.svc_addr", Host.ADDRESS
    return "peer_discovery_backend", None


def _mend(about: Configuration, listed: Host) -> str:
    if about.backend == values.K8S and listed is Host.SHORT:
        return "write cluster_formation.k8s.hostname_suffix, as .NAME.NAMESPACE.svc.cluster.local"
    if listed is Host.SHORT:
        return "write the nodes' full names, or start them without RABBITMQ_USE_LONGNAME"
    return "set RABBITMQ_USE_LONGNAME=true and a long RABBITMQ_NODENAME, or have short names listed"
