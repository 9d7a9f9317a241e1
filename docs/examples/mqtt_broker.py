"""An MQTT broker that is a member: `python mqtt_broker.py node.toml`, on each of its hosts.

The configuration file, signals, exit codes, `joinproto status` and `shutdown` are those of
`joinproto node`; MQTT clients connect to `clients`.  Retained messages are the same at all members,
and outlive any of them.
"""

import logging
import sys
from pathlib import Path

from joinproto import (
    ClusteredBroker,
    JoinprotoError,
    log_to_stderr,
    read_settings,
    run_node,
)


def main(path: str) -> int:
    settings = read_settings(Path(path))
    log_to_stderr(settings.config.member, verbose=False)
    logging.getLogger("amqtt").setLevel(logging.WARNING)
    return run_node(
        settings,
        lambda: ClusteredBroker(
            {
                "listeners": {"default": {"type": "tcp", "bind": str(settings.clients)}},
                "plugins": {
                    "amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}
                },
            },
            config=settings.config,
            network=settings.network,
            data=settings.data,
        ),
    )


try:
    sys.exit(main(sys.argv[1]))
except JoinprotoError as error:
    logging.error("%s; next: %s", error.message, error.next)  # noqa: LOG015 - a program of its own
    sys.exit(error.code)
