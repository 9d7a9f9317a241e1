"""Three RabbitMQ nodes with a quorum queue, which clients reach by AMQP 1.0, for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.fixtures.rabbitmq import NODES, PROGRAMS, cluster

PLUGIN = "rabbitmq_amqp1_0"


def is_installed() -> bool:
    return Path(PROGRAMS, "rabbitmq-server").is_file()


@contextmanager
def running() -> Iterator[Callable[[str], tuple[str, str]]]:
    """Yield a function that declares a queue and returns the broker's URL and the queue's address
    there.
    """
    with cluster() as nodes:
        # Clients without a name become this user, so joinproto's client can be used unchanged.
        (nodes.root / "rabbitmq.conf").write_text("amqp1_0.default_user = guest\n", "utf-8")
        nodes.form(plugins=PLUGIN)

        def queue(name: str) -> tuple[str, str]:
            queue_name = f'rabbit_misc:r(<<"/">>, queue, <<"{name}">>)'
            kind = '[{<<"x-queue-type">>, longstr, <<"quorum">>}]'
            call = f'rabbit_amqqueue:declare({queue_name}, true, false, {kind}, none, <<"x">>).'
            nodes.ctl("a", "eval", call)
            queues = nodes.ctl("a", "list_queues", "name", "type", "members", "--no-table-headers")
            row = next(line for line in queues.splitlines() if line.startswith(f"{name}\t"))
            if "quorum" not in row or not all(f"{node}@" in row for node in NODES):
                raise RuntimeError(f"not a quorum queue of three nodes: {row}")
            return f"amqp://127.0.0.1:{nodes.port('a')}", f"/amq/queue/{name}"

        yield queue
        for node in NODES:
            nodes.ctl(node, "stop")
