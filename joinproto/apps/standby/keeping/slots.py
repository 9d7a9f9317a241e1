"""The two files of a broker's metadata: the current one, and the one before.  No I/O.

A broker never continues from the previous one: it would have forgotten its generation, or that it
was dropped.
"""

from __future__ import annotations

from pathlib import Path

from joinproto.apps.standby.keeping.form import PREVIOUS, BrokerRecord, unpacked
from joinproto.durable import record
from joinproto.durable.envelope import Validity
from joinproto.durable.record import ASK, META, Kind
from joinproto.errors import StoreError

Slot = record.Slot[BrokerRecord]
Slots = record.Slots[BrokerRecord]


def _went_back(current: BrokerRecord, previous: BrokerRecord) -> str:
    before = previous.view.generation
    is_older = before > current.view.generation
    return f"{PREVIOUS} is of generation {before}, and younger" if is_older else ""


KIND = Kind(name=META, decode=unpacked, went_back=_went_back, next=ASK)


def slot_of(path: Path, raw: bytes | None) -> Slot:
    """Return the slot of one file's bytes (None if the file is missing); never raises."""
    if raw is None:
        return Slot(path=path, validity=Validity.ABSENT)
    return record.judge(path, raw, KIND)


def refusal(slots: Slots) -> StoreError | None:
    """Return why no broker may run on these files, None if one may."""
    return record.refusal(slots, KIND)
