"""The file with the secret that all of a cluster share."""

from __future__ import annotations

from pathlib import Path

from joinproto.errors import UsageProblem

SECRET_BYTES_MIN = 16


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
            next="`openssl rand -hex 32` makes one; the same file for all members",
        )
    return secret
