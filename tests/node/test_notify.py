"""A node's notifications to a service manager, here to a socket like that of systemd."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from joinproto.host.process import notify
from tools.faults.nodes import Fleet, until

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "docs" / "examples" / "joinproto.service"


@pytest.mark.parametrize("name", ["/notify", "@abstract"])
def test_a_notification_reaches_the_service_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = f"{tmp_path}{name}" if name.startswith("/") else f"@{tmp_path.name}{name[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path.replace("@", "\0"))
        monkeypatch.setattr(notify, "ENVIRONMENT", {"NOTIFY_SOCKET": path})

        notify.notify("READY=1")

        assert b"READY=1" == manager.recv(100)


@pytest.mark.parametrize("path", [None, "", "relative", "/nowhere/at/all"])
def test_without_a_service_manager_no_notification_is_sent(
    monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    given = {} if path is None else {"NOTIFY_SOCKET": path}
    monkeypatch.setattr(notify, "ENVIRONMENT", given)

    notify.notify("READY=1")


@pytest.mark.landing
def test_a_node_reports_that_it_is_ready_its_phase_and_that_it_stops(
    fleet: Callable[..., Fleet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(0.01)

        def has(text: bytes) -> bool:
            with suppress(TimeoutError):
                while True:
                    heard.append(manager.recv(1_000))
            return any(text in one for one in heard)

        three = fleet()
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        # The socket holds ten texts, those of ten seconds, and drops later ones.
        monkeypatch.setenv("WATCHDOG_USEC", "2000000")
        three["a"].start()
        monkeypatch.delenv("NOTIFY_SOCKET")
        until(lambda: has(b"READY=1"))
        assert not any(b"STATUS=active" in one for one in heard), "it is active without the others"
        three.start("bc")
        until(lambda: has(b"STATUS=active"))
        until(lambda: has(b"WATCHDOG=1"))
        three["a"].signal(signal.SIGTERM)
        until(lambda: has(b"STOPPING=1"))
        assert 0 == three["a"].wait()


@pytest.mark.needs("systemd-analyze")
def test_the_unit_file_is_valid_and_hardened(tmp_path: Path) -> None:
    unit = tmp_path / "joinproto.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/joinproto", shutil.which("true") or ""))

    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (verified.returncode, verified.stderr)
    for line in ("Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict"):
        assert line in UNIT.read_text().splitlines()
