"""A damaged file is never read as another record, and always reported.

A member must not go on from the previous generation: it would have forgotten its later promises.
So every damage of the current file is refused, and shown.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.durable.envelope import Envelope, Validity, seal
from joinproto.errors import StoreCorrupt, StoreError, StoreForeign, StoreMissing, StoreNewer
from joinproto.store.codec import encode
from joinproto.store.contents import Contents
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER, PREVIOUS, Slot, Slots, judge, problems, refusal
from tests.store.inspection import inspect
from tests.store.records import life

LIFE = life()
Damages = Callable[[bytes], Iterator[bytes]]
NOWHERE = Path("/nowhere") / FOLDER


def image(number: int, *, generation: int = 7) -> bytes:
    """Return the file that holds this record of the life."""
    return seal(Envelope(generation, encode(Contents(member="a", record=LIFE[number]))))


def slots_of(current: bytes, previous: bytes) -> Slots:
    """Return the verdict on these two files."""
    return Slots(judge(NOWHERE / CURRENT, current), judge(NOWHERE / PREVIOUS, previous))


def lay(path: Path, *, current: bytes | None, previous: bytes | None) -> None:
    """Lay the two files of a store into a data directory."""
    (path / FOLDER).mkdir()
    for name, data in ((CURRENT, current), (PREVIOUS, previous)):
        if data is not None:
            (path / FOLDER / name).write_bytes(data)


def contents_of(path: Path) -> dict[str, bytes]:
    """Return every file of a store except the lock."""
    return {
        one.name: one.read_bytes() for one in (path / FOLDER).iterdir() if "lock" not in one.name
    }


def cut(data: bytes) -> Iterator[bytes]:
    """Return the file cut off at every byte."""
    return (data[:size] for size in range(len(data)))


def flipped(data: bytes) -> Iterator[bytes]:
    """Return the file with each of its bits flipped, one at a time."""
    for at, byte in enumerate(data):
        for bit in range(8):
            yield data[:at] + bytes([byte ^ 1 << bit]) + data[at + 1 :]


@pytest.mark.parametrize("damages", [cut, flipped])
def test_each_cut_or_flipped_bit_of_the_current_file_is_refused_and_reported(
    damages: Damages,
) -> None:
    """The file is cut off at every byte, or one bit is flipped; no wrong record is read."""
    whole, before = image(4), image(3, generation=6)
    seen = set()

    for damaged in damages(whole):
        slots = slots_of(damaged, before)

        seen.add(type(refusal(slots)))
        assert slots.current.contents is None
        assert slots.previous.contents is not None
        assert CURRENT in problems(slots)[0]

    expected = {StoreCorrupt} if damages is cut else {StoreCorrupt, StoreForeign, StoreNewer}
    assert expected == seen


@pytest.mark.parametrize("damages", [cut, flipped])
def test_damage_of_the_previous_file_is_reported(damages: Damages) -> None:
    """An invalid previous file is reported; it stops a member only if its version is newer."""
    whole, before = image(4), image(3, generation=6)

    for damaged in damages(before):
        slots = slots_of(whole, damaged)

        found = refusal(slots)
        assert found is None or slots.previous.validity is Validity.NEWER
        assert PREVIOUS in problems(slots)[0]


@given(st.data())
def test_a_file_with_several_damages_is_never_read_as_another_record(data: st.DataObject) -> None:
    """Some bytes are replaced by others; the result is the written record or an error."""
    whole = image(4)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=40)) + whole[end:]

    slot = judge(NOWHERE / CURRENT, damaged)

    assert slot.contents is None or damaged == whole


def test_a_damaged_current_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """An inspection shows the newest valid file; a member does not start on it."""
    lay(tmp_path, current=image(4)[:-1], previous=image(3, generation=6))
    before = contents_of(tmp_path)

    with pytest.raises(StoreCorrupt, match="holds generation 6, an older one"):
        open_store(tmp_path)

    seen = inspect(tmp_path)
    assert not seen.is_sound
    assert seen.contents is None
    assert seen.newest is not None
    assert 6 == seen.newest.generation
    assert seen.newest.contents == Contents(member="a", record=LIFE[3])
    assert before == contents_of(tmp_path)


@pytest.mark.parametrize(
    ("current", "previous", "error"),
    [
        (None, None, StoreMissing),
        # A person removed the current file; the previous file lacks its promises.
        (None, image(3, generation=6), StoreCorrupt),
        (None, b"", StoreCorrupt),
        # A person put an older file in the place of the current one.
        (image(3, generation=5), image(4, generation=6), StoreCorrupt),
        (image(3), image(4), StoreCorrupt),
        (b"", image(3, generation=6), StoreCorrupt),
        (bytes(4096), image(3, generation=6), StoreCorrupt),
        (b"#!/bin/sh\n", image(3, generation=6), StoreForeign),
        (image(4), image(3, generation=6).replace(b"format 1", b"format 3"), StoreNewer),
    ],
)
def test_a_record_that_is_not_the_last_written_is_refused(
    tmp_path: Path, current: bytes | None, previous: bytes | None, error: type[StoreError]
) -> None:
    """With a restored or swapped file, a member would forget its later promises."""
    lay(tmp_path, current=current, previous=previous)
    before = contents_of(tmp_path)

    with pytest.raises(error):
        open_store(tmp_path)

    assert inspect(tmp_path).refusal != ""
    assert before == contents_of(tmp_path)


@pytest.mark.parametrize(
    ("current", "previous"),
    [
        (image(4), image(3, generation=6)),
        # The power failed between the two names of one write.
        (image(4), image(3, generation=5)),
        (image(4), image(4)),
        (image(4, generation=2), None),
        (image(4, generation=1), None),
    ],
)
def test_states_that_a_crash_may_leave_are_no_problem(
    tmp_path: Path, current: bytes, previous: bytes | None
) -> None:
    """Operators soon ignore an alarm that is raised without a cause."""
    lay(tmp_path, current=current, previous=previous)

    with open_store(tmp_path) as store:
        assert LIFE[4] == store.record
        assert () == store.problems


@pytest.mark.parametrize("previous", [b"", b"something else", image(3, generation=6)[:-9], None])
def test_a_damaged_previous_file_is_reported_and_the_member_starts(
    tmp_path: Path, previous: bytes | None
) -> None:
    """The current file is whole, and its name shows that it is the newest."""
    lay(tmp_path, current=image(4), previous=previous)

    with open_store(tmp_path) as store:
        (problem,) = store.problems

    assert problem.startswith(PREVIOUS)
    assert (problem,) == inspect(tmp_path).problems


def test_a_file_of_another_store_is_refused(tmp_path: Path) -> None:
    """If one directory has files of two stores, it is unknown which store is meant."""
    other = tmp_path / "other"
    other.mkdir()
    create_store(other, evolve(LIFE[0], store_id="b'"), member="b").close()
    foreign = (other / FOLDER / CURRENT).read_bytes()
    lay(tmp_path, current=image(4), previous=foreign)

    with pytest.raises(StoreCorrupt, match="is of store b'"):
        open_store(tmp_path)


def test_a_temporary_file_is_not_read_as_a_newer_generation(tmp_path: Path) -> None:
    """An inspection shows a temporary file and the next opening removes it; it is never read."""
    lay(tmp_path, current=image(3), previous=image(2, generation=6))
    left = tmp_path / FOLDER / f"{CURRENT}.0123456789abcdef.tmp"
    left.write_bytes(image(4, generation=8))
    mine = tmp_path / FOLDER / f"{CURRENT}.before-the-upgrade"
    mine.write_bytes(b"a copy that an operator made")

    seen = inspect(tmp_path)
    assert (left.name,) == seen.leftovers
    assert left.exists()

    with open_store(tmp_path) as store:
        assert LIFE[3] == store.record

    assert not left.exists()
    assert mine.exists()


def test_a_slot_has_the_path_of_its_file(tmp_path: Path) -> None:
    """An operator needs the path of the file."""
    lay(tmp_path, current=image(3), previous=None)

    slot: Slot = inspect(tmp_path).current

    assert tmp_path / FOLDER / CURRENT == slot.path
