"""A node of the Clusterer that does not keep a rule: `python -m tools.faults.clusterer_node`.

The other arguments are those of `joinproto clusterer node`.
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
    """Start a node without a rule, for as long as its process runs."""
    # The module with the rule must be loaded before the rule is replaced.
    import joinproto.apps.clusterer.process  # noqa: F401

    MUTATIONS[mutant].apply()
    sys.exit(joinproto_main(["clusterer", "node", *words]))


joinproto_main = joinproto

if __name__ == "__main__":
    main()
