"""The old name of `joinproto.apps.contrib.amqtt`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.apps.contrib.amqtt import *  # noqa: F403

renamed(__name__, "joinproto.apps.contrib.amqtt")
