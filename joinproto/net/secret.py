"""The file with the secret that all members of a cluster share."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

from joinproto.errors import UsageProblem

log = logging.getLogger(__name__)

SECRET_BYTES_MIN = 16


def warn_if_public(name: str, path: Path) -> None:
    """Log a warning about a secret's file that every user of this machine can read or write.

    Such a file is not refused, because programs that mount secrets into containers set its mode.
    """
    if why := public(name, path):
        log.warning("%s", why)


def public(name: str, path: Path) -> str:
    """Return the warning about a secret's file, "" unless all users can read or write it."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ""
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        what = "read" if mode & stat.S_IROTH else "change"
        return (
            f"{name} {path}: all users of this machine can {what} it (mode {mode:o}); chmod o= it"
        )
    return ""


def read_secret(name: str, path: Path) -> bytes:
    """Return the secret in a file; raises `UsageProblem`, which names the setting `name`."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise UsageProblem(
            f"{name} {path}: {error.strerror or error}", next="check the path"
        ) from error
    if len(secret) < SECRET_BYTES_MIN:
        raise UsageProblem(
            f"{name} {path}: {len(secret)} bytes, expected at least {SECRET_BYTES_MIN}",
            next="make one with `openssl rand -hex 32`, and give all members the same file",
        )
    warn_if_public(name, path)
    return secret
