"""The old name of `joinproto.host.ports`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.host.ports import *  # noqa: F403

renamed(__name__, "joinproto.host.ports")
