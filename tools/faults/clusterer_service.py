"""A service for `tools/torture`: a broker that is a process, and keeps messages in a file.

The processes of broker and node are real, and so are files, messages between nodes, and the
messages that a joining node copies from a running node.  Brokers do not replicate later messages: a
test publishes each message at all nodes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from attrs import define, field

from joinproto.apps.clusterer.service import Booting, ServiceFailed, ServiceStatus, empty
from joinproto.clusterer.messages import Boot
from tools.faults import clusterer_broker
from tools.faults.clusterer_broker import ask

START_SECONDS = 20.0


@define
class Labelled:
    """The service.  `settings`: `seconds`, the time that each action takes."""

    node: str
    data: Path
    settings: Mapping[str, str] = field(factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def _file(self) -> Path:
        return self.data / "messages"

    @property
    def _socket(self) -> str:
        return str(self.data.resolve().parent / "broker.sock")

    def boot(self, booting: Booting) -> None:
        self._work()
        running = {says["label"]: says["socket"] for says in booting.running.values() if says}
        if self._file.exists():
            if booting.how is Boot.OWN and set(running) - {self._label()}:
                raise ServiceFailed(
                    "its data are not those of the running nodes", next="wipe one of them"
                )
            self._start("-")
        elif running:
            self._start("-", running[min(running)])
        elif booting.how in (Boot.JOIN, Boot.OWN):
            raise ServiceFailed("no node reports its data", next="the node asks again")
        else:
            self._start(f"{self.node}-{token_hex(4)}")

    def stop(self, *, leaves: bool) -> None:
        self._work()
        ask(self._socket, "end")
        if self._process is not None:
            self._process.wait(START_SECONDS)
            self._process = None

    def wipe(self) -> None:
        self._work()
        empty(self.data)

    def status(self) -> ServiceStatus:
        runs = self._process is not None and self._process.poll() is None
        if not runs or not self._file.exists():
            return ServiceStatus(runs=runs)
        return ServiceStatus(runs=True, says={"label": self._label(), "socket": self._socket})

    def forget(self, nodes: frozenset[str]) -> None:
        """Do nothing: the service has no members."""

    def end(self) -> None:
        """Do nothing: `stop` has already ended the process."""

    def _label(self) -> str:
        return self._file.read_text().partition("\n")[0]

    def _start(self, label: str, source: str | None = None) -> None:
        words = [sys.executable, "-I", "-S", str(clusterer_broker.__file__)]
        words += [str(self.data.resolve().parent), label, *([] if source is None else [source])]
        self._process = process = subprocess.Popen(words, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while ask(self._socket, "copy") is None:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                process.wait()
                raise ServiceFailed("its broker does not answer", next="the node tries again")
            time.sleep(0.02)

    def _work(self) -> None:
        time.sleep(float(self.settings.get("seconds", "0")))
