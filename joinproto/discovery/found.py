"""A setting as it holds: its value, who set it, and what the release does with it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from attrs import frozen


class Origin(Enum):
    """Where a value comes from."""

    FILE = "file"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class Said(Enum):
    """What becomes of a setting."""

    ACCEPTED = "accepted"
    IGNORED = "ignored"
    UNKNOWN = "unknown"
    INVALID = "invalid"


@frozen(kw_only=True)
class Found:
    """One setting as it holds.  `line`: 0 where the file does not set it.  Secrets are hidden."""

    key: str
    value: Any
    status: Said
    origin: Origin
    line: int = 0
    why: str = ""
