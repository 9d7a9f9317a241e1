"""Which clients a broker admits, as a table.

Source: hot standby, H11.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Condition, Members
from joinproto.standby.broker import Role, Variant
from joinproto.standby.variants import RULES


class Entrance(Enum):
    """The answer to a client's connection."""

    ADMITTED = "admitted"
    SENT_ON = "sent on"  # refused, with the address of the primary
    REFUSED = "refused"


@frozen(kw_only=True)
class Visit:
    """A client's connection to a broker.

    `role`: the broker's.  `is_admin`, `is_broker`: the client is an administrator, or another
    broker.  `follows`: the broker follows a primary and knows its address.
    """

    role: Role
    is_admin: bool = False
    is_broker: bool = False
    follows: bool = False


VISITS = Members("K", Visit)


def _is(said: str, **fields: object) -> Condition:
    return VISITS.fact(said, **fields)


_SERVES = _is("it is primary", role=Role.PRIMARY) | _is("it recovers", role=Role.RECOVERING)
_ALONE = _is("it stands alone", role=Role.STANDALONE)

ENTERING: Table[Entrance] = Table(
    "standby-clients",
    "hot standby, H11",
    (
        Case("H11", "it does not run", _is("stopped", role=Role.STOPPED), Entrance.REFUSED),
        Case("H11", "an administrator", _is("an administrator", is_admin=True), Entrance.ADMITTED),
        Case("H11", "a broker", _is("another broker", is_broker=True), Entrance.ADMITTED),
        # H8: a broker that recovers takes messages, but confirms none that backups lack.
        Case("H11", "it serves", _SERVES | _ALONE, Entrance.ADMITTED),
        Case("H11", "it follows", _is("it follows a primary", follows=True), Entrance.SENT_ON),
        Case("H11", "no broker serves", ALWAYS, Entrance.REFUSED),
    ),
)


@frozen
class Admission:
    """The answer to a connection, and the reason.

    `primary`: the primary's address for a client that is sent on, None for other clients.
    """

    entrance: Entrance
    primary: str | None
    why: str

    @property
    def is_admitted(self) -> bool:
        return self.entrance is Entrance.ADMITTED


def admit(
    variant: Variant,
    role: Role,
    *,
    primary: str | None = None,
    is_admin: bool = False,
    is_broker: bool = False,
) -> Admission:
    """Return the answer to a connection to a broker with this role.

    `primary`: the address of the primary that the broker follows, None if it follows none.
    """
    visit = Visit(role=role, is_admin=is_admin, is_broker=is_broker, follows=primary is not None)
    case = ENTERING.choose((visit,), 0)
    if case.outcome is Entrance.SENT_ON:
        if RULES[variant].names_primary:
            why = f"this broker is a backup: connect to {primary}"
            return Admission(case.outcome, primary, why)
        return Admission(Entrance.REFUSED, None, "this broker is a backup")
    why = {
        "it does not run": "this broker does not run",
        "no broker serves": "this broker is a backup, and follows no primary: try another address",
    }.get(case.name, case.name)
    return Admission(case.outcome, None, why)
