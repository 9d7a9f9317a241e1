"""Durable messages that a broker confirms in a second: alone, with one backup, with two.

    python -m tools.failover.speed --messages 20000
    python -m tools.failover.speed --messages 20000 --beside rabbitmq

Compare only rates of the same run: all processes share the machine's cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from proton import Event, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container

from tools.failover import rabbitmq
from tools.failover.manager import Manager, running


class Publisher(MessagingHandler):  # type: ignore[misc]
    """Publishes `count` messages as fast as it gets credit.

    `seconds`: the time until the last message was confirmed.
    """

    def __init__(self, url: str, queue: str, count: int) -> None:
        super().__init__()
        self.url, self.queue, self.count = url, queue, count
        self.to_send = deque(range(count))
        self.confirmed = 0
        self.began = self.seconds = 0.0

    def on_start(self, event: Event) -> None:
        self.connection = event.container.connect(self.url, reconnect=False)
        event.container.create_sender(self.connection, self.queue)

    def on_sendable(self, event: Event) -> None:
        self.began = self.began or time.monotonic()
        while event.sender.credit > 0 and self.to_send:
            event.sender.send(Message(id=self.to_send.popleft(), durable=True, body="x" * 100))

    def on_accepted(self, event: Event) -> None:
        self.confirmed += 1
        if self.confirmed == self.count:
            self.seconds = time.monotonic() - self.began
            self.connection.close()


def measure(
    top: Path,
    messages: int,
    rounds: int,
    declare_queue: Callable[[str], tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return messages a second with none, one and two backups, each the median of some rounds.

    The rates are measured in turn, so that other load on the machine affects all alike.
    `declare_queue`: makes a queue of this name at RabbitMQ, and returns the broker's URL and the
    queue's address there.
    """
    managers = {}
    for backups, names in enumerate(("a", "ab", "abc")):
        (top / names).mkdir()
        managers[backups] = Manager.of(top / names, names)
    rates: dict[int, list[float]] = {backups: [] for backups in managers}
    cpu: dict[int, list[float]] = {backups: [] for backups in managers}
    rabbitmq_rates: list[float] = []
    for number in range(rounds):
        if declare_queue is not None:
            rabbitmq_rates.append(_rate(*declare_queue(f"q{number}"), messages))
        for backups, manager in managers.items():
            with running(manager):
                manager.start()
                if manager.promote("a") != "a":
                    raise RuntimeError(f"a was not promoted: {manager.refusals}")
                for name in list(manager.files)[1:]:
                    manager.wait_backup(name)
                before = _cpu(manager)
                rates[backups].append(_rate(manager.urls()[0], f"q{number}", messages))
                cpu[backups].append((_cpu(manager) - before) / messages)
                for name in sorted(manager.files, reverse=True):
                    manager.call(name, "stop")
    found = {
        str(backups): {
            "per_second": round(median(rates[backups])),
            "primary_cpu_us": round(1e6 * median(cpu[backups])),
        }
        for backups in managers
    }
    alone = median(rates[0])
    two = median(rates[2])
    compared: dict[str, float] = {}
    if rabbitmq_rates:
        compared["rabbitmq_per_second"] = round(median(rabbitmq_rates))
        compared["two_backups_to_rabbitmq"] = round(two / median(rabbitmq_rates), 2)
    return {
        "messages": messages,
        "rounds": rounds,
        "backups": found,
        "one_backup_share": round(median(rates[1]) / alone, 2),
        "two_backups_share": round(two / alone, 2),
        **compared,
    }


def _rate(url: str, queue: str, messages: int) -> float:
    """Return messages a second of one publisher."""
    publisher = Publisher(url, queue, messages)
    Container(publisher).run()
    if not publisher.seconds:
        raise RuntimeError(f"{url}: {publisher.confirmed} of {messages} were confirmed")
    return messages / publisher.seconds


def _cpu(manager: Manager) -> float:
    """Return the CPU seconds of the first broker."""
    pid = manager.agent("a")._pid()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Print the measurements; return 1 if one backup costs more than half of the rate."""
    parser = argparse.ArgumentParser(prog="python -m tools.failover.speed", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--beside", choices=["rabbitmq"], help="measure a quorum queue of three nodes, too"
    )
    options = parser.parse_args()
    with ExitStack() as stack:
        top = Path(stack.enter_context(TemporaryDirectory()))
        declare_queue = None
        if options.beside and not rabbitmq.is_installed():
            print("RabbitMQ is left out: rabbitmq-server is not installed", file=sys.stderr)
        elif options.beside:
            declare_queue = stack.enter_context(rabbitmq.running())
        found = measure(top, options.messages, options.rounds, declare_queue)
    print(json.dumps(found, indent=2))
    return 0 if found["one_backup_share"] >= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
