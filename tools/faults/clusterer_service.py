"""A service for torture: its data are a label, equal labels are equal data, and it is on disk.

Real: the process of its node, the files, what is told between nodes.  Simulated: that there is no
broker; a joining node takes the label that a running one says.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from attrs import define, field

from joinproto.clusterer.messages import Boot
from joinproto.clusterer.running.service import Booting, ServiceFailed, ServiceStatus


@define
class Labelled:
    """`settings`: `seconds` that each deed takes."""

    node: str
    data: Path
    settings: Mapping[str, str] = field(factory=dict)
    _runs: bool = False

    @property
    def _file(self) -> Path:
        return self.data / "label"

    def boot(self, booting: Booting) -> None:
        self._work()
        labels = {says["label"] for says in booting.running.values() if "label" in says}
        if self._file.exists():
            if booting.how is Boot.OWN and labels - {self._file.read_text()}:
                raise ServiceFailed("its data are not those of who runs", next="wipe one of them")
        elif labels:
            self._write(min(labels))
        elif booting.how in (Boot.JOIN, Boot.OWN):
            raise ServiceFailed("nobody runs", next="it asks again")
        else:
            self._write(f"{self.node}-{token_hex(4)}")
        self._runs = True

    def stop(self, *, leaves: bool) -> None:
        self._work()
        self._runs = False

    def wipe(self) -> None:
        self._work()
        if self.data.exists():
            shutil.rmtree(self.data)

    def status(self) -> ServiceStatus:
        says = {"label": self._file.read_text()} if self._file.exists() else {}
        return ServiceStatus(runs=self._runs, says=says)

    def forget(self, nodes: frozenset[str]) -> None:
        """A label has no members."""

    def end(self) -> None:
        """Nothing of it is left."""

    def _work(self) -> None:
        time.sleep(float(self.settings.get("seconds", "0")))

    def _write(self, label: str) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        new = self.data / "label.new"
        new.write_text(label)
        new.replace(self._file)
