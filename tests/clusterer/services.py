"""Services that do what none should: nodes are to end with a word, and not to wait for ever."""

from __future__ import annotations

import time

from joinproto.apps.clusterer.service import Booting, ServiceStatus
from tools.faults.clusterer_service import Labelled


class BootBreaks(Labelled):
    """Its boot raises what nobody has told of."""

    def boot(self, booting: Booting) -> None:
        raise KeyError("electors")


class StatusBreaks(Labelled):
    """It cannot say what it is."""

    def status(self) -> ServiceStatus:
        raise KeyError("says")


class NoEnd:
    """It lacks what a node calls when it ends."""

    def __init__(self, **_: object) -> None:
        """Take what every service takes."""

    boot = stop = wipe = status = forget = print


class StopHangs(Labelled):
    """Once it runs it does not end."""

    def stop(self, *, leaves: bool) -> None:
        if self.status().runs:
            time.sleep(60)
