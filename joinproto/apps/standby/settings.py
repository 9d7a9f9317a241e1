"""broker.toml: the configuration of a broker, read and validated before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from attrs import evolve, field, frozen

from joinproto.codec import toml_file
from joinproto.codec.json_form import filled
from joinproto.codec.marks import AtLeast, Duration
from joinproto.errors import UsageProblem
from joinproto.host.process.control import require_place
from joinproto.net.addresses import Address
from joinproto.net.network import Network
from joinproto.net.security import (
    Proofs,
    require_apart,
    require_distinct,
    require_protected,
    require_times,
)
from joinproto.net.tls import TlsFiles
from joinproto.standby.catch_up import Order
from joinproto.standby.replicates import Default, Level

ADVICE = "docs/standby.md has an example of the file"
VERSIONS = (2, 2)
"""The versions of sessions between brokers.  Version 1 had no proofs."""
EARLIER = "version 1 of sessions between brokers is not supported: upgrade all brokers at once"
UNSENT_BYTES_MAX = 256 << 20
"""A session with more unsent bytes is ended; the other broker then reconnects and catches up."""


@frozen(kw_only=True)
class QueueFile:
    """A queue that is declared at the start.  `replicate`: None means the default's level."""

    durable: bool = True
    replicate: Level | None = None


@frozen(kw_only=True)
class Defaults:
    """Defaults of queues.  `create`: a link to a queue that does not exist declares the queue.

    `durable`, `replicate`: the properties of such a queue.
    """

    create: bool = True
    durable: bool = True
    replicate: Default = Default.ALL


@frozen(kw_only=True)
class Timing:
    """Times, in seconds.

    `backups`: how long a new primary waits for the backups that were up to date (H8) before it
    continues without them.  `heartbeat`: the time between two heartbeats of a session.  `silence`:
    the time after which a silent session ends; a primary then goes on without that backup.
    `retry`: the time between two attempts to reach a broker.
    """

    backups: Duration = 10.0
    heartbeat: Duration = 0.5
    silence: Duration = 3.0
    retry: Duration = 0.2


@frozen(kw_only=True)
class Copying:
    """The catch-up of backups (H5).

    `order`: a catch-up in the order "fifo" may never end; it exists for comparison.  `per_second`:
    the most messages a second to each backup; None means no limit.
    """

    order: Order = Order.LIFO
    per_second: Annotated[float | None, AtLeast(1)] = None


@frozen(kw_only=True)
class BrokerFile:
    """The file before its validation; its paths are relative to its directory."""

    broker: str
    cluster: str
    data: str
    clients: str
    brokers: dict[str, str]
    public: str | None = None
    manager: Literal["outside", "built-in"] = "outside"
    total_failure: Literal["wait", "continue"] = "wait"
    chain: dict[str, str] = field(factory=dict)
    control: str | None = None
    http: str | None = None
    events: str | None = None
    insecure: list[str] = field(factory=list)
    security: Proofs = field(factory=Proofs)
    queues: dict[str, QueueFile] = field(factory=dict)
    defaults: Defaults = field(factory=Defaults)
    copying: Copying = field(factory=Copying)
    timing: Timing = field(factory=Timing)


@frozen(kw_only=True)
class Settings:
    """Validated settings of a broker.

    `brokers`: the address of each broker.  `secret`, `tls`: prove the broker's identity to others.
    `chain`: the address of each broker as a member of the view chain; empty if the manager is
    outside.  `continues`: whether, after a total failure, the brokers continue by themselves if all
    stores were seen and one is proven to be the last primary's.
    """

    broker: str
    cluster: str
    data: Path
    control: Path
    clients: Address
    public: Address
    brokers: Mapping[str, Address]
    chain: Mapping[str, Address]
    secret: bytes = field(repr=False)
    tls: TlsFiles | None
    continues: bool
    http: Address | None
    events: Path | None
    queues: Mapping[str, QueueFile]
    defaults: Defaults
    copying: Copying
    timing: Timing

    @property
    def mesh(self) -> Network:
        """Return the network of the sessions between brokers."""
        return evolve(
            self.network(self.brokers),
            # The name differs from the chain's: a caller that confuses the two ports is refused.
            cluster_name=f"{self.cluster} (sessions)",
            queue_bytes=UNSENT_BYTES_MAX,
            versions=VERSIONS,
            only_these=True,
            backoff=(self.timing.retry, self.timing.retry),
            earlier=EARLIER,
        )

    def network(self, ports: Mapping[str, Address]) -> Network:
        """Return the network of all brokers, in which each listens at its address in `ports`."""
        return Network(
            member=self.broker,
            cluster_name=self.cluster,
            electors=frozenset(self.brokers),
            listen=ports[self.broker],
            addresses={name: at for name, at in ports.items() if name != self.broker},
            silence=self.timing.silence,
            secret=self.secret,
            tls=self.tls,
            is_insecure=True,
        )

    @property
    def others(self) -> dict[str, Address]:
        return {name: at for name, at in self.brokers.items() if name != self.broker}


def read_settings(path: Path) -> Settings:
    """Return the settings in a file; raises `UsageProblem` that names the place in it."""
    return toml_file.read_settings(path, BrokerFile, settings_of, next=ADVICE)


def settings_of(file: BrokerFile, top: Path) -> Settings:
    """Return the settings; raises `UsageProblem`.  `top`: the directory of relative paths."""
    _require_names(file)
    require_times(file.timing.silence, file.timing.heartbeat, "a session")
    brokers = {name: Address.parse(text) for name, text in file.brokers.items()}
    clients = Address.parse_local(file.clients)
    http = None if file.http is None else Address.parse_local(file.http)
    chain = _chain(file)
    ports = {
        "clients": clients,
        "peers": brokers[file.broker],
        "http": http,
        "chain": chain.get(file.broker),
    }
    secret, tls = file.security.secret(top), file.security.tls(top)
    require_apart(ports)
    proved = {"peers", "chain"} if secret or tls else set[str]()
    require_protected(ports, file.insecure, proved=proved, next_of=_how_to_protect)
    tables = {"brokers": brokers, "chain": chain}
    require_distinct(
        {f"{table}.{name}": at for table, all_ in tables.items() for name, at in all_.items()},
        "broker",
    )
    control = top / file.data / "control.sock" if file.control is None else top / file.control
    require_place(control)
    return filled(
        Settings,
        file,
        data=top / file.data,
        control=control,
        clients=clients,
        public=clients if file.public is None else Address.parse(file.public),
        brokers=brokers,
        chain=chain,
        secret=secret,
        tls=tls,
        continues=file.total_failure == "continue",
        http=http,
        events=None if file.events is None else top / file.events,
    )


def _chain(file: BrokerFile) -> dict[str, Address]:
    """Return the addresses of the view chain's members; empty if the manager is outside."""
    if file.manager == "outside":
        if file.total_failure == "continue":
            raise UsageProblem(
                'total_failure is "continue", but the manager is outside',
                next='write manager = "built-in", or leave total_failure out: an operator chooses',
            )
        if file.chain:
            raise UsageProblem(
                "[chain] is set, but the manager is outside",
                next='write manager = "built-in", or leave [chain] out',
            )
        return {}
    if file.chain.keys() != file.brokers.keys():
        raise UsageProblem(
            f"[chain] names {', '.join(sorted(file.chain)) or 'no broker'}, but [brokers] names"
            f" {', '.join(sorted(file.brokers))}",
            next="give an address of each broker under [chain], for the built-in manager",
        )
    return {name: Address.parse(text) for name, text in file.chain.items()}


def _require_names(file: BrokerFile) -> None:
    for name in (file.broker, file.cluster, *file.brokers, *file.queues):
        if not name or not name.isprintable() or len(name) > 200:
            raise UsageProblem(f"{name!r} is not a name", next="give 1 to 200 printable characters")
    for name in file.brokers:
        if "/" in name:
            raise UsageProblem(
                f"{name!r} is not the name of a broker", next="name a broker without a slash"
            )
    if file.broker not in file.brokers:
        raise UsageProblem(
            f"no address of this broker, {file.broker}, under [brokers]",
            next="name each broker and its HOST:PORT there, this broker included",
        )


def _how_to_protect(name: str) -> str:
    proof = "a secret_file or TLS under [security], " if name in ("peers", "chain") else ""
    return f'use {proof}127.0.0.1, or permit the unprotected port: insecure = ["{name}"]'
