"""A problem of a configuration: place, reason, and advice."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast


class Severity(Enum):
    """The severity of a problem; problems are printed in this order."""

    ERROR = "error"  # the node does not start
    UNSAFE = "unsafe"  # it starts, and may split, remove a node it should not, or stand alone
    WARNING = "warning"  # it starts, and ignores the setting


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
