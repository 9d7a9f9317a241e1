"""Helpers of commands that ask running nodes, or predict the effect of a new config.

Source: Clusterer, U3 and U7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from random import Random
from typing import Annotated, Any

import click
from attrs import fields, frozen

from joinproto.cli.options import option, together
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.plan import Plan
from joinproto.clusterer.plan import plan as planned
from joinproto.clusterer.plan_start import NodeSaid, as_said
from joinproto.clusterer.reading import NotConfig, Release, read
from joinproto.clusterer.simulator import Choose
from joinproto.clusterer.status import Status
from joinproto.codec.json_form import read as read_form
from joinproto.codec.malformed import Malformed
from joinproto.errors import JoinprotoError, PeerError
from joinproto.net.addresses import Address

ANSWER_SECONDS_MAX = 120.0
OTHERS_SECONDS_MAX = 5.0
ORDERS = 100
"""Orders of events that are tried besides the plain order."""
Ask = Callable[[Address, Mapping[str, Any], float], dict[str, Any]]


@frozen
class OperatorProof:
    """An operator's proof of identity, from the command's options."""

    secret_file: Path | None
    certificate: Path | None
    key: Path | None
    ca: Path | None

    @property
    def ask(self) -> Ask:
        """Return the function that asks a node; raises `UsageProblem` for files that do not fit."""
        from joinproto.apps.clusterer.operator import ask
        from joinproto.net.secret import read_secret
        from joinproto.net.security import Proofs

        secret = b"" if self.secret_file is None else read_secret("--secret-file", self.secret_file)
        files = {"certificate": self.certificate, "key": self.key, "ca": self.ca}
        proofs = Proofs(**{name: None if at is None else str(at) for name, at in files.items()})
        return partial(ask, secret=secret, tls=proofs.tls(Path()))


_FILE = click.Path(dir_okay=False, path_type=Path)
_PROOF = together(
    option("--secret-file", "The nodes' secret_file, if they have one.", _FILE),
    option("--certificate", "A certificate that names `operator`, for nodes with TLS.", _FILE),
    option("--key", "The key of --certificate.", _FILE),
    option("--ca", "The CA of all nodes; with --certificate and --key.", _FILE),
)


def with_proof(command: Callable[..., int]) -> Callable[..., Any]:
    """Add the options of an operator's proof; the command gets them as one argument, `proof`."""

    @wraps(command)
    def with_proof_argument(**given: Any) -> int:
        proof = OperatorProof(**{one.name: given.pop(one.name) for one in fields(OperatorProof)})
        return command(proof=proof, **given)

    return _PROOF(with_proof_argument)


def chances() -> list[Choose]:
    """Return the orders of events that a plan tries; they are the same each time."""
    return [Random(seed).randrange for seed in range(ORDERS)]


@frozen(kw_only=True)
class ServiceShown:
    """The service of a node."""

    runs: Annotated[bool, "whether it was booted, and not stopped since"]
    says: Annotated[Mapping[str, str], "facts that the service reports about itself"]
    failure: Annotated[str | None, "why its last boot failed; null: its last boot did not fail"]


@frozen(kw_only=True)
class OtherShown:
    """Another node as this node knows it."""

    address: Annotated[str | None, "HOST:PORT; null: not known"]
    connected: Annotated[bool, "whether there is a connection"]


@frozen(kw_only=True)
class StatusShown:
    """`clusterer status --json`: what a node is doing."""

    node: Annotated[str, "the node's name"]
    status: Annotated[str, "preboot, joining, rejoining, booting, ready, pending or shutdown"]
    version: Annotated[int | None, "the version of the config that it holds or heads for"]
    config: Annotated[str | None, "that config, as Erlang terms"]
    identity: Annotated[str | None, "the identity of the node and of its set of data"]
    achieved: Annotated[str | None, "the config that the next one is compared with; null: none yet"]
    members: Annotated[tuple[str, ...], "the members of the service's cluster"]
    ran: Annotated[tuple[str, ...], "the nodes that ran when the service ran last"]
    blank: Annotated[bool, "whether it gave up its data, and has no new data yet"]
    waits_for: Annotated[tuple[str, ...], "nodes that it needs before it can go on"]
    why: Annotated[str, "the reason, in a sentence"]
    note: Annotated[str | None, "advice for the operator; null: none"]
    service: Annotated[ServiceShown, "the service that it manages"]
    nodes: Annotated[Mapping[str, OtherShown], "other nodes that it knows, by name"]
    release: Annotated[Release, "the release whose configs it takes"]


@frozen
class Answers:
    """Answers of nodes.

    `found`: the whole answer of the first node.  `by_node`: each node's answer, by its name.
    `current`: the config that the first node holds.
    """

    found: StatusShown
    by_node: Mapping[str, NodeSaid]
    current: Config

    @property
    def release(self) -> Release:
        return self.found.release

    def plan(self, new: Config) -> Plan:
        """Return the plan of a config that is given to the first node."""
        names = self.current.nodes | new.nodes | set(self.by_node)
        now = as_said(names, self.by_node, self.release)
        return planned(
            self.current,
            new,
            {},
            release=self.release,
            at=self.found.node,
            now=now,
            chances=chances(),
        )

    def silent(self, new: Config) -> list[str]:
        """Return the nodes of both configs that did not answer."""
        return sorted((self.current.nodes | new.nodes) - set(self.by_node))

    @property
    def joining(self) -> tuple[str, ...]:
        """Return the nodes that are about to join: the data of their services are not known."""
        return tuple(
            name for name, one in sorted(self.by_node.items()) if one.status is Status.JOINING
        )


def answers(ask: Ask, to: str) -> Answers:
    """Ask a node, and all nodes that it knows; raises `EnvironmentProblem`, `PeerError`."""
    found = status_at(ask, Address.parse_local(to), ANSWER_SECONDS_MAX)
    first = _node_said(found, found.release)
    if first is None:
        raise PeerError(
            f"{to}: {found.node} has not started yet, or is shutting down",
            next="ask again once it has started",
        )
    by_node = {first.name: first}
    for name, one in found.nodes.items():
        status = status_of(ask, one.address)
        answer = None if status is None else _node_said(status, found.release)
        if answer is not None and answer.name == name:
            by_node[name] = answer
    return Answers(found, by_node, first.held.config)


def status_of(ask: Ask, address: str | None) -> StatusShown | None:
    """Return a node's status; None without an address, or if the node does not answer."""
    if address is None:
        return None
    try:
        return status_at(ask, Address.parse(address), OTHERS_SECONDS_MAX)
    except JoinprotoError:
        return None


def status_at(ask: Ask, address: Address, seconds: float) -> StatusShown:
    """Return the status of the node at this address; raises `EnvironmentProblem`, `PeerError`."""
    answer = ask(address, {"op": "status"}, seconds)
    try:
        found: StatusShown = read_form(StatusShown, answer)
    except Malformed as error:
        raise _not_expected(str(address), error) from None
    return found


def _node_said(found: StatusShown, release: Release) -> NodeSaid | None:
    """Return a node's answer as a value; None if the node has not started, or shuts down."""
    try:
        held = _held(found.config, release)
        status = Status(found.status)
        if held is None or status in (Status.PREBOOT, Status.SHUTDOWN):
            return None
        return NodeSaid(
            name=found.node,
            status=status,
            identity=found.identity or "",
            held=held,
            achieved=_held(found.achieved, release),
            members=frozenset(found.members),
            ran=frozenset(found.ran),
            blank=found.blank,
        )
    except ValueError as error:
        raise _not_expected(found.node, error) from None


def _not_expected(node: str, error: Exception) -> PeerError:
    return PeerError(
        f"{node}: the answer has an unexpected form: {error}",
        next="update this command or the node, whichever is older",
    )


def _held(text: str | None, release: Release) -> Held | None:
    try:
        return None if text is None else read(text, release=release).held
    except NotConfig as error:
        raise ValueError(str(error)) from None
