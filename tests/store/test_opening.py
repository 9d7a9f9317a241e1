"""Opening and creating a store: missing or foreign files, links, and missing permissions."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from joinproto.durable.envelope import Validity
from joinproto.durable.lock import LOCK, LockState
from joinproto.errors import (
    MisuseError,
    StoreError,
    StoreExists,
    StoreForeign,
    StoreInUse,
    StoreMissing,
    StoreNewer,
    StoreUnreadable,
)
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER, PREVIOUS
from tests.store.inspection import inspect
from tests.store.records import life

REPOSITORY = Path(__file__).resolve().parents[2]
LIFE = life()
NOBODY = 65_534


def make_store(path: Path) -> Path:
    """Make a store, write it twice, and return its directory."""
    with create_store(path, LIFE[2], member="a", cluster_name="cluster") as store:
        store.write(LIFE[3])
    return path / FOLDER


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a data directory and run as a user who is not root."""
    user = os.geteuid()
    with TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield path
        finally:
            os.seteuid(user)


def test_a_new_store_is_found_as_it_was_made(tmp_path: Path) -> None:
    """The creation is generation 1; each write adds 1."""
    with create_store(tmp_path, LIFE[2], member="a", cluster_name="cluster") as store:
        assert (1, LIFE[2]) == (store.generation, store.record)
        store.write(LIFE[3])
        assert (2, LIFE[3]) == (store.generation, store.record)

    with open_store(tmp_path) as store:
        assert (2, LIFE[3]) == (store.generation, store.record)
        assert ("a", "cluster") == (store.contents.member, store.contents.cluster_name)
    assert {CURRENT, PREVIOUS, LOCK} == {one.name for one in (tmp_path / FOLDER).iterdir()}


def test_an_inspection_shows_both_generations_and_the_lock_and_changes_no_file(
    tmp_path: Path,
) -> None:
    """An inspection shows whether each generation is valid, and changes no file."""
    folder = make_store(tmp_path)
    before = {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()}

    seen = inspect(tmp_path)

    assert (2, 1) == (seen.current.generation, seen.previous.generation)
    assert seen.current.contents is not None
    assert seen.previous.contents is not None
    assert (LIFE[3], LIFE[2]) == (seen.current.contents.record, seen.previous.contents.record)
    assert seen.is_sound
    assert seen.current is seen.newest
    assert seen.contents is seen.current.contents
    assert ((), (), LockState.FREE) == (seen.problems, seen.leftovers, seen.lock.state)
    assert before == {
        one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()
    }


def test_an_inspection_closes_its_files(tmp_path: Path) -> None:
    """Otherwise a tool that watches stores would run out of file descriptors."""
    make_store(tmp_path)
    before = len(list(Path("/dev/fd").iterdir()))

    inspect(tmp_path)

    assert before == len(list(Path("/dev/fd").iterdir()))


def test_an_existing_store_is_not_created_again(tmp_path: Path) -> None:
    """This holds even if only a part is left: a new store would destroy that part."""
    folder = make_store(tmp_path)

    with pytest.raises(StoreExists):
        create_store(tmp_path, LIFE[0], member="a")
    (folder / CURRENT).unlink()
    with pytest.raises(StoreExists, match=r"store\.meta\.previous: valid"):
        create_store(tmp_path, LIFE[0], member="a")
    (folder / PREVIOUS).write_bytes(b"")
    with pytest.raises(StoreExists, match=r"store\.meta\.previous: corrupt"):
        create_store(tmp_path, LIFE[0], member="a")

    assert b"" == (folder / PREVIOUS).read_bytes()


def test_a_record_that_cannot_be_written_makes_no_directory(tmp_path: Path) -> None:
    """The embedding program passed a wrong value, and the disk is unchanged."""
    with pytest.raises(MisuseError, match="member: found ''"):
        create_store(tmp_path, LIFE[0], member="")
    with pytest.raises(MisuseError, match="cluster_name of the tip"):
        create_store(tmp_path, LIFE[2], member="a", cluster_name="other")

    assert [] == list(tmp_path.iterdir())


Opening = Callable[[Path], object]


def _create(path: Path) -> object:
    return create_store(path, LIFE[0], member="a")


@pytest.mark.parametrize("opening", [open_store, inspect, _create])
def test_a_missing_store_is_reported(tmp_path: Path, opening: Opening) -> None:
    """A wrong path is the operator's commonest mistake; no directory is created there."""
    with pytest.raises(StoreMissing, match="expected the data directory of a member"):
        opening(tmp_path / "not" / "there")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StoreUnreadable, match=r"file: a file, expected the data directory"):
        opening(file)
    assert [file] == list(tmp_path.iterdir())


def test_a_data_directory_without_a_store_is_reported(tmp_path: Path) -> None:
    """The directory is empty, or a creation in it did not end."""
    with pytest.raises(StoreMissing, match="expected the directory of a store"):
        open_store(tmp_path)
    (tmp_path / FOLDER).mkdir()
    with pytest.raises(StoreMissing, match="expected the metadata of a store"):
        open_store(tmp_path)

    assert Validity.ABSENT is inspect(tmp_path).current.validity
    create_store(tmp_path, LIFE[0], member="a").close()


@pytest.mark.parametrize("name", [CURRENT, PREVIOUS, LOCK])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str) -> None:
    """Otherwise a user with access to this directory could choose which file we write."""
    data = tmp_path / "data"
    data.mkdir()
    folder = make_store(data)
    target = tmp_path / "precious"
    shutil.copy(folder / name, target)
    before = target.read_bytes()
    (folder / name).unlink()
    (folder / name).symlink_to(target)

    if name == PREVIOUS:
        with open_store(data) as store:
            assert "is a symbolic link" in store.problems[0]
            store.write(LIFE[4])
        assert not (folder / name).is_symlink()
    else:
        with pytest.raises(StoreUnreadable):
            open_store(data)

    assert before == target.read_bytes()


def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    """A link in place of the store's directory is refused; the data directory may be a link."""
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    make_store(elsewhere)
    (data / FOLDER).symlink_to(elsewhere / FOLDER)

    for opening in (open_store, inspect, _create):
        with pytest.raises(StoreUnreadable, match="a symbolic link, which is not followed"):
            opening(data)

    (tmp_path / "linked").symlink_to(elsewhere)
    open_store(tmp_path / "linked").close()


def test_links_in_the_place_of_temporary_files_are_removed_not_followed(tmp_path: Path) -> None:
    """Temporary files are created with O_EXCL and random names; only the link is removed."""
    folder = make_store(tmp_path)
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    (folder / f"{CURRENT}.0123456789abcdef.tmp").symlink_to(target)

    with open_store(tmp_path) as store:
        store.write(LIFE[4])

    assert b"precious" == target.read_bytes()
    assert {CURRENT, PREVIOUS, LOCK} == {one.name for one in folder.iterdir()}


@pytest.mark.parametrize("name", [CURRENT, LOCK])
def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """Opening a pipe would wait for ever; a directory has no content."""
    folder = make_store(tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StoreUnreadable, match=r"not a regular file|No such device"):
        open_store(tmp_path)

    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(StoreUnreadable, match=r"not a regular file|Is a directory"):
        open_store(tmp_path)
    assert inspect(tmp_path).problems


def test_a_store_that_may_not_be_read_is_unreadable() -> None:
    """The error names the file."""
    with unprivileged() as path:
        folder = make_store(path)
        (folder / CURRENT).chmod(0)

        with pytest.raises(StoreUnreadable, match=r"store\.meta: cannot be read: Permission den"):
            open_store(path)
        assert Validity.UNREADABLE is inspect(path).current.validity

        (folder / CURRENT).chmod(0o644)
        (folder / LOCK).chmod(0o444)
        with pytest.raises(StoreUnreadable, match=r"store\.lock: cannot be opened: Permission"):
            open_store(path)
        assert inspect(path).is_sound

        (folder / LOCK).chmod(0)
        assert LockState.UNKNOWN is inspect(path).lock.state
        assert inspect(path).problems

        folder.chmod(0)
        for opening in (open_store, inspect):
            with pytest.raises(StoreUnreadable, match="Permission denied"):
                opening(path)
        folder.chmod(0o755)


def test_a_store_in_a_directory_without_write_permission_can_only_be_inspected() -> None:
    """`inspect` changes no file, so it needs no permission to write."""
    with unprivileged() as path:
        folder = make_store(path)
        (folder / LOCK).unlink()
        folder.chmod(0o555)
        try:
            with pytest.raises(StoreUnreadable, match="Permission denied"):
                open_store(path)
            assert inspect(path).is_sound
        finally:
            folder.chmod(0o755)


@pytest.mark.needs("unshare", "mounts without being root")
def test_a_store_on_a_read_only_mount_can_only_be_inspected(tmp_path: Path) -> None:
    """An inspection needs no writable file system; opening the store fails with an error."""
    make_store(tmp_path)
    looking = (
        "import sys; from pathlib import Path;"
        "from tests.store.inspection import inspect;"
        "from joinproto.store.handle import open_store;"
        "path = Path(sys.argv[1]); print(inspect(path).is_sound); open_store(path)"
    )
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2" -c "$3" "$1"'

    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable, looking],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "True\n" == done.stdout
    assert f"{StoreUnreadable.__name__}: {tmp_path}/{FOLDER}/{LOCK}: cannot be" in done.stderr
    assert "Read-only file system" in done.stderr


def test_a_closed_store_may_be_closed_again(tmp_path: Path) -> None:
    """Closing saves no data, so it cannot fail."""
    store = create_store(tmp_path, LIFE[0], member="a")
    store.close()
    store.close()

    assert LIFE[0] == store.record


def test_errors_of_opening_a_store_have_one_base_class() -> None:
    """Each has the exit code 1."""
    for error in (StoreExists, StoreForeign, StoreInUse, StoreMissing, StoreNewer):
        assert issubclass(error, StoreError)
        assert 1 == error.default_code
