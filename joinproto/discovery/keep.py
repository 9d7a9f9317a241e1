"""Decision tables for a keep-alive that finds its record gone: the shipped one, and ours.

Source: discovery, D2; the shipped one as rabbitmq-server#17211 tells of 4.3.5: the list is one
name, read as a list of names, so the check crashes, and again each time.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members


class KeepAliveResult(Enum):
    """The result of one keep-alive."""

    THERE = "there"
    WRITTEN = "written again"
    LEFT = "left"  # until the next one
    CRASH = "crash"


@frozen(kw_only=True)
class Record:
    """`there`: the service has it.  `failed`: which other records it has is not known.  `others`:
    it has others, and names one of them.
    """

    name: str
    there: bool = True
    failed: bool = False
    others: bool = False


RECORDS = Members("R", Record)
_here = RECORDS.fact
_THERE = Case("D2", "it is there", _here("it is there", there=True), KeepAliveResult.THERE)
_WRITTEN = Case("D2", "it is gone", ALWAYS, KeepAliveResult.WRITTEN)

REAL = Table(
    "discovery-keep-real",
    "discovery, keep-alive as shipped",
    (
        _THERE,
        Case("D1", "the backend failed", _here("it failed", failed=True), KeepAliveResult.LEFT),
        Case(
            "D2",
            "one name where a list is read",
            _here("others are", others=True),
            KeepAliveResult.CRASH,
        ),
        _WRITTEN,
    ),
)
"""Asks which nodes are there, and writes its record again if it is not among them."""

OURS = Table("discovery-keep-ours", "discovery, keep-alive, ours", (_THERE, _WRITTEN))
"""Asks no other node: a record that is gone is written again."""

TABLES = {"real": REAL, "ours": OURS}
SETS = (RECORDS,)
