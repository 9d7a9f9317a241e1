"""A process that writes: `python -m tests.store.writer DIRECTORY [COUNT]`.

The process creates or opens the store and writes one ballot after another.  After each write it
prints the number of the ballot.  A test that kills the process therefore knows which record must
be in the store: the one with the last printed number, or the next one.
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
    """Return the first record, which has three views, so that the file is not tiny."""
    return evolve(life()[7], promised=None)


def write(path: Path, count: int) -> None:
    """Write `count` more records, and print the number of each."""
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
