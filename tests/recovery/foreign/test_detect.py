"""Which program a directory belongs to."""

import pytest

from joinproto.errors import UsageProblem
from joinproto.recovery.foreign.detect import CHOICES, NAMES, detect, format_of, hint
from joinproto.recovery.found import Format
from joinproto.recovery.gather import reader_of


@pytest.mark.parametrize("kind", list(Format))
def test_every_file_of_a_format_tells_it(kind: Format) -> None:
    """One is enough; the rest may be lost."""
    assert [kind] * len(NAMES[kind]) == [detect([name, "other"]) for name in NAMES[kind]]


def test_nothing_known_is_no_format() -> None:
    """Nothing is guessed."""
    assert detect(["ibdata1", "store.status"]) is None


def test_two_formats_in_one_directory_are_the_operators_choice() -> None:
    """Nobody can tell from here which one counts."""
    with pytest.raises(UsageProblem, match="several formats"):
        detect(["grastate.dat", "cluster/store.status"])


def test_the_choices_are_all_formats_and_auto() -> None:
    """`--format`."""
    assert [None, *Format] == [format_of(choice) for choice in CHOICES]
    with pytest.raises(UsageProblem, match="no format 'mysql'"):
        format_of("mysql")


def test_each_reader_says_its_format_and_files() -> None:
    """The three names of a reader; see found.py."""
    assert list(Format) == [reader_of(kind).FORMAT for kind in Format]
    assert all(NAMES[kind] == reader_of(kind).NAMES for kind in Format)


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
def test_a_near_miss_gets_a_hint(entries: list[str], said: str) -> None:
    """One level too high or too low."""
    assert said in hint(entries)
    assert bool(said) == bool(hint(entries))
