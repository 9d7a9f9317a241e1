"""`joinproto standby`: run a broker of hot standby on this machine, and talk to it."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from joinproto.cli.options import AS_JSON, config_of, option
from joinproto.cli.show.amounts import aligned
from joinproto.errors import MisuseError, not_installed

EPILOG = """\b
Examples, with three files that name each other under [brokers]:
  joinproto standby run --config a.toml
  joinproto standby promote --config a.toml
  joinproto standby status --config b.toml
"""


@click.group(epilog=EPILOG)
def standby() -> None:
    """Run a broker of hot standby, and talk to it.

    One primary serves, and backups follow it; a broker whose promotion would lose messages refuses
    to be primary.

    Exit codes: 0 done; 1 a promotion was refused; 2 wrong usage or configuration; 4 the machine,
    no broker answers, or the extra is missing; 5 this store must not run here.  `agent` has the
    exit codes of OCF.
    """


CONFIG = config_of("broker")


@standby.command(epilog="Example: joinproto standby run --config broker.toml")
@CONFIG
@option("--verbose", "Show more.", is_flag=True)
@option(("--check", "only_check"), "Only read the configuration; start no broker.", is_flag=True)
def run(config: Path, verbose: bool, only_check: bool) -> int:
    """Run a broker until SIGTERM stops it.  A second SIGTERM ends it at once.

    It begins as a backup that looks for a primary: an operator must promote a broker, unless the
    configuration says `manager = "built-in"`.  Exit codes: 0 stopped in order, 2 wrong
    configuration, 4 the machine, 5 this store must not run here.
    """
    from joinproto.apps.standby.settings import read_settings

    settings = read_settings(config)
    if only_check:
        click.echo(f"{config}: fine, broker {settings.broker}")
        return 0
    from joinproto.apps.node.reporting import log_to_stderr
    from joinproto.apps.standby.amqp import ClientPort
    from joinproto.apps.standby.process import run_broker

    log_to_stderr(settings.broker, verbose=verbose)
    return run_broker(settings, ClientPort)


@standby.command(epilog="Example: joinproto standby status --config broker.toml")
@CONFIG
@AS_JSON
def status(config: Path, as_json: bool) -> int:
    """Say what a broker on this machine is doing."""
    found = _ask(config, "status")
    click.echo(json.dumps(found) if as_json else _as_text(found))
    return 0


@standby.command(epilog="Example: joinproto standby promote --config broker.toml")
@CONFIG
@AS_JSON
def promote(config: Path, as_json: bool) -> int:
    """Tell a broker to be primary; exit code 1 if it refuses.

    It refuses while it catches up, if its store is dirty, and if a better broker or a broker of a
    younger generation answers.  Its answer has the form of `joinproto ask standby.promote`.
    If the manager is built in, the chain of views must take the promotion, too.
    """
    found = _ask(config, "promote")
    text = f"{found['verdict']} ({found['rule']}): {found['why']}"
    click.echo(json.dumps(found) if as_json else text)
    return 1 if found["verdict"] == "refused" else 0


@standby.command(epilog="Example: joinproto standby demote --config broker.toml")
@CONFIG
@AS_JSON
def demote(config: Path, as_json: bool) -> int:
    """Tell a primary to serve no more, and to follow the next primary."""
    found = _ask(config, "demote")
    click.echo(json.dumps(found) if as_json else f"{found['broker']} is {found['role']}")
    return 0


@standby.command("set", epilog="Example: joinproto standby set --config broker.toml backups=30")
@CONFIG
@AS_JSON
@click.argument("setting", metavar="NAME=VALUE")
def change(config: Path, as_json: bool, setting: str) -> int:
    """Change a setting until the broker ends.

    \b
    backups=SECONDS     how long a primary waits for a backup that is away
    public=HOST:PORT    the address of this broker that backups give to clients
    """
    found = _ask(config, f"set {setting}")
    if "error" in found:
        raise MisuseError(found["error"], next="joinproto standby set --help")
    click.echo(json.dumps(found) if as_json else f"{found['name']} is {found['value']}")
    return 0


@standby.command(
    epilog="Example: OCF_RESKEY_config=/etc/broker.toml joinproto standby agent monitor"
)
@click.argument("action")
def agent(action: str) -> int:
    """Perform the action that a resource manager names, as an OCF resource agent.

    Actions: start, stop, monitor, promote, demote, meta-data, validate-all.  The configuration is
    in OCF_RESKEY_config.  Exit codes are OCF's: 0 done, 1 failed or refused, 2 arguments, 3 no such
    action, 4 rights, 5 not installed, 6 configuration, 7 not running, 8 runs as primary, 9 a
    primary that does not answer.
    """
    if find_spec("anyio") is None and action != "meta-data":
        click.echo(not_installed("anyio", "standby"), err=True)
        return 5
    from joinproto.apps.standby.agent import call

    answer = call(action, os.environ)
    if answer.why:
        click.echo(answer.why, err=action != "meta-data", nl=action != "meta-data")
    return int(answer.code)


def _ask(config: Path, request: str) -> dict[str, Any]:
    from joinproto.apps.standby.settings import read_settings
    from joinproto.host.process.control import ask_control

    return ask_control(read_settings(config).control, request)


def _as_text(found: dict[str, Any]) -> str:
    queues, role, standing = found["queues"], found["role"], found["standing"]
    if found["serves"]:
        role += ", serves clients"
    elif role == "connecting" != standing:
        role += f", stands as {standing}"
    if found["dropped"]:
        role += ", dropped: the primary went on without it"
    rows = [
        ("broker", f"{found['broker']}, of cluster {found['cluster']}"),
        ("role", role),
        ("store", f"{found['store']}, generation {found['generation']}"),
        ("primary", found["primary"] or "not known"),
        ("up to date", ", ".join(found["up_to_date"]) or "not known"),
        ("sessions", ", ".join(found["peers"]) or "none"),
        ("queues", ", ".join(f"{name}: {count}" for name, count in queues.items()) or "none"),
    ]
    if (chain := found["chain"]) is not None:
        state = "open" if chain["open"] else "closed: no majority of the brokers is reached"
        rows.append(("chain", f"{state}, generation {chain['generation']}"))
    if found["waits_for"]:
        rows.append(("waits for", ", ".join(found["waits_for"])))
    return "\n".join(aligned(rows))
