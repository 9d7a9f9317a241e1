"""`joinproto reconcile run`: keep the replicas of a real broker's queues, or only report changes.

0  stopped in order (SIGTERM, SIGINT), or one round with --once
1  with --once: the broker could not be read
2  the command line, or the broker refuses the user
4  the machine: a tool or the extra is missing; the state file is in use, damaged, or not writable
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from contextlib import closing, nullcontext
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

import click

from joinproto.cli.options import COUNT, FILE, Finite, option
from joinproto.errors import EnvironmentProblem, StoreError, StoreUnreadable, UsageProblem
from joinproto.net.secret import warn_if_public
from joinproto.reconcile.placement import Choice, Placement
from joinproto.reconcile.queue import Node, Placing, Situation


def function_of(name: str | None) -> Placement | None:
    """Return the user's function that `--placement MODULE:NAME` names; its answers are checked."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageProblem(
            f"--placement {name}: {error}", next="give MODULE:FUNCTION that Python can import"
        ) from None

    def guarded(candidates: tuple[Node, ...], situation: Situation) -> Choice:
        try:
            choice = found(candidates, situation)
        except Exception as error:
            raise UsageProblem(
                f"--placement {name} raised {type(error).__name__}: {error}",
                next="it takes the candidates and the situation (docs/reconcile.md)",
            ) from error
        if not isinstance(choice, Choice) or choice.node not in [one.name for one in candidates]:
            raise UsageProblem(
                f"--placement {name} answered {choice!r}",
                next="return a Choice of one of the candidates (docs/reconcile.md)",
            )
        return choice

    return guarded


EXAMPLE = """\b
Examples:
  joinproto reconcile run --url http://localhost:15672 --user monitor --password-file pw --target 3
  joinproto reconcile run --url ... --target 3 --state /var/lib/keeper.json --apply
"""
PASSWORD = "JOINPROTO_RECONCILE_PASSWORD"
DAY = 86_400.0


@click.command(epilog=EXAMPLE)
@option(("--url", "urls"), "A node's management API.", multiple=True, required=True)
@option("--user", "A user with the tag monitoring.", usual="guest")
@option("--password-file", f"A file with the password; default: ${PASSWORD}.", FILE)
@option("--target", "Replicas of a queue if neither it nor a policy sets them.", click.IntRange(0))
@option(
    ("--zone", "zones"),
    "A node's zone; the nodes of a zone fail together.",
    multiple=True,
    metavar="NODE=ZONE",
)
@option("--apply", "Add and remove replicas; default: only report.", is_flag=True)
@option("--state", "The file that remembers the changes that were begun.", FILE)
@option(
    "--failure-interval",
    "Seconds that a node must be away before a replica is replaced.",
    Finite(0),
    usual=60.0,
)
@option("--interval", "Seconds between two looks at a queue.", Finite(0, min_open=True), usual=60.0)
@option(
    "--trigger-interval", "Seconds from an event, or a change, to a look.", Finite(0), usual=10.0
)
@option(
    "--poll",
    "Seconds between two readings of the broker.",
    Finite(0, DAY, min_open=True),
    usual=5.0,
)
@option(
    "--settle",
    "Seconds until a change is tried again, if its tool ended without a visible effect.",
    Finite(0),
    usual=60.0,
)
@option("--keep", "Drop no replica, not even of nodes that left.", is_flag=True)
@option(
    "--placement",
    "random, least-loaded, zone-aware, or your own MODULE:FUNCTION.",
    usual="zone-aware",
    metavar="NAME",
)
@option("--copies-at-once", "The most copies of a node at a time.", COUNT, usual=2)
@option("--copies-in-all", "The most copies of all nodes at a time.", COUNT)
@option(
    "--metrics-port",
    "Serve Prometheus metrics on 127.0.0.1, at this port.",
    click.IntRange(1, 65535),
)
@option("--rabbitmq-queues", "The tool for quorum queues.", usual="rabbitmq-queues")
@option("--rabbitmq-streams", "The tool for streams.", usual="rabbitmq-streams")
@option(
    "--timeout",
    "Seconds that a tool may take; the API may take a sixth of them.",
    Finite(0, DAY, min_open=True),
    usual=60.0,
)
@option("--once", "Do one round, which looks at each queue, and end.", is_flag=True)
def run(**options: Any) -> int:
    """Keep a minimum of replicas in a running RabbitMQ; without --apply, only report the changes.

    Each decision is a line of JSON on standard output.  The file --state has the changes that were
    begun.  After a restart, the command first asks the leaders for the outcome of these changes.
    """  # fmt: skip
    try:
        return _run(options)
    except StoreError as error:
        error.code = EnvironmentProblem.default_code
        raise


def _run(options: dict[str, Any]) -> int:
    # httpx is loaded here, so that the error names the missing extra.
    from joinproto.apps.reconcile.api import Api
    from joinproto.apps.reconcile.commands import Tools
    from joinproto.apps.reconcile.journal import Journal
    from joinproto.apps.reconcile.loop import Loop
    from joinproto.apps.reconcile.reporting import Reporter

    for url in options["urls"]:
        _refuse_malformed(url)
    journal = None
    if options["apply"]:
        if options["state"] is None:
            raise UsageProblem(
                "--apply without --state",
                next="add --state with a file on a disk that survives a crash",
            )
        if which(options["rabbitmq_queues"]) is None:
            raise EnvironmentProblem(
                f"--rabbitmq-queues {options['rabbitmq_queues']}: there is no such program",
                next="give the path of the tool",
            )
        try:
            journal = Journal.open(options["state"])
        except StoreUnreadable as error:
            raise UsageProblem(f"--state {error.args[0]}", next=error.next) from None
    api = Api(
        urls=options["urls"],
        user=options["user"],
        password=_password(options["password_file"]),
        timeout=options["timeout"] / 6,
        target=options["target"],
        zones=dict(map(_zone, options["zones"])),
    )
    tools = Tools((options["rabbitmq_queues"],), (options["rabbitmq_streams"],), options["timeout"])
    reporter = Reporter(_say)
    if options["metrics_port"] is not None:
        from prometheus_client import start_http_server

        try:
            start_http_server(options["metrics_port"], "127.0.0.1", registry=reporter.registry)
        except OSError as error:
            raise EnvironmentProblem(
                f"--metrics-port {options['metrics_port']}: {error.strerror}",
                next="choose another port",
            ) from None
    with nullcontext() if journal is None else closing(journal):
        loop = Loop(api, tools, _keeper(options), reporter, journal)
        loop.start()
        return _run_until_stopped(loop, options)


def _run_until_stopped(loop: Any, options: dict[str, Any]) -> int:
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    is_first = True
    while not stopped.is_set():
        is_read = loop.round(refused_is_fatal=is_first)
        is_first = False
        if options["once"]:
            return 0 if is_read else 1
        stopped.wait(options["poll"])
    return 0


def _keeper(options: dict[str, Any]) -> Any:
    from joinproto.reconcile.keeper import Keeper, Rules
    from joinproto.reconcile.plan import Limits
    from joinproto.reconcile.queue import Settings
    from joinproto.reconcile.timers import Timers

    is_own = options["placement"] not in [one.value for one in Placing]
    settings = Settings(
        auto_remove=not options["keep"],
        failure_interval=options["failure_interval"],
        placement=Placing.ZONE_AWARE if is_own else Placing(options["placement"]),
    )
    pace = Timers(
        interval=1e-9 if options["once"] else options["interval"],
        trigger_interval=options["trigger_interval"],
    )
    limits = Limits(
        copies_at_once=options["copies_at_once"], copies_in_all=options["copies_in_all"]
    )
    place = function_of(options["placement"]) if is_own else None
    return Keeper(Rules(pace, settings, limits, options["settle"], place))


def _password(file: Path | None) -> str:
    if file is None:
        return os.environ.get(PASSWORD, "guest")
    warn_if_public("--password-file", file)
    try:
        return file.read_text("utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(
            f"--password-file {file}: {error}", next="name a text file that can be read"
        ) from None


def _refuse_malformed(url: str) -> None:
    try:
        found = urlsplit(url)
        is_valid = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageProblem(
            f"--url {url}: expected the address of a management API",
            next="write it as in http://one:15672",
        )


def _zone(text: str) -> tuple[str, str]:
    node, equals, zone = text.partition("=")
    if not (node and equals and zone):
        raise UsageProblem(
            f"--zone {text}: expected NODE=ZONE", next="write it as in rabbit@one=rack-1"
        )
    return node, zone


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
