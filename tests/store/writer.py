"""A process that writes: `python -m tests.store.writer DIRECTORY [COUNT]`.

It makes or opens the store and writes ballot after ballot.  After each write that returned
it says its number on standard output.  So a test that kills it knows what must be there: the
last number said, or the next one.
"""

import os
import sys
from pathlib import Path

from attrs import evolve

from joinproto.errors import StoreError, StoreMissing
from joinproto.join.store import Ballot, StoreRecord
from joinproto.store.handle import Store, create_store, open_store
from tests.store.records import life


def number_of(record: StoreRecord) -> int:
    """Return the number of the write that made this record, 0 for the first."""
    return 0 if record.promised is None else record.promised.round


def first() -> StoreRecord:
    """Return the record at the making: one with three views, so that the file is not tiny."""
    return evolve(life()[7], promised=None)


def write(path: Path, count: int) -> None:
    """Write `count` records more than there are, and say each."""
    try:
        store: Store = open_store(path)
    except StoreMissing:
        store = create_store(path, first(), member="a")
    with store:
        _say(number_of(store.record))
        for _ in range(count):
            number = number_of(store.record) + 1
            store.write(evolve(store.record, promised=Ballot(number, "b'")))
            _say(number)


def _say(number: int) -> None:
    os.write(1, b"%d\n" % number)


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
    except StoreError as error:
        sys.exit(f"{type(error).__name__}: {error}")
