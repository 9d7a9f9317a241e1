"""The old name of `joinproto.apps.clusterer.service`; it goes with the next version."""

from joinproto._old import renamed
from joinproto.apps.clusterer.service import *  # noqa: F403

renamed(__name__, "joinproto.apps.clusterer.service")
