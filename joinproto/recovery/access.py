"""Turn errors of the system into advice: another path, other rights, another disk.  No I/O."""

from __future__ import annotations

import errno

from joinproto.errors import StoreUnreadable, UsageProblem
from joinproto.recovery.found import Raw
from joinproto.recovery.words import shown

USAGE = 2
WRITE_ERROR = 9

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
DENIED = frozenset({errno.EACCES, errno.EPERM})

SUDO = "run the same command with sudo, or as the user that the broker runs as"
DISK = (
    "look at the disk (dmesg); copy the files that can still be read to another disk, and use the"
    " copy; nothing was changed here"
)


def require_reachable(raw: Raw, *, near: str = "") -> None:
    """Raise `UsageProblem` if the path is wrong, or if this user may not read it.

    `near`: a hint at the right path, "" for none.
    """
    if raw.problem and raw.errnos & ABSENT:
        raise UsageProblem(
            f"{shown(raw.path)}: is not there: no data directory and no .info file has this path",
            next=near or "check the path, and whether its disk is mounted",
        )
    require_permitted(raw)


def require_permitted(raw: Raw) -> None:
    """Raise `UsageProblem` if this user may not read the directory or one of its files."""
    for number, said in raw.refusals:
        if number in DENIED:
            raise UsageProblem(
                f"{shown(raw.path)}: may not be read by this user: {said}", next=SUDO
            )


def code_of(error: StoreUnreadable) -> int:
    """Return the exit code of a writing command that could not open the store."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return error.code
    return USAGE if cause.errno in DENIED else WRITE_ERROR
