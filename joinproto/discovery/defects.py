"""Known defects of single releases: which configuration meets them, what happens, and the source.

`lint` names each that holds.  Numbers are of the issues of rabbitmq/rabbitmq-server, or of the
plugin's own repository where that is named (discovery, D6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from joinproto.discovery import values
from joinproto.discovery.problem import Problem, Severity
from joinproto.discovery.releases import Ages

if TYPE_CHECKING:
    from joinproto.discovery.unsafe import Configuration


@frozen(kw_only=True)
class Defect:
    """`backends`: that have it.  `key`: at which it is told.  `met`: whether a file meets it."""

    ages: Ages
    backends: tuple[str, ...]
    severity: Severity
    key: str = "peer_discovery_backend"
    met: Callable[[Configuration], object] = lambda about: True
    why: str
    next: str
    source: str


REGISTERING = (values.CONSUL, values.ETCD)
DEFECTS = (
    Defect(
        ages=Ages.read("3.7 !3.7.7"),
        backends=(values.CONSUL,),
        severity=Severity.ERROR,
        key="consul.svc_addr_nic",
        met=lambda about: about.get("consul.svc_addr_auto") and about.get("consul.svc_addr_nic"),
        why="the boot crashes: no clause takes svc_addr_auto = true with svc_addr_nic",
        next="write svc_addr_auto = false, or run 3.7.7 or later",
        source="1630",
    ),
    Defect(
        ages=Ages.read("3.8.4 !3.8.5"),
        backends=(values.ETCD,),
        severity=Severity.ERROR,
        why="the boot crashes: the lock's answer has a form that the server does not know",
        next="run 3.8.5 or later",
        source="2379, and rabbitmq-peer-discovery-etcd 28 and 30",
    ),
    Defect(
        ages=Ages.read("3.10.15 3.11.8 3.12 !4.2.3"),
        backends=(values.ETCD,),
        severity=Severity.ERROR,
        key="etcd.password",
        met=lambda about: about.get("etcd.username") and "etcd.password" in about.values,
        why="the boot crashes: the stored password is wrapped twice, and cannot be read again",
        next="run 4.2.3, 4.3.0 or later, or an etcd that asks for no password",
        source="15191",
    ),
    Defect(
        ages=Ages.read("3.13 !3.13.5"),
        backends=REGISTERING,
        severity=Severity.UNSAFE,
        why="a node looks before it registers, and waits to see itself: no node joins another one,"
        " and each stands alone in the end",
        next="run 3.13.5 or later",
        source="10760, 11594",
    ),
    Defect(
        ages=Ages.read("3.13.4 !3.13.5"),
        backends=(values.ETCD,),
        severity=Severity.ERROR,
        why="the boot crashes: the backend names one node, where the server reads a list",
        next="run 3.13.5 or later",
        source="rabbit_peer_discovery.erl, normalize/1",
    ),
    Defect(
        ages=Ages.read("4.0.8 !4.1"),
        backends=tuple(values.ALIASES.values()),
        severity=Severity.UNSAFE,
        key="discovery_retry_limit",
        met=lambda about: about.get("discovery_retry_limit") == "unlimited",
        why="the schema takes unlimited, and the code does not: the first round that fails ends"
        " the boot",
        next="write a number",
        source="rabbit_peer_discovery.erl, retry_sync_desired_cluster/3",
    ),
    Defect(
        ages=Ages.read("3.13.5 !4.0.5"),
        backends=REGISTERING,
        severity=Severity.UNSAFE,
        key="node_cleanup.interval",
        met=lambda about: about.below("node_cleanup"),
        why="cleanup crashes: the backend names one node, where it reads a list",
        next="take the node_cleanup lines out, or run 4.0.5 or later",
        source="12806",
    ),
    Defect(
        ages=Ages.read("3.7 !4.2"),
        backends=(values.AWS, values.K8S, *REGISTERING),
        severity=Severity.UNSAFE,
        key="node_cleanup.only_log_warning",
        met=lambda about: about.get("node_cleanup.only_log_warning") is False,
        why="where the backend fails, cleanup takes its list for empty and removes every member"
        " that is not seen",
        next="write true, or run 4.2 or later",
        source="14606, and rabbitmq-peer-discovery-k8s 20",
    ),
)


def problems(about: Configuration) -> Iterator[Problem]:
    """Yield the defects of the release that this configuration meets."""
    for one in DEFECTS:
        is_here = (
            about.is_chosen and about.backend in one.backends and one.ages.holds(about.release)
        )
        if is_here and one.met(about):
            yield about.problem(
                one.severity,
                one.key,
                f"{one.why} (a defect {one.ages}: {one.source})",
                one.next,
                "D6",
            )
