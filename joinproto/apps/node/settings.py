"""node.toml: the configuration of a node, read and validated before the node does anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from attrs import field, frozen

from joinproto.apps.node.discovery_file import (
    Discovery,
    DiscoveryFile,
    discovery_of,
    require_expected,
)
from joinproto.codec import toml_file
from joinproto.codec.json_form import filled
from joinproto.codec.marks import AtLeast, Duration
from joinproto.errors import UsageProblem
from joinproto.host.eventlog import BYTES_MAX
from joinproto.host.process.control import require_place
from joinproto.join.config import Config, TotalFailure
from joinproto.net.addresses import Address
from joinproto.net.network import Network
from joinproto.net.security import (
    Proofs,
    require_apart,
    require_distinct,
    require_protected,
    require_times,
)

EVENTS_BYTES_MIN = 2**20
ADVICE = "docs/running.md names all fields, and shows a whole file"


class Stopping(Enum):
    """The meaning of the first SIGTERM."""

    AWAY = "away"  # the node ends, stays a member and an elector, and comes back when started
    LEAVE = "leave"  # the others choose a view without the node; then the node ends


class Reads(Enum):
    """The confirmation that a read needs before it is answered."""

    CONFIRMED = "confirmed"  # by a majority: the answer has every frame acknowledged before
    LOCAL = "local"  # by no member: `ReplicatedLog.barrier` says which frames may be missing


class OnFull(Enum):
    """The behaviour of a member when its event log cannot be written."""

    GO_ON = "go-on"  # the log ends, and the member continues
    END = "end"  # the member ends, so that the log has all of the member's actions


@frozen(kw_only=True)
class Timing:
    """Times, in seconds.

    `patience`: how long a member waits for answers before it continues without them.  `silence`:
    how long a peer may send nothing before it counts as lost.  `wait`, `leave`: limits for becoming
    active and for leaving the cluster; 0 means no limit.
    """

    patience: Duration = 0.5
    heartbeat: Duration = 0.5
    silence: Duration = 2.0
    wait: Annotated[float, AtLeast(0)] = 0.0
    leave: Annotated[float, AtLeast(0)] = 10.0


@frozen(kw_only=True)
class Security(Proofs):
    """The proof of members' identities.

    `insecure`: ports (`listen`, `clients`, `http`) that other machines may reach although nothing
    protects them.
    """

    insecure: list[str] = field(factory=list)


@frozen(kw_only=True)
class LogRetention:
    """The frames that a node keeps.

    `snapshot_every`: frames between two snapshots.  `keep_frames`: the least number of last frames
    that stay readable; earlier frames are dropped.  None keeps all.
    """

    snapshot_every: Annotated[int, AtLeast(1)] = 100_000
    keep_frames: Annotated[int | None, AtLeast(1)] = None


@frozen(kw_only=True)
class FaultSettings:
    """Settings for fault tests only.

    `clock_offset`: a file with the number of seconds by which this node's clock is ahead; the path
    is relative to `data`.
    """

    clock_offset: str | None = None


@frozen(kw_only=True)
class NodeFile:
    """The file before its validation; its paths are relative to its directory."""

    member: str
    cluster: str
    data: str
    wait_for: int
    listen: str
    clients: str
    electors: list[str] = field(factory=list)
    discovery: DiscoveryFile | None = None
    members: dict[str, str] = field(factory=dict)
    control: str | None = None
    http: str | None = None
    events: str | None = None
    events_bytes: Annotated[int, AtLeast(EVENTS_BYTES_MIN)] = BYTES_MAX
    events_full: OnFull = OnFull.GO_ON
    stop: Stopping = Stopping.AWAY
    reads: Reads = Reads.CONFIRMED
    total_failure: TotalFailure = TotalFailure.MANUAL
    found_with: int | None = None
    options: dict[str, Any] = field(factory=dict)
    timing: Timing = field(factory=Timing)
    security: Security = field(factory=Security)
    log: LogRetention = field(factory=LogRetention)
    testing: FaultSettings = field(factory=FaultSettings)


@frozen(kw_only=True)
class Settings:
    """Validated settings of a node.

    `http`, `events`: None if they are not set.  `discovery`: None if the file names all electors;
    otherwise the electors of `config` are placeholders until discovery finds the real electors.
    `warnings`: texts about settings that are valid but dangerous.
    """

    config: Config
    network: Network
    clients: Address
    data: Path
    control: Path
    http: Address | None
    events: Path | None
    events_bytes: int
    events_needed: bool
    stop: Stopping
    reads: Reads
    timing: Timing
    log: LogRetention
    testing: FaultSettings
    discovery: Discovery | None = None
    warnings: tuple[str, ...] = ()


def read_settings(path: Path) -> Settings:
    """Return the settings in a file; raises `UsageProblem` that names the place in it."""
    return toml_file.read_settings(path, NodeFile, settings_of, next=ADVICE)


def settings_of(file: NodeFile, top: Path) -> Settings:
    """Return the settings; `top`: the directory to which paths are relative."""
    timing, security = file.timing, file.security
    electors = _electors(file)
    missing = [name for name in file.electors if name not in {file.member, *file.members}]
    if missing:
        raise UsageProblem(
            f"no address of the electors {', '.join(missing)}",
            next="write the HOST:PORT of each member under [members]",
        )
    require_times(timing.silence, timing.heartbeat, "a connection")
    if len(set(file.electors)) < len(file.electors):
        twice = sorted({name for name in file.electors if file.electors.count(name) > 1})
        raise UsageProblem(
            f"electors names {', '.join(twice)} twice", next="name each elector once"
        )
    if file.wait_for > len(electors):
        raise UsageProblem(
            f"wait_for is {file.wait_for}, but there are only {len(electors)} electors: clients"
            " would never be served",
            next="set wait_for to at most the number of electors",
        )
    listen, clients = Address.parse_local(file.listen), Address.parse_local(file.clients)
    http = None if file.http is None else Address.parse_local(file.http)
    addresses = {name: Address.parse(text) for name, text in file.members.items()}
    ports = {"listen": listen, "clients": clients, "http": http}
    require_apart(ports)
    others = {f"members.{name}": at for name, at in addresses.items() if name != file.member}
    own = {file.member: addresses.get(file.member, listen)}
    require_distinct(others | own, "member")
    require_protected(ports, security.insecure, proved={"listen"}, next_of=_how_to_protect)
    found = _discovery(file, listen, addresses)
    config = Config(
        member=file.member,
        electors=electors,
        outside=found is not None and found.register is not None,
        wait_for=file.wait_for,
        options=_digest(file.options),
        cluster_name=file.cluster,
        total_failure=file.total_failure,
        found_with=file.found_with,
        patience=timing.patience,
        heartbeat=timing.heartbeat,
    )
    network = Network(
        member=file.member,
        cluster_name=file.cluster,
        # With discovery no elector is known yet: which of two members dials depends on their names.
        electors=config.electors if found is None else frozenset(),
        listen=listen,
        addresses={name: where for name, where in addresses.items() if name != file.member},
        silence=timing.silence,
        secret=security.secret(top),
        tls=security.tls(top),
        is_insecure="listen" in security.insecure,
    )
    data = top / file.data
    control = data / "control.sock" if file.control is None else top / file.control
    require_place(control)
    return filled(
        Settings,
        file,
        config=config,
        network=network,
        clients=clients,
        data=data,
        control=control,
        http=http,
        events=None if file.events is None else top / file.events,
        events_needed=file.events_full is OnFull.END,
        discovery=found,
        warnings=tuple(_warnings(security, top)),
    )


def _how_to_protect(name: str) -> str:
    own = f'`insecure = ["{name}"]` under [security]'
    return f"listen on 127.0.0.1, or permit the unprotected port: {own}"


def _warnings(security: Security, top: Path) -> Iterator[str]:
    yield from security.warnings(top)
    if security.insecure:
        ports = ", ".join(security.insecure)
        yield f"security.insecure: {ports}: any machine that reaches such a port may use it"


def _electors(file: NodeFile) -> frozenset[str]:
    """Return the electors of the file, or placeholders for electors that discovery must find."""
    if file.discovery is None:
        if not file.electors:
            raise UsageProblem(
                "no electors are named",
                next="name the members that vote in `electors`, or a backend in [discovery]",
            )
        return frozenset(file.electors)
    if file.electors:
        raise UsageProblem(
            "electors and [discovery] are set, and both name the founders of the cluster",
            next="remove one of them",
        )
    return stand_ins(require_expected(file.discovery))


def stand_ins(expected: int) -> frozenset[str]:
    """Return placeholders for electors that are not found yet; they never answer."""
    return frozenset(f"(not found yet: {at} of {expected})" for at in range(1, expected + 1))


def _discovery(file: NodeFile, listen: Address, members: Mapping[str, Address]) -> Discovery | None:
    if file.discovery is None:
        return None
    return discovery_of(
        file.discovery, member=file.member, cluster=file.cluster, listen=listen, members=members
    )


def _digest(options: Mapping[str, Any]) -> str:
    """Return the digest of the options that must be the same in all members (I2)."""
    if not options:
        return "default"
    said = repr(sorted((name, repr(value)) for name, value in options.items()))
    return sha256(said.encode()).hexdigest()[:16]
