"""The plain search: the same members, called for every state, as most would write it.

    python -m tools.bench.peers.per_state two-phase-commit --members 5

Breadth first over Python values in a dictionary; prints its counts as one JSON object. `joinproto
check` would cost this much without its tables.
"""

import json

import click


@click.command()
@click.argument("world_name", metavar="WORLD")
@click.option("--members", type=int, required=True)
@click.option("--states-max", type=int, help="End where about this many were visited.")
def main(world_name: str, members: int, states_max: int | None) -> None:
    """Search WORLD and ask every property that must always hold in every state."""
    # Here and not above: code that only reads this module need not have the models' needs.
    from joinproto.check.catalogue import load_world
    from tools.slow_search import explore

    world = load_world(world_name, members=members)
    found = explore(world, states_max=states_max)
    wanted = [item for item in world.properties if item.kind == "always"]
    holds = all(found.reference.holds(item, state) for item in wanted for state in found.level_of)
    result = {
        "result": "holds" if holds else "violated",
        "distinct": found.distinct,
        "generated": found.generated,
        "depth": len(found.levels),
    }
    click.echo(json.dumps(result))


if __name__ == "__main__":
    main()
