"""A node that does not keep a rule: `python -m tools.faults.node --mutant NAME ...`.

The other arguments are those of `joinproto node`.  The rule is removed in this process before the
ordinary node starts; no configuration of a node can do that.
"""

from __future__ import annotations

import sys

import click

from joinproto.__main__ import main as joinproto
from joinproto_worlds.mutations.catalogue import MUTATIONS


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--mutant", type=click.Choice(list(MUTATIONS)), required=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def main(mutant: str, words: tuple[str, ...]) -> None:
    """Start a node; the rule is missing until this process ends."""
    MUTATIONS[mutant].apply()
    sys.exit(joinproto(["node", *words]))


if __name__ == "__main__":
    main()
