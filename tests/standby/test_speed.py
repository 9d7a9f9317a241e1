"""The measurement of messages per second, on a machine without RabbitMQ."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("proton")

from tools.failover import rabbitmq, speed


def test_a_measurement_names_rabbitmq_as_left_out_if_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other systems are measured nevertheless."""
    asked: list[Any] = []

    def measure(*given: Any) -> dict[str, float]:
        asked.append(given[-1])
        return {"one_backup_share": 0.8}

    monkeypatch.setattr(rabbitmq, "is_installed", lambda: False)
    monkeypatch.setattr(speed, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["speed", "--beside", "rabbitmq"])

    assert 0 == speed.main()
    assert [None] == asked
    assert "left out: rabbitmq-server is not installed" in capsys.readouterr().err
