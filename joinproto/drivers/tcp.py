"""The old name of `joinproto.net.tcp`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.net.tcp import *  # noqa: F403

renamed(__name__, "joinproto.net.tcp")
