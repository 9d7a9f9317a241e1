"""Directories for the foreign readers, made from a few texts, or kept from real servers."""

from collections.abc import Mapping
from pathlib import Path

from joinproto.recovery.found import Format, Found, Raw, RawFile
from joinproto.recovery.gather import gather, read, reader_of

DATA = Path(__file__).parent / "data"


def findings_in(
    kind: Format, files: Mapping[str, str | bytes], *, path: str = "store", recovered: str = ""
) -> Found:
    """Return the findings in these files, which are only in memory."""
    raw = Raw(
        path=path,
        host="h",
        format=kind,
        files=tuple(
            RawFile(name, text.encode() if isinstance(text, str) else text)
            for name, text in files.items()
        ),
        recovered=recovered.encode(),
    )
    found: Found = reader_of(kind).read(raw)
    return found


def story(name: str, *, positions: bool = False) -> dict[str, Found]:
    """Return the findings in a story's directories, by the directories' names."""
    found = {}
    for directory in sorted(path for path in (DATA / name).iterdir() if path.is_dir()):
        log = directory / "recovered.log"
        recovered = log.read_bytes() if positions else b""
        found[directory.name] = read(gather(directory, host="h", recovered=recovered))
    return found


def stories(broker: str) -> list[str]:
    """Return the names of the stories of a broker."""
    return sorted(path.name for path in DATA.iterdir() if path.name.startswith(broker))
