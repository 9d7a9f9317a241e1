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
    """One command: where it is, as "module:attribute", and its line in the help.

    `section`: the heading that it stands under.
    """

    target: str
    about: str
    section: str = "Commands"


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
        gc.disable()  # imported modules stay
        try:
            command = getattr(import_module(module), attribute)
        finally:
            if was_on:
                gc.enable()
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.rows[name].target} is no click command: {command!r}")
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands from the table, importing none of them."""
        width = max(map(len, self.rows), default=0)
        for section in dict.fromkeys(row.section for row in self.rows.values()):
            rows = [(name, row) for name, row in self.rows.items() if row.section == section]
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), row.about) for name, row in rows])


_CHECK, _RUN = "Check a protocol", "Embed and run the join protocol"
_RECOVER, _OTHERS = "Recover a cluster", "The other systems"

# One row per command, in the order of the help.
COMMANDS: dict[str, Row] = {
    name: Row(f"joinproto.{target}", about, section)
    for section, name, target, about in (
        (_CHECK, "check", "cli.commands.check:check", "Search a world, or a model of your own."),
        (_CHECK, "models", "cli.commands.models:models", "List the worlds that ship."),
        (_CHECK, "simulate", "cli.commands.simulate:simulate", "Walk through a world at random."),
        (_CHECK, "explore", "cli.commands.explore:explore", "Walk through a world in the browser."),
        (_CHECK, "policy", "cli.commands.policy:policy", "Check a decision: who founds, or goes."),
        (_CHECK, "chance", "cli.commands.chance:chance", "Say how likely a run breaks a claim."),
        (
            _CHECK,
            "cover",
            "cli.commands.cover:cover",
            "Find few runs that take every rule or step.",
        ),
        (_CHECK, "query", "cli.commands.query:query", "Ask about the states of a run, in SQL."),
        (_CHECK, "prove", "cli.commands.prove:prove", "Prove claims for any number of members."),
        (_CHECK, "diff", "cli.commands.diff:diff", "Compare two worlds, and where they part."),
        (_CHECK, "export", "cli.commands.export:export", "Write a world as TLA+."),
        (_CHECK, "draw", "cli.commands.draw:draw", "Draw state machines and decision tables."),
        (_RUN, "node", "cli.commands.node:node", "Run a member on this machine."),
        (_RUN, "status", "cli.commands.node:status", "Say what a node is doing."),
        (_RUN, "append", "cli.commands.lines:append", "Append lines to a node's log."),
        (_RUN, "read", "cli.commands.lines:read", "Print the lines of a node's log."),
        (_RUN, "shutdown", "cli.commands.node:shutdown", "Shut down the whole cluster in order."),
        (_RUN, "validate", "cli.commands.validate:validate", "Judge event logs of members."),
        (_RUN, "decide", "cli.commands.decide:decide", "Judge a given set of members."),
        (_RUN, "ask", "cli.commands.ask:ask", "Ask for one decision of a system, by JSON."),
        (_RECOVER, "recover", "recovery.cli:recover", "Which store is the latest, and the proof."),
        (_OTHERS, "standby", "cli.commands.standby:standby", "A primary, and its backups."),
        (_OTHERS, "clusterer", "cli.commands.clusterer:clusterer", "Configs that nodes reach."),
        (_OTHERS, "reconcile", "cli.commands.reconcile:reconcile", "Replicas of quorum queues."),
        (_OTHERS, "discovery", "cli.commands.discovery:discovery", "How nodes find their peers."),
    )
}


@click.command(
    cls=LazyGroup,
    rows=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example, every world that takes seconds: joinproto check --tier quick",
)
@click.version_option(__version__, prog_name="joinproto", message="%(prog)s %(version)s")
def cli() -> None:
    """Check the join protocol, run it, and recover a cluster that failed as a whole."""
