"""Small pieces, so that a schedule of a few writes meets every branch of a journal."""

from __future__ import annotations

import pytest

from joinproto.apps.standby.keeping import disk as keeping
from joinproto.durable.journal import index
from joinproto.log import dropping, rebasing, snapshot
from tests.durable.damage import BASE_BYTES


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten an index's blocks, a copy's pieces, a base and a broker's journal."""
    monkeypatch.setattr(index, "STRETCH_BYTES", 300)
    monkeypatch.setattr(keeping, "COMPACT_BYTES", 1_500)
    monkeypatch.setattr(rebasing, "BASE_BYTES_MAX", BASE_BYTES)
    for module in (keeping, dropping, snapshot):
        monkeypatch.setattr(module, "PIECE_BYTES", 300)
