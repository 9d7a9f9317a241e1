"""The command group `joinproto`: which commands there are, and where each one lives.

A command is imported when it is called, never before: `joinproto --help` costs no NumPy,
`joinproto recover` works on a machine without it, and a broken extra breaks one command.
Exit codes and the form of errors are in `joinproto/__main__.py`: a command returns its
exit code (None is 0), or raises one of `joinproto.errors`.
"""

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from attrs import frozen

from joinproto import __version__


@frozen
class Row:
    """One command: where it is, as "module:attribute", and its line in the help."""

    target: str
    about: str


class LazyGroup(click.Group):
    """A group whose commands are rows of a table; also for groups within the group."""

    def __init__(self, *, rows: Mapping[str, Row], **settings: Any) -> None:
        super().__init__(**settings)
        self.rows = rows

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names in the order of the table: the everyday ones first."""
        return list(self.rows)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import and return the command `name`; None if there is no such row."""
        if name not in self.rows:
            return None
        module, _, attribute = self.rows[name].target.partition(":")
        was_on = gc.isenabled()
        gc.disable()  # what is imported stays
        try:
            command = getattr(import_module(module), attribute)
        finally:
            if was_on:
                gc.enable()
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.rows[name].target} is no click command: {command!r}")
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, importing none of them."""
        if self.rows:
            with formatter.section("Commands"):
                formatter.write_dl([(name, row.about) for name, row in self.rows.items()])


# One row per command, in the order of the help.
COMMANDS: dict[str, Row] = {
    "check": Row("joinproto.cli.commands.check:check", "Search a world, or a model of your own."),
    "query": Row("joinproto.cli.commands.query:query", "Ask about the states of a run, in SQL."),
    "models": Row("joinproto.cli.commands.models:models", "List the worlds that ship."),
    "simulate": Row("joinproto.cli.commands.simulate:simulate", "Walk through a world at random."),
    "prove": Row("joinproto.cli.commands.prove:prove", "Prove claims for any number of members."),
    "draw": Row("joinproto.cli.commands.draw:draw", "Draw state machines and decision tables."),
    "decide": Row("joinproto.cli.commands.decide:decide", "Judge a given set of members."),
    "ask": Row("joinproto.cli.commands.ask:ask", "Ask for one decision of a system, by JSON."),
    "discovery": Row("joinproto.cli.commands.discovery:discovery", "How nodes find their peers."),
    "reconcile": Row(
        "joinproto.cli.commands.reconcile:reconcile", "Why a queue has the replicas it has."
    ),
    "standby": Row(
        "joinproto.cli.commands.standby:standby", "One primary, and backups that follow it."
    ),
    "clusterer": Row(
        "joinproto.cli.commands.clusterer:clusterer", "Cluster configs that nodes reach."
    ),
    "node": Row("joinproto.cli.commands.node:node", "Run a member on this machine."),
    "status": Row("joinproto.cli.commands.node:status", "Say what a node is doing."),
    "append": Row("joinproto.cli.commands.lines:append", "Append lines to a node's log."),
    "read": Row("joinproto.cli.commands.lines:read", "Print the lines of a node's log."),
    "shutdown": Row(
        "joinproto.cli.commands.node:shutdown", "Shut down the whole cluster in order."
    ),
    "validate": Row(
        "joinproto.cli.commands.validate:validate", "Judge event logs of members and brokers."
    ),
    "recover": Row("joinproto.recovery.cli:recover", "Which store is the latest, and the proof."),
}


@click.command(
    cls=LazyGroup,
    rows=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: joinproto check --tier quick",
)
@click.version_option(__version__, prog_name="joinproto", message="%(prog)s %(version)s")
def cli() -> None:
    """Check the join protocol, run it, and recover a cluster that failed as a whole."""
