"""The plain search, as most people would write it: it calls the members' code for every state.

    python -m tools.bench.peers.per_state two-phase-commit --members 5

The search is breadth first, with Python values in a dictionary; its counts are printed as one JSON
object.  Without its tables, `joinproto check` would cost this much.
"""

import json

import click


@click.command()
@click.argument("world_name", metavar="WORLD")
@click.option("--members", type=int, required=True)
@click.option("--states-max", type=int, help="End after about this many states.")
def main(world_name: str, members: int, states_max: int | None) -> None:
    """Search WORLD, and evaluate each `always` in every state."""
    # Imported here, because importing this module must not need the models' packages.
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
