"""The interface of a managed service, and the input of a boot.

They are called from one thread at a time, may take as long as they need, and raise
`ServiceFailed`.  Each may be called again after a crash in the middle of it, and must then come to
the same end: stopping what is off, wiping what is empty.

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
    """The manner in which the service must boot.

    `nodes`, `ram`: of the config.  `running`: other nodes of the config whose service runs with it,
    with each service's own facts.  `members`: of the former cluster; `forget`: those of them that
    do no longer count.
    """

    how: Boot
    nodes: frozenset[str]
    ram: frozenset[str] = NO_NODES
    running: Mapping[str, Mapping[str, str]] = field(factory=dict)
    members: frozenset[str] = NO_NODES
    forget: frozenset[str] = NO_NODES


@frozen(kw_only=True)
class ServiceStatus:
    """The state of the broker.  `says`: facts for the services of other nodes, and for operators.

    `paused`: it is there, and something else has stopped its broker, and will start it again.
    """

    runs: bool
    paused: bool = False
    says: Mapping[str, str] = field(factory=dict)


class Service(Protocol):
    """A broker, or whatever has data and peers."""

    def boot(self, booting: Booting) -> None:
        """Return when it runs.  With `Boot.JOIN` there are no data, and others run."""

    def stop(self, *, leaves: bool) -> None:
        """Return when it has stopped.  `leaves`: the next config does not have it."""

    def wipe(self) -> None:
        """Throw the data away; it does not run."""

    def status(self) -> ServiceStatus:
        """Return the status; it should not take long."""

    def forget(self, nodes: frozenset[str]) -> None:
        """Remove these former members, which the config no longer has; it runs."""

    def end(self) -> None:
        """The node's process ends, after a stop."""


class NotFirst(ServiceFailed):
    """Another node has data that this one lacks, or may have; it lets the others go first."""


@runtime_checkable
class Holder(Protocol):
    """A service that can report the contents of its disk, so that the node with most data starts
    first.
    """

    def holds(self) -> Mapping[str, str]:
        """Return facts about its data while it does not run, for `look` of another node's
        service.
        """

    def look(self, others: Mapping[str, Mapping[str, str] | None]) -> None:
        """Return where it may start before the others; raises `NotFirst`.

        `others`: the facts of the nodes that went down with it; None means one that did not say.
        """


def holdings(service: Service) -> Mapping[str, str]:
    """Return facts about the disk of a stopped service, {} if it cannot tell."""
    return service.holds() if isinstance(service, Holder) else {}


def look(service: Service, others: Mapping[str, Mapping[str, str] | None]) -> None:
    """Return where a service may start before the others, as far as it can tell."""
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
    """Return a process in a session of its own, which writes to `out`; raises `ServiceFailed`."""
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
"""Entries that a file system has at its mount point; often only root may remove them."""


def empty(data: Path) -> None:
    """Remove all that is in a data directory, and leave the directory itself.

    It may be a mount point or a symbolic link, which cannot be removed; a node whose data cannot be
    wiped could never join.  Where nothing is there, nothing is done.  Raises `ServiceFailed`.
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
