"""Batches: a member's requests to its host."""

from __future__ import annotations

import pytest

from joinproto.join.messages import Batch, Closing, Refusal, Sent, Stop, Welcome
from joinproto.join.store import StoreRecord


@pytest.mark.parametrize(
    "batch",
    [
        Batch(close=Closing.NO_MAJORITY),
        Batch(persist=StoreRecord(store_id="a'")),
        Batch(sends=(Sent("b", Welcome("view")),)),
        Batch(actions=(Stop(is_clean=False),)),
        Batch(events=(Refusal("b", "it refuses us"),)),
    ],
)
def test_a_batch_with_a_single_request_is_not_empty(batch: Batch) -> None:
    """A host performs batches until one is empty, so a single request must count."""
    assert batch
    assert not Batch()
