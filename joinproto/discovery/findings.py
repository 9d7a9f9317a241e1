"""The results of reading a configuration: each setting with its effect, and problems."""

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
    IGNORED = "ignored"  # accepted, with or without a warning, but without effect
    UNKNOWN = "unknown"  # the whole file is refused: the node does not start
    INVALID = "invalid"  # the value is refused: the node does not start


@frozen(kw_only=True)
class Found:
    """One setting, with its effect in a release."""

    key: Annotated[str, "the key as it is written"]
    value: Annotated[
        str | int | bool | tuple[str, ...], "the value as the node reads it; `...` for a secret"
    ]
    status: Annotated[SettingEffect, "the effect of the setting in the release"]
    origin: Annotated[Origin, "where the setting comes from"]
    line: Annotated[int, AtLeast(0), "its line in the file; 0: it is not in the file"] = 0
    why: Annotated[str, "the reason for the status, or an empty text"] = ""


class Severity(Enum):
    """The severity of a problem; problems are printed in this order."""

    ERROR = "error"  # the node does not start
    UNSAFE = "unsafe"  # the node starts, but may split, remove a node wrongly, or stand alone
    WARNING = "warning"  # the node starts, but the setting has no effect, or an unexpected one


@frozen(kw_only=True)
class Problem:
    """One problem of a configuration."""

    severity: Annotated[
        Severity,
        "error: the node does not start; unsafe: it may split, remove a member or stand alone;"
        " warning: a setting does not have the effect that the file suggests",
    ]
    line: Annotated[int, AtLeast(0), "its line in the file, from 1; 0: no single line"] = 0
    key: Annotated[str | None, "the key of the setting; null: the line is not a setting"] = None
    found: Annotated[str | None, "the value or the line that was found; null: not shown"] = None
    why: Annotated[str, "the reason, in a sentence"]
    next: Annotated[str, "the next step"]
    rule: Annotated[str, "the rule of docs/discovery.md"]
