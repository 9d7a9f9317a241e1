"""The script that packs stores on a machine whose Python cannot run `joinproto recover`.

The template `joinproto-pack.sh` next to this file has words such as `@FILES@`, which are replaced
by the readers' lists of files.  `joinproto/recovery/pack.py` reads a pack.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from joinproto.durable.journal.journal import FILE as JOURNAL
from joinproto.recovery.foreign.others import IDENTIFYING_NAMES
from joinproto.recovery.foreign.ra.folders import FLAGS, FLAGS_SUFFIX
from joinproto.recovery.found import Format
from joinproto.recovery.gather import reader_of

TEMPLATE = Path(__file__).with_name("joinproto-pack.sh")


def script() -> str:
    """Return the shell script, which packs the files that the readers of this version need."""
    files, marks = {JOURNAL}, set(IDENTIFYING_NAMES)
    for kind in Format:
        reader = reader_of(kind)
        # A reader with a digest names no file of the disk.  Its large files (`GLOBS`) are packed,
        # and the digest is made from them later.
        files |= set() if hasattr(reader, "digest") else {*reader.NAMES}
        files |= {*getattr(reader, "GLOBS", ())}
        marks |= {*getattr(reader, "MARKS", ())}
    folders = {str(above) for name in files for above in PurePosixPath(name).parents} - {"."}
    lists = {"@FOLDERS@": folders, "@TELLING@": marks - files, "@FILES@": files}
    text = (
        TEMPLATE.read_text("utf-8").replace("@NEXT_TO_IT@", FLAGS_SUFFIX).replace("@FLAGS@", FLAGS)
    )
    for word, names in lists.items():
        text = text.replace(word, " ".join(sorted(names)))
    return text
