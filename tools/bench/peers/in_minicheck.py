"""Two-phase commit as a user of minicheck would write it: a state is a tuple.

    python -m tools.bench.peers.in_minicheck two-phase-commit --members 5

minicheck counts neither steps nor depth, so they are not printed.
"""

import json

import click

State = tuple[tuple[str, ...], str, frozenset[int], frozenset[int]]


def steps(state: State) -> list[tuple[str, State]]:
    """Return the steps from a state.

    A state has the resource managers, the decision, the managers that the transaction manager knows
    to be prepared, and the managers that sent `prepared`.
    """
    managers, decision, known, told = state
    found: list[tuple[str, State]] = []

    def changed(number: int, now: str) -> tuple[str, ...]:
        return (*managers[:number], now, *managers[number + 1 :])

    for number, one in enumerate(managers):
        if one == "working":
            ready = changed(number, "prepared")
            found.append((f"{number} prepares", (ready, decision, known, told | {number})))
            found.append((f"{number} aborts", (changed(number, "aborted"), decision, known, told)))
        if decision != "undecided":
            after = (changed(number, decision), decision, known, told)
            found.append((f"{number} hears {decision}", after))
        elif number in told:
            found.append((f"{number} is known", (managers, decision, known | {number}, told)))
    if decision == "undecided":
        found.append(("abort", (managers, "aborted", known, told)))
        if len(known) == len(managers):
            found.append(("commit", (managers, "committed", known, told)))
    return found


@click.command()
@click.argument("world_name", metavar="WORLD")
@click.option("--members", type=int, required=True)
def main(world_name: str, members: int) -> None:
    """Search WORLD, which is two-phase-commit."""
    # Imported here, because importing this module must not need it.
    from minicheck import Protocol, check_safety

    empty: frozenset[int] = frozenset()
    model = Protocol(
        name=world_name,
        candidate=False,
        fields=("managers", "decision", "known", "told"),
        initial=(("working",) * members, "undecided", empty, empty),
        transitions=steps,
        invariants={"consistent": lambda at: not {"committed", "aborted"} <= set(at["managers"])},
    )
    found = check_safety(model, max_states=2**members + 4**members + 6**members)
    holds = found["properties"]["consistent"]["holds"] and found["exhaustive"]
    result = {"result": "holds" if holds else "violated", "distinct": found["reachable_states"]}
    click.echo(json.dumps(result))


if __name__ == "__main__":
    main()
