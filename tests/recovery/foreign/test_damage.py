"""A reader raises no error for any bytes, and no damage makes a dirty store clean."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.gather import gather, read, reader_of
from tests.recovery.foreign.directories import DATA, findings_in

QPID = {"cluster/store.status": b"6ba7b810-9dad-11d1-80b4-00c04fd430c8\n" * 2}
CLEAN = DATA / "galera-stopped-in-turn" / "n3"
DIRTY = DATA / "galera-killed-in-turn" / "n1"
RABBIT = DATA / "rabbitmq-stopped-in-turn" / "c@localhost"


def files_of(kind: Format, directory: Path) -> dict[str, bytes]:
    names = reader_of(kind).NAMES
    return {name: (directory / name).read_bytes() for name in names if (directory / name).exists()}


SAMPLES = [
    (Format.QPID, QPID, "store"),
    (Format.GALERA, files_of(Format.GALERA, CLEAN), "n3"),
    (Format.GALERA, files_of(Format.GALERA, DIRTY), "n1"),
    (Format.RABBITMQ, files_of(Format.RABBITMQ, RABBIT), "c@localhost"),
]


def facts(found: Found) -> tuple[object, ...]:
    return (found.state, found.cluster, found.seq, found.final, found.last_view, found.stopped_last)


def is_fit_to_print(found: Found) -> bool:
    shown = [*found.problems, *(fact.value for fact in found.facts)]
    return all(text.isascii() and text.isprintable() and len(text) < 5_000 for text in shown)


@pytest.mark.parametrize(("kind", "files", "path"), SAMPLES)
def test_a_file_cut_off_at_any_byte_gives_the_same_facts_or_is_damaged(
    kind: Format, files: dict[str, bytes], path: str
) -> None:
    """If only white space is missing, the facts are the same; otherwise damage is reported."""
    all_said = facts(findings_in(kind, files, path=path))

    for name, data in files.items():
        for size in range(len(data)):
            found = findings_in(kind, {**files, name: data[:size]}, path=path)
            assert is_fit_to_print(found)
            if data[size:].strip():
                assert found.state in (State.CORRUPT, State.DIRTY), (name, size)
                # A view file that is cut off has no effect on the other facts.
                is_view = name == "gvwstate.dat" and found.last_view is None
                assert State.CORRUPT == found.state or is_view or b"safe_to" in data[size:]
            else:
                assert State.CORRUPT == found.state or all_said == facts(found)


def flips(data: bytes) -> Iterator[bytes]:
    for at in range(len(data)):
        for bit in range(8):
            yield data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


@pytest.mark.parametrize(("kind", "files", "path"), SAMPLES)
def test_a_flipped_bit_never_makes_a_dirty_store_clean(
    kind: Format, files: dict[str, bytes], path: str
) -> None:
    """These formats have no checksum: a changed digit of an id cannot be seen."""
    was = findings_in(kind, files, path=path).state

    for name, data in files.items():
        for flipped in flips(data):
            found = findings_in(kind, {**files, name: flipped}, path=path)
            assert is_fit_to_print(found)
            assert found.state in (was, State.CORRUPT, State.DIRTY)


@given(
    kind=st.sampled_from([Format.QPID, Format.GALERA, Format.RABBITMQ]),
    contents=st.lists(st.binary(max_size=200) | st.none(), min_size=4, max_size=4),
    recovered=st.binary(max_size=100),
    path=st.text(max_size=20),
)
def test_random_bytes_are_reported_with_a_problem(
    kind: Format, contents: list[bytes | None], recovered: bytes, path: str
) -> None:
    """There is no traceback, and no control character."""
    names = reader_of(kind).NAMES
    files = {n: data for n, data in zip(names, contents, strict=False) if data is not None}

    found = findings_in(kind, files, path=path, recovered=recovered.decode("latin-1"))

    assert found.state in (State.NONE, State.CORRUPT, State.UNREADABLE)
    assert found.problems
    assert is_fit_to_print(found)


PIECES = ["[", "]", "{", "}", ",", ".", "a@h", "'b@h'", "'", "\\", "%", "\n", " ", "A", "1", "@"]


@given(
    st.lists(st.sampled_from(PIECES)).map("".join), st.lists(st.sampled_from(PIECES)).map("".join)
)
def test_random_terms_are_reported_or_give_a_last_view(cluster: str, running: str) -> None:
    """These texts are more like right texts than random bytes are."""
    files = {"cluster_nodes.config": cluster, "nodes_running_at_shutdown": running}

    found = findings_in(Format.RABBITMQ, files, path="a@h")

    assert found.state in (State.CORRUPT, State.DIRTY, State.EMPTY)
    assert found.problems or found.last_view


@pytest.mark.parametrize(("kind", "files", "path"), SAMPLES)
def test_a_huge_file_is_not_believed(kind: Format, files: dict[str, bytes], path: str) -> None:
    """Some of these formats would even permit endless white space."""
    for name, data in files.items():
        found = findings_in(kind, {**files, name: data + b" " * (2 << 20)}, path=path)

        assert State.CORRUPT == found.state or (name == "gvwstate.dat" and not found.last_view)
        assert "bytes" in found.problems[0]


@pytest.mark.parametrize(("kind", "files", "path"), SAMPLES)
def test_reading_a_directory_changes_no_file(
    kind: Format, files: dict[str, bytes], path: str, tmp_path: Path
) -> None:
    """Contents, names and times stay the same; the format is detected without `--format`."""
    directory = tmp_path / path
    for name, data in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)
    before = [(item, item.stat()) for item in sorted(tmp_path.rglob("*"))]

    found = read(gather(directory, host="h"))

    assert kind == found.format
    assert facts(findings_in(kind, files, path=path)) == facts(found)
    after = [(item, item.stat()) for item in sorted(tmp_path.rglob("*"))]
    assert [(i, s.st_mtime_ns, s.st_ctime_ns) for i, s in before] == [
        (i, s.st_mtime_ns, s.st_ctime_ns) for i, s in after
    ]


@pytest.mark.parametrize(("kind", "files", "path"), SAMPLES)
@pytest.mark.parametrize("what", ["link", "directory", "pipe"])
def test_a_link_a_directory_or_a_pipe_in_place_of_a_file_is_unreadable(
    kind: Format, files: dict[str, bytes], path: str, what: str, tmp_path: Path
) -> None:
    """Links are not followed, and the reader does not wait for a pipe."""
    directory = tmp_path / path
    for name, data in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if what == "link":
            (tmp_path / file.name).write_bytes(data)
            file.symlink_to(tmp_path / file.name)
        elif what == "directory":
            file.mkdir()
        else:
            os.mkfifo(file)

    found = read(gather(directory, host="h"))

    assert (kind, State.UNREADABLE) == (found.format, found.state)
    assert is_fit_to_print(found)
