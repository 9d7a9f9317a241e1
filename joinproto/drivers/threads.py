"""The old name of `joinproto.host.threads`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.host.threads import *  # noqa: F403

renamed(__name__, "joinproto.host.threads")
