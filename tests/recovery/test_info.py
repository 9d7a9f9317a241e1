"""The .info files, which are carried to other machines: small, complete, and with limits."""

from __future__ import annotations

import base64
import json
import tarfile
import zlib
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.codec.json_form import canonical_hash
from joinproto.errors import StoreCorrupt
from joinproto.recovery import found, info, sources
from joinproto.recovery.found import Format, Raw, RawFile
from joinproto.recovery.frames import Journal, Run
from tests.recovery.asking import ask
from tests.recovery.disks import lay


def raw(data: bytes) -> Raw:
    return Raw(
        path="/x",
        host="h",
        format=Format.JOINPROTO,
        files=(RawFile("joinproto/store.meta", data, modified=5.5), RawFile("absent")),
        called="link",
        leftovers=("store.meta.1.tmp",),
        journal=Journal(runs=(Run("v", 1, 7), Run("w", 8, 9)), problem="torn"),
        recovered=b"9",
    )


def test_a_store_in_an_info_file_equals_the_original() -> None:
    """All bytes of its files are the same, and the text is smaller than they are."""
    carried = [raw(b""), raw(bytes(range(256)) * 50), Raw(path="/y", host="h", format=None)]

    text = info.write(carried, tool="0")

    assert tuple(carried) == info.read(text.encode(), name="x")
    assert len(text) < 50 * 256


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_is_refused_with_the_advice_to_unpack_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    """The advice is to unpack the archive, because collecting again does not help."""
    path = tmp_path / "stores.tar"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(__file__)

    done = ask(capsys, "pick", path)

    assert done.code == 1
    assert "is an archive (" in done.err
    assert "next: unpack it, and name the directories" in done.err


def test_the_text_of_an_info_file_never_changes() -> None:
    """The text has a hash, and other versions read it."""
    file = RawFile("absent", problem="why", modified=5.5, errno=3)
    first = evolve(
        raw(b""),
        files=(file,),
        leftovers=("x", "\xfc"),
        read_at=12.25,
    )

    text = info.write([first, Raw(path="/y", host="h", format=None)], tool="0")

    tree = json.loads(text)
    assert "ce89df114a4c22d1249869759200fb08ce9a23ad32802909b2b11b6d415518cf" == tree["sha256"]
    assert text == json.dumps(tree, indent=1) + "\n"
    top = "path host format in_use lock_problem problem called leftovers"
    assert [
        f"{top} journal recovered read_at files",
        "problem is_unread sha256 is_torn runs",
        "name data problem modified",
    ] == [
        " ".join(one)
        for one in (
            tree["stores"][0],
            tree["stores"][0]["journal"],
            tree["stores"][0]["files"][0],
        )
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("path", 5),
        ("format", "mnesia"),
        ("leftovers", [None]),
        ("journal", {"problem": ""}),
        ("journal", {"problem": "", "runs": [["v", "one", 7]]}),
        ("journal", {"problem": "", "runs": [["v", 1]]}),
        ("recovered", "no base64"),
        ("read_at", "soon"),
        ("files", [{"name": "x", "data": None, "problem": ""}]),
        ("files", 5),
    ],
)
def test_a_missing_or_wrong_field_is_reported_as_damage(key: str, value: object) -> None:
    tree = json.loads(info.write([raw(b"")], tool="0"))
    tree["stores"][0][key] = value
    tree.pop("sha256")
    tree["sha256"] = canonical_hash(tree)

    with pytest.raises(StoreCorrupt, match="lacks a field, or has a wrong one"):
        info.read(json.dumps(tree).encode(), name="x")


def packed_again(data: bytes) -> bytes:
    """Return an .info file with these packed bytes in it, and a right checksum."""
    tree = json.loads(info.write([raw(b"")], tool="0"))
    tree["stores"][0]["files"][0]["data"] = base64.b64encode(data).decode()
    tree.pop("sha256")
    tree["sha256"] = canonical_hash(tree)
    return json.dumps(tree).encode()


@pytest.mark.parametrize(
    "data",
    [
        zlib.compress(bytes(1_000_001)),
        zlib.compress(b"a store")[:-3],
        b"not packed at all",
    ],
    ids=["grows", "cut off", "something else"],
)
def test_an_info_file_that_cannot_be_unpacked_is_refused(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes must not become gigabytes."""
    monkeypatch.setattr(found, "FILE_BYTES_MAX", 1_000_000)

    with pytest.raises(StoreCorrupt, match="has a wrong one"):
        info.read(packed_again(data), name="x")


def test_a_file_that_is_too_large_is_reported_as_too_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not cut off silently and then called damaged."""
    path = tmp_path / "a.info"
    path.write_text(ask(capsys, "collect", lay(tmp_path, "F", a="F F.5")["a"]).out)
    monkeypatch.setattr(sources, "INFO_BYTES_MAX", 100)

    done = ask(capsys, "pick", path)

    assert 1 == done.code
    assert "is larger than 100 bytes" in done.err
    assert "collect fewer" in done.err
