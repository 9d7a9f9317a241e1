"""Measures how a backup catches up with a long queue, copied from its back or from its front.

    python -m tools.failover.chase --messages 100000 --svg docs/standby-chase.svg

A publisher puts messages at the back as fast as a consumer takes them from the front, and faster
than messages are copied to the backup.  A copy from the front never ends; a copy from the back
meets the consumer.  Exit code 1: the copy from the back does not catch up, or the copy from the
front does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proton import Delivery, Event, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container

from tools.failover.manager import PATIENCE_SECONDS, Manager, running
from tools.failover.speed import Publisher

QUEUE = "chase"
STEP_SECONDS = 0.02
SAMPLE_SECONDS = 0.5
ORDERS = ("lifo", "fifo")


class Load(MessagingHandler):  # type: ignore[misc]
    """Publishes `rate` messages a second and takes as many, until it is killed."""

    def __init__(self, url: str, rate: float) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self.url, self.rate = url, rate
        self.sent = self.requested = 0

    def on_start(self, event: Event) -> None:
        self.container = event.container
        connection = event.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(connection, QUEUE)
        self.receiver = event.container.create_receiver(connection, QUEUE)
        self.began = time.monotonic()
        event.container.schedule(STEP_SECONDS, self)

    def on_timer_task(self, event: Event) -> None:
        due = int((time.monotonic() - self.began) * self.rate)
        while self.sent < due and self.sender.credit > 0:
            self.sent += 1
            self.sender.send(Message(id=f"late-{self.sent}", durable=True, body="x" * 100))
        if self.requested < self.sent:
            # The client takes as many messages as it publishes.
            self.receiver.flow(self.sent - self.requested)
            self.requested = self.sent
        event.container.schedule(STEP_SECONDS, self)

    def on_message(self, event: Event) -> None:
        event.delivery.update(Delivery.ACCEPTED)
        event.delivery.settle()


def chase(
    top: Path, order: str, messages: int, rate: float, copies: float, seconds: float
) -> dict[str, Any]:
    """Return the number of messages left to copy over time, and when the backup caught up.

    `rate`, `copies`: messages a second.  `seconds`: how long a backup that does not catch up is
    watched.  Raises `RuntimeError` if no message is to be copied, or the primary does not answer.
    """
    tables = f'[copying]\norder = "{order}"\nper_second = {copies}\n'
    with running(Manager.of(top, "ab", tables=tables)) as manager:
        manager.start("a")
        manager.promote("a")
        Container(Publisher(manager.url("a"), QUEUE, messages)).run()
        load = subprocess.Popen(
            [sys.executable, "-m", "tools.failover.chase", "--load", manager.url("a"), str(rate)],
            cwd=Path(__file__).resolve().parents[2],
        )
        try:
            manager.start("b")
            return {"order": order, **_watch_backup(manager, seconds)}
        finally:
            load.kill()
            load.wait()


def _watch_backup(manager: Manager, seconds: float) -> dict[str, Any]:
    samples: list[tuple[float, int]] = []
    began, caught_up, before = 0.0, None, 0
    waits_since = time.monotonic()
    while not began or time.monotonic() - began < seconds:
        if not (found := manager.status("a")):
            # The broker is too busy to answer in time.
            if time.monotonic() - waits_since > PATIENCE_SECONDS + seconds:
                raise RuntimeError("a does not answer")
            time.sleep(SAMPLE_SECONDS)
            continue
        left, confirmed = int(str(found["to_copy"])), int(str(found["confirmed"]))
        if left and not began:
            began, before = time.monotonic(), confirmed
        if began:
            at = round(time.monotonic() - began, 1)
            samples.append((at, left))
            if manager.status("b").get("role") == "backup":
                caught_up = at
                break
        elif time.monotonic() - waits_since > PATIENCE_SECONDS:
            raise RuntimeError(f"b has nothing to copy: {manager.status('b')}")
        time.sleep(SAMPLE_SECONDS)
    spent = time.monotonic() - began
    rate = (int(str(manager.status("a")["confirmed"])) - before) / spent
    return {"caught_up_after": caught_up, "published_a_second": round(rate), "samples": samples}


def as_svg(runs: list[dict[str, Any]], about: str) -> str:
    """Return the plot: messages still to be copied, over seconds.  `about`: its title."""
    wide, high, left, under = 640, 320, 70, 40
    points = [point for run in runs for point in run["samples"]]
    most_x, most_y = max(x for x, _ in points), max(y for _, y in points)
    colours = dict(zip(ORDERS, ("#0b6e4f", "#b3361f"), strict=True))

    def place(x: float, y: float) -> str:
        return (
            f"{left + x / most_x * (wide - left - 20):.1f},"
            f"{high - under - y / most_y * (high - under - 40):.1f}"
        )

    def text(x: float, y: float, words: str, *, anchor: str = "middle", fill: str = "#444") -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{words}</text>'

    axes = f"M{place(0, most_y)} L{place(0, 0)} L{place(most_x, 0)}"
    size = f'viewBox="0 0 {wide} {high}" font-size="12" font-family="sans-serif" role="img"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{about}</title>",
        f'<rect width="{wide}" height="{high}" fill="#fff"/>',
        text(left, 20, "messages still to be copied", anchor="start"),
        text(wide - 20, high - 8, "seconds", anchor="end"),
        f'<path d="{axes}" fill="none" stroke="#999"/>',
    ]
    for share in (0, 0.5, 1):
        x, y = place(most_x * share, most_y * share).split(",")
        lines.append(text(left - 6, float(y) + 4, f"{most_y * share:,.0f}", anchor="end"))
        lines.append(text(float(x), high - under + 16, f"{most_x * share:.0f}"))
    for at, run in enumerate(runs):
        colour = colours[run["order"]]
        drawn = " ".join(place(*point) for point in run["samples"])
        lines.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        ended = run["caught_up_after"]
        words = f"caught up after {ended:g} s" if ended is not None else "does not catch up"
        named = {"lifo": "from the back", "fifo": "from the front"}[run["order"]]
        lines.append(text(wide - 20, 20 + 16 * at, f"{named}: {words}", anchor="end", fill=colour))
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Print the measurements, draw them if `--svg` is given, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.failover.chase", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument(
        "--rate",
        type=float,
        default=300.0,
        help="messages published and messages taken each second",
    )
    parser.add_argument(
        "--copies",
        type=float,
        default=250.0,
        help="the greatest number of messages that are copied each second",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        help="seconds after which a backup that does not catch up is given up",
    )
    parser.add_argument("--svg", type=Path, help="the file for the plot")
    parser.add_argument("--load", nargs=2, metavar=("URL", "RATE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        Container(Load(options.load[0], float(options.load[1]))).run()
        return 0
    runs = []
    for order in ORDERS:
        with TemporaryDirectory() as top:
            runs.append(
                chase(
                    Path(top),
                    order,
                    options.messages,
                    options.rate,
                    options.copies,
                    options.seconds,
                )
            )
    if options.svg:
        about = f"{options.messages} messages, {options.rate:g} published and taken a second"
        options.svg.write_text(as_svg(runs, about), encoding="utf-8")
    shown = [{**run, "samples": [*run["samples"][:1], *run["samples"][-1:]]} for run in runs]
    print(json.dumps(shown, indent=2))
    ends = [run["caught_up_after"] is not None for run in runs]
    return 0 if ends == [True, False] else 1


if __name__ == "__main__":
    sys.exit(main())
