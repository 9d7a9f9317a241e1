"""Services that misbehave: their nodes must end with a message, and not wait for ever."""

from __future__ import annotations

import time
from collections.abc import Mapping

from joinproto.apps.clusterer.service import Booting, NotFirst, ServiceStatus
from tools.faults.clusterer_service import Labelled


class BootBreaks(Labelled):
    """A service whose boot raises an error that no code handles."""

    def boot(self, booting: Booting) -> None:
        raise KeyError("electors")


class StatusBreaks(Labelled):
    """A service whose `status` raises an error that no code handles."""

    def status(self) -> ServiceStatus:
        raise KeyError("says")


class Counted(Labelled):
    """A service that reports how many messages its disk has, and lets nodes with more go first."""

    def holds(self) -> Mapping[str, str]:
        return {"messages": str(self._count())}

    def look(self, others: Mapping[str, Mapping[str, str] | None]) -> None:
        for name, said in others.items():
            if said is None or int(said["messages"]) > self._count():
                raise NotFirst(f"{name} has more", next="wait for it")

    def _count(self) -> int:
        return len(self._file.read_text().splitlines()) if self._file.exists() else 0


class NoEnd:
    """A service that lacks the method `end`."""

    def __init__(self, **_: object) -> None:
        """Accept the arguments of every service."""

    boot = stop = wipe = status = forget = print


MAY_STOP = "may-stop"


class StopWaits(Labelled):
    """A service that, once it runs, stops only if the file MAY_STOP is next to its data."""

    def stop(self, *, leaves: bool) -> None:
        file = self.data.parent / MAY_STOP
        while self.status().runs and not file.exists():
            time.sleep(0.02)
        super().stop(leaves=leaves)


class StopHangs(Labelled):
    """A service that, once it runs, takes a minute to stop."""

    def stop(self, *, leaves: bool) -> None:
        if self.status().runs:
            time.sleep(60)
