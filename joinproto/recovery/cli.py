"""`joinproto recover`: the group of commands.  Each command is imported when it is called.

Exit codes of all commands (as in docs/recovery.md):

    0 ok, or nothing to do      4 diverged       8 declined by the operator
    1 damaged, a disk's error   5 unproven       9 a write failed
    2 usage, path or rights     6 in use        10 a bug of ours
    3 different clusters        7 stale plan    11 an extra is missing (rehearse)
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

COMMANDS: Mapping[str, tuple[str, str]] = {
    "inspect": ("cli_look:inspect", "Show the contents of each store."),
    "collect": ("cli_look:collect", "Write a store's contents as a file, to copy elsewhere."),
    "compare": ("cli_look:compare", "Group stores by cluster; show which store is ahead."),
    "pick": ("cli_look:pick", "Say which store is the latest, and prove it."),
    "plan": ("cli_do:plan", "Write down the change that apply would make."),
    "apply": ("cli_do:apply", "Carry out a plan, on the machine of its store."),
    "undo": ("cli_do:undo", "Undo apply, unless its mark was used."),
    "mark-clean": ("cli_do:mark_clean", "Write a permission to restart into one store."),
    "verify": ("cli_after:verify", "After the restart: ask the live members."),
    "rehearse": ("cli_after:rehearse", "Show the possible outcomes of each choice."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when the command is called."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: Any = getattr(import_module(f"joinproto.recovery.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


EPILOG = """\b
Example, with one file from each machine:
  joinproto recover collect /var/lib/broker > a.info
  joinproto recover pick a.info b.info c.info
  joinproto recover plan a.info b.info c.info -o plan.json
  joinproto recover apply plan.json
"""


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
def recover() -> None:
    """Every member is down: which store is the latest, and how does the cluster start again?

    Only apply, undo and mark-clean write to a store; the other commands work on read-only mounts.
    """
