"""The command group `joinproto`: which commands there are, and which module has each of them.

A command is imported only when it is called.  So `joinproto --help` does not load NumPy,
`joinproto recover` works on a machine without NumPy, and a broken extra breaks one command only.
A command returns its exit code (None is 0), or raises one of `joinproto.errors`.
`joinproto/__main__.py` has the exit codes and the form of errors.
"""

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from attrs import frozen

from joinproto import __version__


@frozen
class CommandRow:
    """One command.

    `target`: where the command is, as "module:attribute".  `about`: its line in the help.
    `section`: the heading above that line.
    """

    target: str
    about: str
    section: str = ""


class LazyGroup(click.Group):
    """A command group whose commands are rows of a table; each is imported when it is called."""

    def __init__(self, *, rows: Mapping[str, CommandRow], **settings: Any) -> None:
        super().__init__(**settings)
        self.rows = rows

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names of the commands in the order of the table."""
        return list(self.rows)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import and return the command `name`; None if there is no such row."""
        if name not in self.rows:
            return None
        module, _, attribute = self.rows[name].target.partition(":")
        was_on = gc.isenabled()
        gc.disable()  # modules are never freed, so a collection would free nothing
        try:
            command = getattr(import_module(module), attribute)
        finally:
            if was_on:
                gc.enable()
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.rows[name].target} is not a click command: {command!r}")
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands from the table; no command is imported."""
        width = max(map(len, self.rows), default=0)
        for section in dict.fromkeys(row.section for row in self.rows.values()):
            rows = [(name, row) for name, row in self.rows.items() if row.section == section]
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), row.about) for name, row in rows])


_SECTIONS = {
    "Check a protocol": {
        "check": "Search a world, or a model of your own.",
        "models": "List the worlds that ship.",
        "simulate": "Walk through a world at random.",
        "explore": "Walk through a world in the browser.",
        "policy": "Check a program that decides which node founds.",
        "chance": "Say how likely a run breaks a claim.",
        "cover": "Find few runs that take every rule or step.",
        "query": "Ask about the states of a run, in SQL.",
        "prove": "Prove claims for any number of members.",
        "diff": "Compare two worlds, step by step.",
        "export": "Write a world as TLA+.",
        "draw": "Draw state machines and decision tables.",
    },
    "Embed and run the join protocol": {
        "node": "Run a member on this machine.",
        "status": "Say what a node is doing.",
        "append": "Append lines to a node's log.",
        "read": "Print the lines of a node's log.",
        "shutdown": "Shut down the whole cluster in order.",
        "validate": "Judge event logs of members.",
        "decide": "Judge a given set of members.",
        "ask": "Ask for one decision of a system, by JSON.",
    },
    "Recover a cluster": {
        "recover": "Find the latest store, and prove it.",
    },
    "The other systems": {
        "standby": "A primary, and its backups.",
        "clusterer": "Configs that nodes reach.",
        "reconcile": "Replicas of quorum queues.",
        "discovery": "How nodes find their peers.",
    },
}
"""The commands in the order of the help, each with its line in the help."""

_MODULES = {
    **dict.fromkeys(("status", "shutdown"), "joinproto.cli.commands.node"),
    **dict.fromkeys(("append", "read"), "joinproto.cli.commands.lines"),
    "recover": "joinproto.recovery.cli",
}
"""Modules of commands whose module is not named like the command."""

COMMANDS: dict[str, CommandRow] = {
    name: CommandRow(
        f"{_MODULES.get(name, f'joinproto.cli.commands.{name}')}:{name}", about, section
    )
    for section, rows in _SECTIONS.items()
    for name, about in rows.items()
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
