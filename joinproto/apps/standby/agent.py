"""The OCF resource agent: the program that a manager outside (Pacemaker) calls.

    OCF_RESKEY_config      the broker's configuration
    exit codes             0 done; 1 failed or refused; 2 bad arguments; 5 not installed;
                           6 wrong configuration; 7 not running; 8 running as primary; 9 a primary
                           that does not answer

A refused promotion exits with 1, so that the manager tries the next broker.  If Pacemaker's tools
are installed, each monitor also sets this broker's promotion score (`crm_attribute --promotion`);
Pacemaker promotes no broker without a score.

Source: hot standby, H3, H10; Open Cluster Framework, resource agent API 1.1.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.apps.standby.keeping.form import FOLDER, NAMES, BrokerRecord, slot_of
from joinproto.apps.standby.settings import Settings, read_settings
from joinproto.durable.filesystem import REAL, let_go
from joinproto.durable.lock import LockState, look_at_lock
from joinproto.errors import EnvironmentProblem, JoinprotoError, StoreError, not_installed
from joinproto.host.process.control import ask_control
from joinproto.standby.broker import Role

CONFIG = "OCF_RESKEY_config"
TIMEOUT = "OCF_RESKEY_CRM_meta_timeout"
"""The variable with the milliseconds that the manager gives an action."""
DEFAULT_SECONDS = 20.0
STOP_SHARE = 0.6
"""The share of the time of `stop` after which the process is killed.

After a failed stop the manager fences the whole machine.
"""
PAUSE_SECONDS = 0.05


class Exit(IntEnum):
    """Exit codes of OCF."""

    SUCCESS = 0
    GENERIC = 1
    ARGS = 2
    UNIMPLEMENTED = 3
    PERMISSION = 4
    INSTALLED = 5
    CONFIGURED = 6
    NOT_RUNNING = 7
    RUNNING_PRIMARY = 8
    FAILED_PRIMARY = 9


PRIMARY = (Role.PRIMARY.value, Role.RECOVERING.value)
SCORES = {Role.PRIMARY: 1_000, Role.RECOVERING: 1_000, Role.BACKUP: 100, Role.CONNECTING: 10}
"""The promotion score of each role that may be promoted; other roles get no score."""


@frozen
class ActionResult:
    """The result of an action.  `why`: for the manager's log."""

    code: Exit
    why: str = ""


@frozen
class Agent:
    """One call of the agent.

    `settings`: of this machine's broker.  `config`: the path of their file.  `seconds`: the most
    time for the action.
    """

    settings: Settings
    config: Path
    seconds: float = DEFAULT_SECONDS

    def start(self) -> ActionResult:
        """Start the broker, and return when it answers."""
        if self._status() is not None:
            return ActionResult(Exit.SUCCESS, "the broker runs already")
        if self._pid() is not None:
            return ActionResult(Exit.GENERIC, "a process has the store open, but does not answer")
        self.settings.data.mkdir(mode=0o750, exist_ok=True)
        log = self.settings.data / "broker.log"
        words = ["-m", "joinproto", "standby", "run", "--config", str(self.config)]
        # The broker gets its own session, so that it outlives the agent.
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, *words],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        codes: list[int] = []

        def is_over() -> bool:
            found, status = os.waitpid(pid, os.WNOHANG)
            codes.extend([os.waitstatus_to_exitcode(status)] if found else [])
            return bool(codes) or self._status() is not None

        ended = self._until(is_over)
        if codes:
            return ActionResult(Exit.GENERIC, f"the broker ended with code {codes[0]}; see {log}")
        if not ended:
            return ActionResult(Exit.GENERIC, "the broker does not answer in time")
        self._score()
        return ActionResult(Exit.SUCCESS)

    def stop(self) -> ActionResult:
        """Stop the broker; kill its process if that takes too long."""
        pid = self._pid()
        if pid is None:
            return ActionResult(Exit.SUCCESS, "the broker does not run")
        for number, share in ((signal.SIGTERM, STOP_SHARE), (signal.SIGKILL, 1 - STOP_SHARE)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return ActionResult(Exit.SUCCESS)
            except PermissionError:
                return ActionResult(Exit.PERMISSION, f"process {pid} belongs to another user")
            if self._until(lambda: self._pid() is None, self.seconds * share):
                return ActionResult(Exit.SUCCESS, "" if number is signal.SIGTERM else "killed it")
        return ActionResult(Exit.GENERIC, f"process {pid} does not end")

    def monitor(self) -> ActionResult:
        """Report whether the broker runs, and in which role."""
        found = self._status()
        if found is not None:
            self._score()
            is_primary = found["role"] in PRIMARY
            return ActionResult(Exit.RUNNING_PRIMARY if is_primary else Exit.SUCCESS, found["role"])
        if self._pid() is None:
            return ActionResult(Exit.NOT_RUNNING)
        kept = self._kept()
        was_primary = kept is not None and kept.is_primary
        code = Exit.FAILED_PRIMARY if was_primary else Exit.GENERIC
        return ActionResult(code, "the broker runs, but does not answer")

    def promote(self) -> ActionResult:
        """Promote the broker; a refusal is a failure, so that the manager tries another broker."""
        found = self._ask("promote")
        if found is None:
            return ActionResult(Exit.NOT_RUNNING, "the broker does not run")
        if found.get("verdict") not in ("accepted", "ignored"):
            return ActionResult(Exit.GENERIC, f"refused ({found.get('rule')}): {found.get('why')}")
        if not self._until(lambda: (self._status() or {}).get("role") in PRIMARY):
            return ActionResult(Exit.GENERIC, "the broker did not become primary in time")
        self._score()
        return ActionResult(Exit.SUCCESS, str(found.get("why", "")))

    def demote(self) -> ActionResult:
        """Tell the broker to be a backup again."""
        found = self._ask("demote")
        if found is None:
            return ActionResult(Exit.NOT_RUNNING, "the broker does not run")
        if not self._until(lambda: (self._status() or {}).get("role") not in (None, *PRIMARY)):
            return ActionResult(Exit.GENERIC, "the broker is still primary")
        self._score()
        return ActionResult(Exit.SUCCESS)

    # -- state -----------------------------------------------------------------------------

    def _ask(self, request: str) -> dict[str, Any] | None:
        try:
            return ask_control(self.settings.control, request)
        except EnvironmentProblem:
            return None

    def _status(self) -> dict[str, Any] | None:
        found = self._ask("status")
        return found if found is not None and "role" in found else None

    def _pid(self) -> int | None:
        """Return the id of the process that has the store open; None if there is none."""
        try:
            folder = REAL.open_directory(self.settings.data / FOLDER)
        except OSError:
            return None
        try:
            lock = look_at_lock(REAL, folder)
        finally:
            let_go(REAL, folder)
        if lock.state is not LockState.HELD or lock.holder is None:
            return None
        return int(lock.holder.pid) if lock.holder.pid.isdecimal() else None

    def _kept(self) -> BrokerRecord | None:
        try:
            at = self.settings.data / NAMES[0]
            return slot_of(at, at.read_bytes()).contents
        except OSError:
            return None

    def _until(self, holds: Callable[[], bool], seconds: float | None = None) -> bool:
        end = time.monotonic() + (self.seconds if seconds is None else seconds)
        while not holds():
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE_SECONDS)
        return True

    def _score(self) -> None:
        """Set this broker's promotion score, if Pacemaker's tools are installed."""
        program = shutil.which("crm_attribute")
        if program is None:
            return
        found = self._status() or {}
        score = SCORES.get(Role(found["role"])) if "role" in found else None
        if found.get("dropped") or (found.get("store") == "dirty" and score == 10):
            score = None
        value = ["--delete"] if score is None else ["--update", str(score)]
        subprocess.run([program, "--promotion", "-l", "reboot", *value], check=False)


ACTIONS: Mapping[str, Callable[[Agent], ActionResult]] = {
    "start": Agent.start,
    "stop": Agent.stop,
    "monitor": Agent.monitor,
    "promote": Agent.promote,
    "demote": Agent.demote,
}


def call(action: str, environment: Mapping[str, str]) -> ActionResult:
    """Perform an action that a manager asks for with this environment; return its result."""
    if action == "meta-data":
        return ActionResult(Exit.SUCCESS, METADATA)
    if action not in ACTIONS and action != "validate-all":
        known = ", ".join((*ACTIONS, "validate-all", "meta-data"))
        return ActionResult(Exit.UNIMPLEMENTED, f"no action {action!r}; there are {known}")
    for package in ("proton", "anyio"):
        if find_spec(package) is None:
            return ActionResult(Exit.INSTALLED, str(not_installed(package, "standby")))
    config = environment.get(CONFIG, "")
    if not config:
        return ActionResult(Exit.CONFIGURED, f"{CONFIG} is not set; set it to broker.toml's path")
    try:
        settings = read_settings(Path(config))
        seconds = int(environment.get(TIMEOUT, "")) / 1_000 if TIMEOUT in environment else None
    except JoinprotoError as error:
        return ActionResult(Exit.CONFIGURED, str(error.message))
    except ValueError:
        return ActionResult(Exit.ARGS, f"{TIMEOUT} is not a number: {environment[TIMEOUT]!r}")
    if action == "validate-all":
        return ActionResult(Exit.SUCCESS, f"{config} is valid, for broker {settings.broker}")
    agent = Agent(settings, Path(config).resolve(), _spendable(seconds))
    try:
        return ACTIONS[action](agent)
    except PermissionError as error:
        return ActionResult(Exit.PERMISSION, str(error))
    except (OSError, StoreError) as error:
        return ActionResult(Exit.GENERIC, str(error))


def _spendable(seconds: float | None) -> float:
    """Return the seconds that an action may take; it must answer before the manager gives up."""
    return DEFAULT_SECONDS if seconds is None else max(1.0, 0.8 * seconds)


METADATA = """<?xml version="1.0"?>
<!DOCTYPE resource-agent SYSTEM "ra-api-1.dtd">
<resource-agent name="joinproto-standby" version="1.0">
<version>1.0</version>
<longdesc lang="en">
A broker of joinproto's hot standby: one primary serves, backups follow it.  Use it as a promotable
clone.  A broker that would lose confirmed messages refuses its promotion.
</longdesc>
<shortdesc lang="en">A broker of joinproto's hot standby</shortdesc>
<parameters>
<parameter name="config" unique="1" required="1">
<longdesc lang="en">The path of the broker's configuration, broker.toml, on this machine.</longdesc>
<shortdesc lang="en">Configuration</shortdesc>
<content type="string" default="" />
</parameter>
</parameters>
<actions>
<action name="start" timeout="60s" />
<action name="stop" timeout="60s" />
<action name="monitor" timeout="20s" interval="10s" depth="0" role="Slave" />
<action name="monitor" timeout="20s" interval="9s" depth="0" role="Master" />
<action name="promote" timeout="60s" />
<action name="demote" timeout="60s" />
<action name="meta-data" timeout="5s" />
<action name="validate-all" timeout="20s" />
</actions>
</resource-agent>
"""
