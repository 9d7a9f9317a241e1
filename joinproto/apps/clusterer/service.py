"""The interface of a managed service, and the input of a boot.

Its methods are called from one thread at a time, may take as long as they need, and raise
`ServiceFailed`.  Each may be called again after a crash during the call, and must then have the
same result: a service that is off can be stopped, and empty data can be wiped.

Source: Clusterer, U3 to U6.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from attrs import field, frozen

from joinproto.clusterer.messages import NO_NODES, Boot
from joinproto.durable.filesystem import reason
from joinproto.errors import PeerError


class ServiceFailed(PeerError):
    """The service failed a request; a boot is tried again."""


@frozen(kw_only=True)
class Booting:
    """How the service must boot.

    `nodes`, `ram`: all nodes, and the RAM nodes, of the config.  `running`: other nodes of the
    config whose service runs with that config, with the facts that each service reports.
    `members`: the members of the former cluster; `forget`: the members that no longer count.
    """

    how: Boot
    nodes: frozenset[str]
    ram: frozenset[str] = NO_NODES
    running: Mapping[str, Mapping[str, str]] = field(factory=dict)
    members: frozenset[str] = NO_NODES
    forget: frozenset[str] = NO_NODES


@frozen(kw_only=True)
class ServiceStatus:
    """The state of a service.  `says`: facts for the services of other nodes, and for operators.

    `paused`: another program has stopped the broker in a running service, and will start it again.
    """

    runs: bool
    paused: bool = False
    says: Mapping[str, str] = field(factory=dict)


class Service(Protocol):
    """A broker, or another service that has data and peers."""

    def boot(self, booting: Booting) -> None:
        """Start the service, and return when it runs.

        With `Boot.JOIN` the service has no data, and other nodes run.
        """

    def stop(self, *, leaves: bool) -> None:
        """Stop the service.  `leaves`: the next config does not have this node."""

    def wipe(self) -> None:
        """Remove the data; the service does not run."""

    def status(self) -> ServiceStatus:
        """Return the status; this should not take long."""

    def forget(self, nodes: frozenset[str]) -> None:
        """Remove these former members, which the config no longer has; the service runs."""

    def end(self) -> None:
        """Clean up after `stop`, before the node's process ends."""


class NotFirst(ServiceFailed):
    """Another node has, or may have, data that this node lacks, so the other must start first."""


@runtime_checkable
class Holder(Protocol):
    """A service that can report the contents of its disk, so that the node with most data starts
    first.
    """

    def holds(self) -> Mapping[str, str]:
        """Return facts about the data of the stopped service, for `look` of other nodes."""

    def look(self, others: Mapping[str, Mapping[str, str] | None]) -> None:
        """Return if this service may start before the others; raise `NotFirst` if it may not.

        `others`: the facts of each node that went down with this one; None without an answer.
        """


def holdings(service: Service) -> Mapping[str, str]:
    """Return facts about the disk of a stopped service; {} if the service is not a `Holder`."""
    return service.holds() if isinstance(service, Holder) else {}


def look(service: Service, others: Mapping[str, Mapping[str, str] | None]) -> None:
    """Call `look` of a service that is a `Holder`; raises its `NotFirst`."""
    if isinstance(service, Holder):
        service.look(others)


def spawned(
    what: str,
    words: Sequence[str],
    out: IO[bytes],
    environment: Mapping[str, str] | None = None,
    *,
    next: str,
) -> subprocess.Popen[bytes]:
    """Start a process in its own session, which writes to `out`; raises `ServiceFailed`."""
    try:
        return subprocess.Popen(
            list(words),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise ServiceFailed(f"{what}: {why}", next=next) from error


LOST_AND_FOUND = "lost+found"
"""A directory that some file systems have at their mount point; often only root may remove it."""


def empty(data: Path) -> None:
    """Remove the contents of a data directory, except `lost+found`; raises `ServiceFailed`.

    The directory itself stays, because it may be a mount point or a symbolic link, and a node whose
    data cannot be wiped could never join.  A missing directory is not an error.
    """
    try:
        for one in data.iterdir() if data.exists() else ():
            if one.name == LOST_AND_FOUND:
                continue
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink()
    except OSError as error:
        raise ServiceFailed(f"{data}: {reason(error)}", next="check the disk") from error
