"""The old name of `joinproto.machine.terms`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.machine.terms import *  # noqa: F403

renamed(__name__, "joinproto.machine.terms")
