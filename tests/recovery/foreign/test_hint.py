"""A directory above or below a store gets a hint where the store may be."""

import pytest

from joinproto.recovery.found import Format
from joinproto.recovery.gather import hint, reader_of


def test_each_format_has_a_reader() -> None:
    """Each reader has the names that found.py describes."""
    assert all(reader_of(kind).NAMES and callable(reader_of(kind).read) for kind in Format)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["store.status"], "directory above"),
        (["rabbit@h", "rabbit@h.pid", "rabbit@h-feature_flags"], "rabbit@h looks like"),
        (["mnesia"], "mnesia"),
        (["rabbit@h.pid"], ""),
        ([], ""),
    ],
)
def test_a_directory_above_or_below_a_store_gets_a_hint(entries: list[str], said: str) -> None:
    """The directory is one level too high or too low."""
    assert said in hint(entries)
    assert bool(said) == bool(hint(entries))
