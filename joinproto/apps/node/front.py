"""The front of a node: what its clients speak to, and what is made of the log."""

from __future__ import annotations

from typing import Protocol

from joinproto.host.cluster import Cluster
from joinproto.log.replicated import Application, ReplicatedLog


class Front(Application, Protocol):
    """An application of the log with a port of its own; `joinproto.apps.node.clients` has one."""

    @property
    def count(self) -> int:
        """How many clients are connected."""

    @property
    def acknowledged(self) -> int:
        """How many of their frames were acknowledged."""

    @property
    def opened_views(self) -> int:
        """How often it began to serve."""

    async def serve(self, cluster: Cluster, log: ReplicatedLog) -> None:
        """Serve clients while the log is open, until cancelled."""
