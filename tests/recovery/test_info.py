"""What is carried between machines: small, whole, and no way to fill a memory."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from joinproto.errors import StoreCorrupt
from joinproto.json_form import canonical_hash
from joinproto.recovery import info, sources
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
        journal=Journal((Run("v", 1, 7), Run("w", 8, 9)), "torn"),
        recovered=b"9",
    )


def test_what_was_carried_is_what_was_read() -> None:
    """Byte by byte."""
    carried = [raw(b""), raw(bytes(range(256)) * 50), Raw(path="/y", host="h", format=None)]

    text = info.write(carried, tool="0")

    assert tuple(carried) == info.read(text.encode(), name="x")
    assert len(text) < 50 * 256


def packed_again(data: bytes) -> bytes:
    """Return an .info file with other packed bytes in it, and a right checksum."""
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
def test_what_cannot_be_unpacked_is_refused(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes must not become gigabytes."""
    monkeypatch.setattr(info, "DATA_BYTES_MAX", 1_000_000)

    with pytest.raises(StoreCorrupt, match="has a wrong one"):
        info.read(packed_again(data), name="x")


def test_a_file_that_is_too_large_is_called_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not cut off in silence, and then called damaged."""
    path = tmp_path / "a.info"
    path.write_text(ask(capsys, "collect", lay(tmp_path, "F", a="F F.5")["a"]).out)
    monkeypatch.setattr(sources, "INFO_BYTES_MAX", 100)

    done = ask(capsys, "pick", path)

    assert 1 == done.code
    assert "is larger than 100 bytes" in done.err
    assert "collect fewer" in done.err
