"""`joinproto node`, `status` and `shutdown`: run a member on this machine, and talk to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from attrs import frozen

from joinproto.cli.options import AS_JSON, config_of, option
from joinproto.codec.json_form import Absent, printed

CONFIG = config_of("node")


@frozen
class Ended:
    """`joinproto node --config FILE --json`, at its end"""

    member: Annotated[str, "the member's name"]
    ended: Annotated[Literal["in order", "not started"], "how it ended"]
    warnings: Annotated[tuple[str, ...] | None, Absent(), "of --check: risky settings"] = None


@click.command(epilog="Example: joinproto node --config node.toml")
@CONFIG
@option("--verbose", "Show more.", is_flag=True)
@option(
    ("--check", "only_check"),
    "Only read the configuration and its files; start no member.",
    is_flag=True,
)
@AS_JSON
def node(config: Path, verbose: bool, only_check: bool, as_json: bool) -> int:
    """Run a member, with a small replicated log behind it.

    SIGTERM stops it: it stays a member and comes back when it is started (or, with
    `stop = "leave"`, it leaves the cluster); a second SIGTERM ends it at once.  Exit codes: 0
    ended in order, 2 wrong configuration, 3 not active in time, 4 the machine, 5 this store must
    not run here, 6 recover first.  Restart it after 3 and 4 only.
    """
    from joinproto.apps.node.process import run_node
    from joinproto.apps.node.reporting import log_to_stderr
    from joinproto.apps.node.settings import read_settings

    settings = read_settings(config)
    if not only_check:
        log_to_stderr(settings.config.member, verbose=verbose)
        code = run_node(settings)
        if as_json:
            click.echo(printed(Ended(settings.config.member, "in order")))
        return code
    if as_json:
        click.echo(printed(Ended(settings.config.member, "not started", settings.warnings)))
    else:
        for warning in settings.warnings:
            click.echo(f"warning: {warning}", err=True)
        click.echo(f"{config}: fine, member {settings.config.member}")
    return 0


@click.command(epilog="Example: joinproto status --config node.toml")
@CONFIG
@AS_JSON
def status(config: Path, as_json: bool) -> int:
    """Say what a node on this machine is doing."""
    found = _ask(config, "status")
    click.echo(json.dumps(found) if as_json else _as_text(found))
    return 0


@click.command(epilog="Example: joinproto shutdown --config node.toml")
@CONFIG
@AS_JSON
def shutdown(config: Path, as_json: bool) -> int:
    """Shut down the whole cluster in order.

    Ask a member that serves; the command returns at once.  Each member of the present view ends by
    itself once all of them have answered, and its store is clean.  A member that is away is left
    out first, and a majority must be left.  A member that is still being updated is not waited for,
    and its store stays dirty.  To stop one member only, send it SIGTERM.
    """
    found = _ask(config, "shutdown")
    click.echo(json.dumps(found) if as_json else f"asked: {found['member']}, {found['phase']}")
    return 0


def _ask(config: Path, request: str) -> dict[str, Any]:
    from joinproto.apps.node.settings import read_settings
    from joinproto.host.process.control import ask_control

    return ask_control(read_settings(config).control, request)


def _as_text(found: dict[str, Any]) -> str:
    view, waiting = found["view"], found["waiting"]
    role = " and orders the frames" if found["is_sequencer"] else ""
    rows = [
        ("member", f"{found['member']}, store {found['store_id'][:8]}"),
        ("phase", f"{found['phase']}{', serves clients' if found['serves'] else ''}{role}"),
        ("store", found["store"]),
        ("cluster", f"{found['cluster']}, initial signature {_short(found['initial'])}"),
        ("view", "none" if view is None else _view(view)),
        ("frames", _frames(found)),
        ("peers", ", ".join(found["peers"]) or "none"),
    ]
    discovery = found.get("discovery")
    if discovery is not None:
        rows.append(("found", f"{_found_text(discovery)}; {discovery['record']}"))
        if not found["serves"]:
            rows.append(("round", f"{discovery['step']}: {discovery['why']} ({discovery['rule']})"))
    if waiting is not None and not found["serves"]:
        # A node of an older version sends fewer fields.
        detail = f": {waiting['detail']}" if waiting.get("detail") else ""
        rows.append(("waits", f"{waiting['rule']}: {waiting['case']}{detail}"))
        rows += [("next", waiting["next"])] if "next" in waiting else []
    return "\n".join(f"{name:<8}{text}" for name, text in rows)


def _frames(found: dict[str, Any]) -> str:
    """Return how many frames a member has; a member that was in no view yet does not know."""
    if found["position"] is None:
        return "not known yet"
    return f"{found['position']['seq']}, committed {found['committed']}"


def _found_text(discovery: dict[str, Any]) -> str:
    listed, expected = discovery["listed"], discovery["expected"]
    if listed is None:
        return f"by {discovery['backend']}: no list, {expected} expected"
    names = ", ".join(listed) or "no member"
    return f"by {discovery['backend']}: {len(listed)} of {expected} expected: {names}"


def _view(view: dict[str, Any]) -> str:
    members, electors = " ".join(view["members"]), " ".join(view["electors"])
    return (
        f"{view['number']}, {view['kind'].upper()} {_short(view['id'])} of {members};"
        f" electors {electors}"
    )


def _short(signature: str | None) -> str:
    return "none" if signature is None else signature[:8]
