"""The place of a run: a folder, or an address of a store that `pyarrow.fs` knows.

A file is written as a whole or not at all: a file in a folder by a rename, an object of S3 or GCS
when it is closed.  HDFS cannot rename over another file, so a process that is killed after it
removed the old file leaves none of that name.  Credentials and endpoints come from where the
store's own tools look for them: the environment, files, the machine's role.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from attrs import frozen

from joinproto.errors import EnvironmentProblem, JoinprotoError, UsageProblem, not_installed

STORES = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
OPTIONS = {
    "s3": ("endpoint_override", "region", "role_arn", "scheme", "tls_ca_file_path"),
    "gs": ("endpoint_override", "retry_limit_seconds", "scheme"),
    "hdfs": ("buffer_size", "default_block_size", "replication"),
    "abfs": ("blob_storage_authority", "dfs_storage_authority", "enable_tls"),
}
"""Options of an address, by the beginning of its scheme; none of them is a secret."""
_RENAMES = ("hdfs", "viewfs")
_AT_ONCE = 16
_PIECE_BYTES = 1 << 23


@frozen
class Folder:
    """A folder of this machine, or one that several machines share under the same path."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.path / name)

    def absolute(self) -> Folder:
        """Return the folder for processes with another working folder."""
        return Folder(self.path.resolve())

    def open(self, name: str) -> IO[bytes]:
        return (self.path / name).open("rb")

    def read(self, name: str) -> bytes:
        """Return a file's content; raises `FileNotFoundError` or another `OSError`."""
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes | memoryview, *, sync: bool = False) -> None:
        """Write a file as a whole or not at all; `sync`: return when it is on the disk."""
        with replacing(self.path / name, sync=sync) as file:
            file.write(content)

    def put(self, name: str, file: Path) -> None:
        """Copy a file of this machine to this folder."""
        if file != self.path / name:
            with replacing(self.path / name) as to, file.open("rb") as content:
                shutil.copyfileobj(content, to, _PIECE_BYTES)

    def names(self) -> list[str]:
        """Return the sorted names of files and folders directly in it; [] if it does not exist."""
        return sorted(item.name for item in self.path.iterdir()) if self.path.is_dir() else []

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files; a file that does not exist is skipped."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the folder and its content."""
        shutil.rmtree(self.path, ignore_errors=True)


@frozen
class Address:
    """A folder of a store.  `url`: SCHEME://BUCKET/PATH; `options`: those after its `?`."""

    url: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self.url}/{name}", self.options)

    def absolute(self) -> Address:
        return self

    def open(self, name: str) -> Any:
        with self._explained():
            return self.store.open_input_file(self.at(name))

    def read(self, name: str) -> bytes:
        with self._explained(), self.store.open_input_stream(self.at(name)) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes | memoryview, *, sync: bool = False) -> None:
        with self._replacing(name) as stream:
            stream.write(content)

    def put(self, name: str, file: Path) -> None:
        with self._replacing(name) as stream, file.open("rb") as content:
            while piece := content.read(_PIECE_BYTES):
                stream.write(piece)

    def fetch(self, name: str, file: Path) -> None:
        """Copy an object to a file of this machine, as a whole or not at all."""
        with (
            self._explained(),
            self.store.open_input_stream(self.at(name)) as stream,
            replacing(file) as to,
        ):
            while piece := stream.read(_PIECE_BYTES):
                to.write(piece)

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector

        with self._explained():
            found = self.store.get_file_info(FileSelector(self.at(), allow_not_found=True))
        return sorted(item.base_name for item in found)

    def make(self) -> None:
        """Make the folder on HDFS; other stores have no folders, so do nothing there."""
        if self._scheme in _RENAMES:
            with self._explained():
                self.store.create_dir(self.at())

    def remove(self, names: Iterable[str]) -> None:
        def one(name: str) -> None:
            with self._explained(), suppress(FileNotFoundError):
                self.store.delete_file(self.at(name))

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(one, names))

    def clear(self) -> None:
        from pyarrow.fs import FileType

        with self._explained():
            if self.store.get_file_info(self.at()).type == FileType.Directory:
                self.store.delete_dir_contents(self.at())

    @property
    def store(self) -> Any:
        """The file system of `pyarrow.fs`, made once in a process."""
        return _store(self.url, self.options)[0]

    def at(self, name: str = "") -> str:
        """Return the path of a file in `store`."""
        # This path begins with the bucket of the address.
        path = _store(self.url, self.options)[1]
        return f"{path}/{name}" if name else str(path)

    @property
    def _scheme(self) -> str:
        return self.url.partition(":")[0]

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Any]:
        with self._explained():
            if self._scheme not in _RENAMES:
                # When its stream is closed, the whole object replaces the old one.
                try:
                    with self.store.open_output_stream(self.at(name)) as stream:
                        yield stream
                except BaseException:
                    # The error has closed the stream, so there is an object with a part only.
                    with suppress(OSError):
                        self.store.delete_file(self.at(name))
                    raise
                return
            other = self.at(f".{name.replace('/', '-')}-{os.urandom(8).hex()}")
            with self.store.open_output_stream(other) as stream:
                yield stream
            with suppress(FileNotFoundError):
                self.store.delete_file(self.at(name))
            self.store.move(other, self.at(name))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise a store's error again as an `OSError` with one line of text."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, ValueError, _arrow_error()) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            lines = str(error).partition(" (Request ID")[0].splitlines()
            raise StoreFailure((lines or ["(no message)"])[0][:400]) from error


def _arrow_error() -> type[Exception]:
    """Return the class of the stores' exceptions that are not of class `OSError`."""
    try:
        from pyarrow import ArrowException
    except ModuleNotFoundError:
        return OSError
    return ArrowException


class StoreFailure(OSError):
    """An error of a store, with the store's own text."""


Place = Folder | Address


def as_place(given: Path | Place) -> Place:
    """Return a place unchanged, and a path as a `Folder`."""
    return Folder(given) if isinstance(given, Path) else given


def place_of(text: str) -> Place:
    """Return the place that a path or an address names; raises `UsageProblem` for a bad one."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://?", text)
    if found is None:
        return Folder(Path(text))
    scheme, parts = found[1].lower(), urlsplit(text)
    if parts.fragment or (scheme == "file" and parts.query):
        mark = "#" if parts.fragment else "?"
        raise UsageProblem(
            f"{text} contains a {mark}, which does not belong to a place",
            next="write it as %23 or %3F in file:///PATH, or choose another name",
        )
    if scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise UsageProblem(
                f"{text} names another machine", next="write file:///PATH, or a path"
            )
        return Folder(Path(unquote(parts.path)))
    if scheme in ("s3a", "s3n"):
        raise UsageProblem(
            f"{scheme}:// is Hadoop's name for S3", next="write the same address with s3://"
        )
    if scheme not in STORES:
        raise UsageProblem(
            f"{scheme}:// is not a known store",
            next=f"write a path, file:///PATH, or an address of {', '.join(STORES)}",
        )
    user = parts.netloc.rpartition("@")[0]
    if ":" in user or (user and not scheme.startswith("abfs")):
        raise UsageProblem(
            f"an address of {scheme} contains a user name or a password, which others could read",
            next="give them in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), in the"
            " store's own files, or as the machine's role",
        )
    path = parts.path.strip("/")
    if not path or (not parts.netloc and scheme not in _RENAMES):
        raise UsageProblem(
            f"{scheme}://{parts.netloc}{parts.path} names no folder of a bucket",
            next=f"write {scheme}://BUCKET/PATH",
        )
    options = parse_qsl(parts.query, keep_blank_values=True)
    known = next((names for kind, names in OPTIONS.items() if scheme.startswith(kind)), ())
    unknown = [name for name, _ in options if name not in known]
    if unknown:
        raise UsageProblem(
            f"an address of {scheme} takes no option {unknown[0]}",
            next=f"use one of {', '.join(known)}" if known else "leave it out",
        )
    return Address(f"{scheme}://{parts.netloc}/{path}", tuple(options))


@cache
def _store(url: str, options: tuple[tuple[str, str], ...]) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from pyarrow import fs
    except ModuleNotFoundError as error:
        raise not_installed("pyarrow", "spark") from error
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return _s3(parts.netloc, options), f"{parts.netloc}{parts.path}"
    query = "&".join(f"{name}={value}" for name, value in options)
    found, path = fs.FileSystem.from_uri(f"{url}?{query}" if query else url)
    return found, path


@cache
def _s3(bucket: str, options: tuple[tuple[str, str], ...]) -> Any:
    from pyarrow import fs

    given = dict(options)
    own = given.keys() | {
        name
        for name, variables in {
            "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
            "endpoint_override": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
        }.items()
        if any(os.environ.get(variable) for variable in variables)
    }
    if not own & {"region", "endpoint_override"}:
        given["region"] = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        **given,
        connect_timeout=10,
        request_timeout=60,
        # A small object then takes one request instead of three.
        allow_delayed_open=True,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=5),
    )


@contextmanager
def replacing(path: Path, *, sync: bool = False) -> Iterator[IO[bytes]]:
    """Write a file of this machine under another name, and rename it when all is written."""
    handle, other = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        Path(other).chmod(0o644)
        Path(other).replace(path)
    except BaseException:
        Path(other).unlink(missing_ok=True)
        raise


def problem_with(place: Place, error: Exception) -> JoinprotoError:
    """Return the error for a place that cannot be read or written; its exit code is 2 or 4."""
    said = getattr(error, "strerror", None) or str(error)
    if isinstance(place, Folder):
        return EnvironmentProblem(
            f"cannot write to {place}: {said}", next="give --out a folder that may be written"
        )
    if "NO_SUCH_BUCKET" in said or "NoSuchBucket" in said:
        return UsageProblem(
            f"{place}: there is no such bucket", next="create the bucket, or name another"
        )
    if re.search("ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|HTTP status 40[13]", said):
        return EnvironmentProblem(
            f"{place}: the store denies access: {said}",
            next="give credentials in the environment, the store's files or the machine's role,"
            " with the rights to read, list, write and delete below that address",
        )
    return EnvironmentProblem(
        f"{place}: the store fails: {said}",
        next="give the store's endpoint and region (?endpoint_override=...&region=..., or in the"
        " environment), and check that this machine and the executors can reach it",
    )
