"""Accepted settings that together are unsafe or useless, and known defects of releases.

Each row of `risks.tsv` is one case of the table of operators' cases in docs/discovery.md, or a
defect of some releases with its source: an issue of rabbitmq/rabbitmq-server or of the named
plugin's repository, or a file of the server.  A row applies to its releases and its backends when
all words of `when` hold:

    KEY            it is set, or has a default, and is neither false nor empty
    KEY?           the file or the environment sets it
    KEY=V, KEY<N   its value, or its default, is V, or below or above N
    KEY. or KEY.*  a key below it is set; the star counts keys that keep a node from starting, too
    RULE           the release does this (`rules.tsv`)
    FACT           one of `FACTS` is true

`!` before a word negates it; `|` between two words: one of them holds.

Source: discovery, D1 to D4 and D6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from joinproto.discovery import lock, values
from joinproto.discovery.configuration import BACKEND, KEY_PREFIXES, Configuration, variable
from joinproto.discovery.findings import Problem, SettingEffect, Severity
from joinproto.discovery.first_start import first_start
from joinproto.discovery.keys import PREFIX
from joinproto.discovery.names import host_of, is_name_in_dns, port_of
from joinproto.discovery.releases import Ages, rows
from joinproto.discovery.rules import does

# The form of the names that a backend returns, and the form of the node's own name.
#
# Erlang nodes with short names (a host without dots) and with long names never reach each other,
# and an IP address is a host for long names only.  The node's own name is `--node`, or else
# RABBITMQ_NODENAME.  RABBITMQ_USE_LONGNAME sets its form; without it, the name shows the form
# (discovery, D1).
#
# DNS has no row in `risks.tsv`, because its backend cuts the names that it finds as the node's own
# name is cut.

POD = re.compile(r"[^@]+@[^.]*-[0-9]+(?:\..*)?")
"""A node's name from which the Kubernetes backend of 4.1 and later can compute the seed."""
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|.*:.*")
ANY = (BACKEND, "")
"""Stands for names of any form, or of an unknown form."""


def form_of(node: str | None) -> str:
    """Return `long` or `short`, "" without a name."""
    return "" if node is None else "long" if "." in host_of(node) else "short"


def own_name(about: Configuration) -> str | None:
    """Return the node's own name, or None if it is not known."""
    named = variable(about.environment, "NODENAME")
    return about.node or (named if named and "@" in named else None)


def form_used(about: Configuration) -> str:
    """Return the form of all nodes' names, `long` or `short`, "" if it is not known."""
    said = variable(about.environment, "USE_LONGNAME")
    if said:
        return "long" if said.lower() in ("true", "1", "yes", "on") else "short"
    return form_of(own_name(about))


def listed(about: Configuration) -> tuple[str, str]:
    """Return the key that decides by which names the backend lists nodes, and the names' form.

    The form is `long`, `short`, `address`, or "" for any.
    """
    match about.backend:
        case values.CLASSIC:
            for key, node in about.below("classic_config.nodes").items():
                if "@" in node and form_of(node) != form_used(about):
                    return key, form_of(node)
        case values.K8S if not does(about.release, "PODS"):
            key = "k8s.address_type"
            if about.get(key) == "ip":
                return key if key in about.values else BACKEND, "address"
            suffix = about.get("k8s.hostname_suffix")
            return ("k8s.hostname_suffix", "long") if suffix else (key, "short")
        case values.AWS:
            # The address replaces this path only, even if there are several paths.
            paths = about.below("aws.hostname_path").values() or [about.get("aws.hostname_path")]
            is_name = any([*(path or ("privateDnsName",))] == ["privateDnsName"] for path in paths)
            if about.get("aws.use_private_ip") and is_name:
                return "aws.use_private_ip", "address"
        case values.CONSUL if not does(about.release, "SELECTS"):
            # Later releases read the name that the node itself wrote into its record.
            if about.get("consul.svc_addr_nic"):
                return "consul.svc_addr_nic", "address"
            address = about.get("consul.svc_addr")
            if address and not about.get("consul.svc_addr_auto") and ADDRESS.fullmatch(address):
                return "consul.svc_addr", "address"
    return ANY


def not_host(about: Configuration) -> str:
    """Return the key of the server's host if a scheme or a port is written with the host, else "".

    The broker adds its port to any value; an IPv6 address has more than one colon.
    """
    key = f"{about.key_prefix}.host"
    host = str(about.get(key) or "")
    is_read = about.statuses.get(key) is SettingEffect.ACCEPTED
    return key if is_read and ("/" in host or host.count(":") == 1) else ""


def not_endpoint(about: Configuration) -> str:
    """Return the first key whose value etcd's v3 client cannot read as HOST:PORT, else "".

    The client splits all endpoints at their colons before it connects to one, and knows neither
    schemes nor IPv6 addresses (eetcd 0.3.6 and 0.5.0, open/3).
    """
    for key, endpoint in about.below("etcd.endpoints").items():
        host, _, port = str(endpoint).rpartition(":")
        if not host or ":" in host or port_of(port) is None:
            return key
    return "etcd.host" if ":" in str(about.values.get("etcd.host", "")) else ""


_WORD = re.compile(r"(\w[\w.]*?)(\.\*?|\?|[=<>].*|)")
_DELAY = "randomized_startup_delay_range"


@frozen
class Risk:
    """A row of `risks.tsv`.  `ages`: None means in all releases.

    `backends`: the first parts of their keys, None for all backends.
    """

    ages: Ages | None
    backends: tuple[str, ...] | None
    severity: Severity
    rule: str
    key: str
    when: tuple[str, ...]
    why: str
    next: str
    source: str

    def meets(self, about: Configuration) -> bool:
        """Return whether the row applies to this configuration."""
        if self.backends is not None and about.key_prefix not in self.backends:
            return False
        if self.ages is not None and not self.ages.holds(about.release):
            return False
        return all(_holds(word, about) for word in self.when)

    def problem(self, about: Configuration) -> Problem:
        """Return the problem of a configuration to which the row applies."""
        facts = _Facts(about)
        key = self.key.format_map(facts)
        if key.endswith("."):
            key = next(iter(about.below(key[:-1])))
        first, *others = key.split("|")
        key = next(
            (one for one in (first, *others) if one in about.values), (others or [first])[-1]
        )
        facts["value"] = about.get(key)
        defect = f" (a defect {self.ages}: {self.source})" if self.source else ""
        why = self.why.format_map(facts) + defect
        return about.problem(self.severity, key, why, self.next.format_map(facts), self.rule)


class _Facts(dict[str, Any]):
    """Facts by name, computed when the texts of a row use them."""

    def __init__(self, about: Configuration) -> None:
        super().__init__()
        self._about = about

    def __missing__(self, name: str) -> Any:
        return FACTS[name](self._about)


FACTS: dict[str, Callable[[Configuration], Any]] = {
    "release": lambda about: about.release,
    "backend": lambda about: about.backend,
    "prefix": lambda about: about.key_prefix,
    "chosen": lambda about: about.is_chosen,
    # The schema replaces a short name by the module; Erlang terms do not (6753).
    "module": lambda about: values.ALIASES.get(about.backend),
    "ships": lambda about: about.key_prefix,
    "one": lambda about: first_start(about.release, about.backend).kind in ("selects", "seed"),
    "guard": lambda about: (
        lock.guard(
            about.release,
            about.backend,
            about.values.get(f"{_DELAY}.min"),
            about.values.get(f"{_DELAY}.max"),
        ).guard.value
    ),
    "listed": lambda about: len(about.below("classic_config.nodes")),
    # Which node is chosen then depends on which node started first (11534, 11586).
    "not_in_list": lambda about: (
        about.node is not None and about.node not in about.below("classic_config.nodes").values()
    ),
    "me": lambda about: about.node,
    "is_name_in_dns": lambda about: is_name_in_dns(about.get("dns.hostname")),
    "proxy_in_file": lambda about: any(about.lines[name] for name in about.below("proxy")),
    "excludes_metadata": lambda about: (
        "169.254.169.254" in about.below("proxy.proxy_exclusions").values()
    ),
    # The schema accepts any text, but the code can ask no server with it.  Without an answer, a
    # boot fails before 3.13; later, the node stands alone.
    "wrong_scheme": lambda about: (
        about.statuses.get(f"{about.key_prefix}.scheme") is SettingEffect.ACCEPTED
        and about.values[f"{about.key_prefix}.scheme"] not in ("http", "https")
    ),
    "not_host": not_host,
    "not_endpoint": not_endpoint,
    "node": own_name,
    "own": lambda about: form_of(own_name(about)),
    "uses": form_used,
    "names": lambda about: listed(about)[1],
    "decides": lambda about: listed(about)[0],
    "is_address": lambda about: ADDRESS.fullmatch(host_of(own_name(about) or "")),
    "is_pod": lambda about: POD.fullmatch(own_name(about) or ""),
    "unlike_seed": lambda about: form_of(about.get("k8s.seed_node")) != form_of(own_name(about)),
}


def _holds(word: str, about: Configuration) -> bool:
    if "|" in word:
        return any(_holds(one, about) for one in word.split("|"))
    if word.startswith("!"):
        return not _holds(word[1:], about)
    found = _WORD.fullmatch(word)
    assert found is not None, word
    name, sign = found.groups()
    if name.isupper():
        return does(about.release, name)
    match sign[:1], sign[1:]:
        case ".", "*":
            # In Erlang terms the list has another name, and its entries may be misspelt.
            below = (f"{name}.", f"peer_discovery_{name}.")
            return any(one.startswith(below) for one in about.written)
        case ".", _:
            return bool(about.below(name))
        case "?", _:
            return name in about.values
    told = FACTS[name](about) if name in FACTS else about.get(name)
    match sign[:1], sign[1:]:
        case "=", value:
            return str(told).lower() == value
        case "<", value:
            return told is not None and told < int(value)
        case ">", value:
            return told is not None and told > int(value)
    return bool(told)


def _read(row: list[str]) -> Risk:
    ages, backends, severity, rule, key, when, why, next, source = row
    return Risk(
        Ages.read(ages) if ages else None,
        None if backends == "*" else tuple(backends.split()),
        Severity(severity),
        rule,
        key,
        tuple(when.split()),
        why,
        next,
        source,
    )


RISKS = tuple(map(_read, rows("risks.tsv")))


def problems(about: Configuration) -> Iterator[Problem]:
    """Yield a problem for each unsafe or useless setting of this configuration."""
    if about.backend == values.CLASSIC:
        yield from _listed_once(about)
    for one in RISKS:
        if one.meets(about):
            yield one.problem(about)
    yield from _other_backend(about)


def _listed_once(about: Configuration) -> Iterator[Problem]:
    seen = set()
    for name, node in about.below("classic_config.nodes").items():
        if node in seen:
            why = f"{node} is listed twice"
            yield about.problem(Severity.WARNING, name, why, "keep one of the two lines", "D1")
        seen.add(node)
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", node):
            why = f"{node!r} is not the name of a node"
            write = "write PREFIX@HOST, such as rabbit@host1"
            yield about.problem(Severity.UNSAFE, name, why, write, "D1")


def _other_backend(about: Configuration) -> Iterator[Problem]:
    """Yield a problem for each other backend whose keys are written."""
    for backend, prefix in KEY_PREFIXES.items():
        written = [name for name in about.below(prefix) if about.lines[name]]
        if written and backend != values.ALIASES.get(about.backend, about.backend):
            severity = Severity.WARNING
            why = f"the backend is {about.backend}: settings of {prefix} have no effect"
            if not about.is_chosen:
                severity = Severity.UNSAFE
                why = f"no backend is chosen: settings of {prefix} have no effect"
                why += ", and each node stands alone"
            write = f"write {PREFIX}.peer_discovery_backend = {prefix}, or take them out"
            yield about.problem(severity, written[0], why, write, "D6")
