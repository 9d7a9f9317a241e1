"""The results of reading a configuration: each setting as it holds, and problems."""

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
    IGNORED = "ignored"  # accepted, with or without a warning, and of no effect
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


class Severity(Enum):
    """The severity of a problem; problems are printed in this order."""

    ERROR = "error"  # the node does not start
    UNSAFE = "unsafe"  # the node starts, and may split, remove a node wrongly, or stand alone
    WARNING = "warning"  # the node starts, and ignores the setting


@frozen(kw_only=True)
class Problem:
    """One problem."""

    severity: Annotated[
        Severity,
        "error: the node does not start; unsafe: it may split, remove a member or stand alone;"
        " warning: it does not do what is written",
    ]
    line: Annotated[int, AtLeast(0), "of the file, from 1; 0: of no single line"] = 0
    key: Annotated[str | None, "the setting; null: the line is not one"] = None
    found: Annotated[str | None, "what stands there"] = None
    why: Annotated[str, "the reason, in a sentence"]
    next: Annotated[str, "what to do"]
    rule: Annotated[str, "the rule of docs/discovery.md"]
