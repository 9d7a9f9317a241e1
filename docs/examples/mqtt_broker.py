"""An MQTT broker that is a member: `python mqtt_broker.py node.toml`, on each of its hosts.

The same file as for `joinproto node`; `clients` is where MQTT is spoken.  Retained messages
are the same at all members, and outlive any of them.
"""

import asyncio
import logging
import sys
from pathlib import Path

from joinproto.contrib.amqtt import ClusteredBroker
from joinproto.drivers.failures import Aborted
from joinproto.node.settings import read_settings


async def main(path):
    settings = read_settings(Path(path))
    broker = ClusteredBroker(
        {
            "listeners": {"default": {"type": "tcp", "bind": str(settings.clients)}},
            "plugins": {
                "amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}
            },
        },
        config=settings.config,
        network=settings.network,
        data=settings.data,
    )
    await broker.run()


logging.basicConfig(level=logging.WARNING)
try:
    asyncio.run(main(sys.argv[1]))
except Aborted as error:
    sys.exit(f"{error}")
