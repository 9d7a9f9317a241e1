"""The old name of `joinproto.machine.tables`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.machine.tables import *  # noqa: F403

renamed(__name__, "joinproto.machine.tables")
