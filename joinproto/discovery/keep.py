"""Decision tables for a keep-alive that finds its record gone: the shipped table, and ours.

Source: discovery, D2; the shipped table as rabbitmq-server#17211 describes 4.3.5: the backend
returns one name, and the check, which expects a list of names, crashes each time.
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
    LEFT = "left"  # the node does not act before the next keep-alive
    CRASH = "crash"


@frozen(kw_only=True)
class Record:
    """A node's record, as a row of the tables.

    `there`: the service has the record.  `failed`: the backend could not be asked for the nodes.
    `others`: the service has other records, and names one node.
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
"""The node asks the backend for the nodes, and writes its record again if it is not among them."""

OURS = Table("discovery-keep-ours", "discovery, keep-alive, ours", (_THERE, _WRITTEN))
"""The node writes its record again if it is gone, without asking for the nodes."""

TABLES = {"real": REAL, "ours": OURS}
SETS = (RECORDS,)
