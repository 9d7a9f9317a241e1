"""Commands that ask running nodes, and that predict the effect of a new config.

Source: Clusterer, U3 and U7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from random import Random
from typing import Any

import click
from attrs import frozen

from joinproto.cli.options import option
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.plan import Plan
from joinproto.clusterer.plan import plan as planned
from joinproto.clusterer.plan_start import NodeSaid, Up, as_said
from joinproto.clusterer.reading import NotConfig, Release, read
from joinproto.clusterer.simulator import Choose
from joinproto.clusterer.status import Status
from joinproto.errors import JoinprotoError, PeerError
from joinproto.net.addresses import Address

PATIENCE = 120.0
SILENCE = 5.0
ORDERS = 100
"""Orders that are tried besides the plain one."""
Ask = Callable[[Address, Mapping[str, Any], float], dict[str, Any]]


@frozen
class Proving:
    """An operator's proof of identity, as the options give it."""

    secret_file: Path | None
    certificate: Path | None
    key: Path | None
    ca: Path | None

    @property
    def ask(self) -> Ask:
        """Return the client of a node; raises `UsageProblem` for files that do not fit."""
        from joinproto.apps.clusterer.operator import ask
        from joinproto.net.secret import read_secret
        from joinproto.net.security import Proofs

        secret = b"" if self.secret_file is None else read_secret("--secret-file", self.secret_file)
        files = {"certificate": self.certificate, "key": self.key, "ca": self.ca}
        proofs = Proofs(**{name: None if at is None else str(at) for name, at in files.items()})
        return partial(ask, secret=secret, tls=proofs.tls(Path()))


def with_proof(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command is given them as one `proving`."""

    @wraps(command)
    def proves(
        secret_file: Path | None,
        certificate: Path | None,
        key: Path | None,
        ca: Path | None,
        **more: Any,
    ) -> int:
        return command(proving=Proving(secret_file, certificate, key, ca), **more)

    found: Callable[..., Any] = proves
    file = click.Path(dir_okay=False, path_type=Path)
    for name, about in (
        ("--ca", "The CA of all nodes; with --certificate and --key."),
        ("--key", "The key of --certificate."),
        ("--certificate", "A certificate that names `operator`, for nodes with TLS."),
        ("--secret-file", "The nodes' secret_file, if they have one."),
    ):
        found = option(name, about, file)(found)
    return found


def chances() -> list[Choose]:
    """Return the orders that a plan tries, the same each time."""
    return [Random(seed).randrange for seed in range(ORDERS)]


@frozen
class Answers:
    """Answers of nodes.  `found`: the whole answer of the first node."""

    found: Mapping[str, Any]
    said: Mapping[str, NodeSaid]
    current: Config

    @property
    def release(self) -> Release:
        return Release(self.found["release"])

    def plan(self, new: Config) -> Plan:
        """Return the plan of a config that is given to the first node."""
        names = self.current.nodes | new.nodes | set(self.said)
        now = as_said(names, self.said, self.release)
        statuses: dict[str, Up] = {}
        return planned(
            self.current,
            new,
            statuses,
            release=self.release,
            at=self.found["node"],
            now=now,
            chances=chances(),
        )

    def silent(self, new: Config) -> list[str]:
        """Return the nodes of both configs that did not answer."""
        return sorted((self.current.nodes | new.nodes) - set(self.said))

    @property
    def joining(self) -> tuple[str, ...]:
        """Return the nodes about to join: their services' data are unknown."""
        return tuple(
            name for name, one in sorted(self.said.items()) if one.status is Status.JOINING
        )


def answers(ask: Ask, to: str) -> Answers:
    """Ask a node, and all that it knows; raises `EnvironmentProblem`, `PeerError`."""
    found = ask(Address.parse_local(to), {"op": "status"}, PATIENCE)
    release = Release(found["release"])
    first = _node_said(found, release)
    if first is None:
        raise PeerError(f"{to}: {found['node']} has not started yet", next="ask again")
    said = {first.name: first}
    for name, one in found["nodes"].items():
        other = status_of(ask, one["address"])
        its = None if other is None else _node_said(other, release)
        if its is not None and its.name == name:
            said[name] = its
    return Answers(found, said, first.held.config)


def status_of(ask: Ask, address: str | None) -> dict[str, Any] | None:
    """Return a node's own status, None if no node answers."""
    if address is None:
        return None
    try:
        return ask(Address.parse(address), {"op": "status"}, SILENCE)
    except JoinprotoError:
        return None


def _node_said(found: Mapping[str, Any], release: Release) -> NodeSaid | None:
    """Return a node's answer as a value; None if it has not started, or ends."""
    try:
        held = _held(found["config"], release)
        status = Status(found["status"])
        if held is None or status in (Status.PREBOOT, Status.SHUTDOWN):
            return None
        return NodeSaid(
            name=str(found["node"]),
            status=status,
            identity=str(found["identity"] or ""),
            held=held,
            achieved=_held(found["achieved"], release),
            members=frozenset(found["members"]),
            ran=frozenset(found["ran"]),
            blank=bool(found["blank"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError(
            f"{found.get('node')}: another answer than expected: {type(error).__name__}: {error}",
            next="update the older one, this command or the node",
        ) from None


def _held(text: str | None, release: Release) -> Held | None:
    try:
        return None if text is None else read(text, release=release).held
    except NotConfig as error:
        raise ValueError(str(error)) from None
