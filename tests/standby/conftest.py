"""A broker in this process, for tests that ask for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinproto.apps.standby.core import Core
from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.settings import read_settings
from joinproto.host.eventlog import NoLog
from tools.failover.manager import Manager


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    """Give the broker `c` of three; it has started, and no other broker runs."""
    settings = read_settings(Manager.of(tmp_path, "abc").files["c"])
    with open_disk(settings.data, "c", brokers=("a", "b", "c")) as disk:
        made = Core(settings, disk, NoLog())
        made.start()
        yield made


@pytest.fixture
def proton() -> None:
    """Skip a test that starts brokers where they cannot speak AMQP."""
    pytest.importorskip("proton", reason="the extra `standby` is not installed")


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write without waiting for the disk: no test loses data that the operating system has."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)
