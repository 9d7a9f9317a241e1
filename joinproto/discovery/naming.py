"""Which names a backend will return, and the form of the node's own name.

Erlang nodes with short names (a host without dots) and with long names never reach each other, and
an IP address is a host for long names only.  Its own name is `--node`, or else RABBITMQ_NODENAME;
RABBITMQ_USE_LONGNAME decides, or the form of the name where it is not given (discovery, D1).
`risks.tsv` says what does not go together.  DNS has no row: its backend cuts the names that it
finds as the node's own name is cut.
"""

from __future__ import annotations

import re

from joinproto.discovery import rules, values
from joinproto.discovery.configuration import BACKEND, Configuration, variable
from joinproto.discovery.names import host_of

POD = re.compile(r"[^@]+@[^.]*-[0-9]+(?:\..*)?")
"""A node's name that Kubernetes' backend of 4.1 and later can compute its seed from."""
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|.*:.*")
ANY = (BACKEND, "")
"""Names of any form, or of one that is not known."""


def form_of(node: str | None) -> str:
    """Return `long` or `short`; nothing of no name."""
    return "" if node is None else "long" if "." in host_of(node) else "short"


def own_name(about: Configuration) -> str | None:
    """Return the node's own name, where it is known."""
    named = variable(about.environment, "NODENAME")
    return about.node or (named if named and "@" in named else None)


def form_used(about: Configuration) -> str:
    """Return which names the node uses, `long` or `short`; nothing where nothing says so."""
    said = variable(about.environment, "USE_LONGNAME")
    if said:
        return "long" if said.lower() in ("true", "1", "yes", "on") else "short"
    return form_of(own_name(about))


def listed(about: Configuration) -> tuple[str, str]:
    """Return the key that decides by which names the backend lists nodes, and their form.

    The form: `long`, `short` or `address`.
    """
    match about.backend:
        case values.CLASSIC:
            for key, node in about.below("classic_config.nodes").items():
                if "@" in node and form_of(node) != form_used(about):
                    return key, form_of(node)
        case values.K8S if not rules.PODS.holds(about.release):
            key = "k8s.address_type"
            if about.get(key) == "ip":
                return key if key in about.values else BACKEND, "address"
            suffix = about.get("k8s.hostname_suffix")
            return ("k8s.hostname_suffix", "long") if suffix else (key, "short")
        case values.AWS:
            # It takes the place of this path alone, among several, too.
            paths = about.below("aws.hostname_path").values() or [about.get("aws.hostname_path")]
            is_name = any([*(path or ("privateDnsName",))] == ["privateDnsName"] for path in paths)
            if about.get("aws.use_private_ip") and is_name:
                return "aws.use_private_ip", "address"
        case values.CONSUL if not rules.SELECTS.holds(about.release):
            # Later releases read the name that the node itself wrote into its record.
            if about.get("consul.svc_addr_nic"):
                return "consul.svc_addr_nic", "address"
            address = about.get("consul.svc_addr")
            if address and not about.get("consul.svc_addr_auto") and ADDRESS.fullmatch(address):
                return "consul.svc_addr", "address"
    return ANY
