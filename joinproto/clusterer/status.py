"""The statuses of a node and their changes, as a state machine for each release.

Source: Clusterer, U6 and U7; the real coordinator's statuses.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.clusterer.reading import Release
from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members


class Status(Enum):
    """The status of a node; UNREACHABLE is the status that others note if it does not answer."""

    PREBOOT = "preboot"
    JOINING = "joining"
    REJOINING = "rejoining"
    BOOTING = "booting"
    READY = "ready"
    PENDING = "pending"
    SHUTDOWN = "shutdown"
    UNREACHABLE = "unreachable"


WAITING = (Status.JOINING, Status.REJOINING)


@frozen(kw_only=True)
class Turn:
    """The row that the machine's tables read when another config begins.

    `named`: the config names this node.  `compatible`: the config is compatible with the last
    achieved one.  `ready`: the node is ready.
    """

    named: bool = True
    compatible: bool = False
    ready: bool = False


_ROW = Members("config", Turn)
_OUT = _ROW.fact("the config does not name this node", named=False)
_FITS = _ROW.fact("it is compatible with the last achieved one", compatible=True)
_READY = _ROW.fact("this node is ready", ready=True)


def _begin(release: Release) -> Table[Status]:
    left = Status.PENDING if release is Release.SEED else Status.SHUTDOWN
    return Table(
        f"clusterer-begin-{release.value}",
        "Clusterer, U3 to U6: a younger config begins",
        (
            Case("U6", "left out", _OUT, left),
            Case("U3", "adopted in silence", _FITS & _READY, Status.READY),
            Case("U5", "data kept", _FITS, Status.REJOINING),
            Case("U4", "data given up", ALWAYS, Status.JOINING),
        ),
    )


def _one(name: str, rule: str, about: str, outcome: Status) -> Table[Status]:
    return Table(f"clusterer-{name}", "Clusterer", (Case(rule, about, ALWAYS, outcome),))


BEGIN = {release: _begin(release) for release in Release}
BEGINS = (Status.PREBOOT, *WAITING, Status.BOOTING, Status.READY, Status.PENDING)


def _machine(release: Release) -> StateMachine[Status]:
    arrows = [
        # A booting node begins again only after its broker failed to boot.
        Arrow("begin", BEGINS, BEGIN[release]),
        Arrow("success", WAITING, _one("success", "U4", "the broker boots", Status.BOOTING)),
        Arrow("booted", (Status.BOOTING,), _one("booted", "U4", "achieved", Status.READY)),
        Arrow("conflict", WAITING, _one("conflict", "U1", "two contents", Status.SHUTDOWN)),
    ]
    if release is Release.SEED:
        over = _one("time-up", "U6", "the time is up", Status.SHUTDOWN)
        arrows.append(Arrow("time up", (Status.PENDING,), over))
    return StateMachine(f"clusterer-{release.value}", Status, arrows)


MACHINES = {release: _machine(release) for release in Release}
