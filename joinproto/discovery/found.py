"""A setting as it holds: its value, its origin, and its use in the release."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast


class Origin(Enum):
    """The origin of a value."""

    FILE = "file"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class SettingEffect(Enum):
    """The effect of a setting in a release."""

    ACCEPTED = "accepted"
    IGNORED = "ignored"  # taken without a complaint, or with a warning, and of no effect
    UNKNOWN = "unknown"  # the whole file is refused: the node does not start
    INVALID = "invalid"


@frozen(kw_only=True)
class Found:
    """One setting."""

    key: Annotated[str, "as it is written"]
    value: Annotated[str | int | bool | tuple[str, ...], "as the node reads it; ... for a secret"]
    status: Annotated[SettingEffect, "what the release does with it"]
    origin: Annotated[Origin, "what set it"]
    line: Annotated[int, AtLeast(0), "of the file; 0: of none"] = 0
    why: Annotated[str, "the reason, where there is one to say"] = ""
