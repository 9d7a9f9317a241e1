"""Links that stay cut: the topologies, and the number of views in a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from joinproto.swarm.run import Outcome
from joinproto.swarm.scenario import Action, ActionKind, Scenario

CUT = "these stay apart"
HEALED = "faults stop, all links are whole"


def with_a_majority(names: str) -> Iterator[tuple[str, ...]]:
    """Yield the links to cut so that some majority still hear each other in full."""
    pairs = list(combinations(names, 2))
    most = len(names) // 2 + 1
    for count in range(1, len(pairs)):
        for cut in combinations(pairs, count):
            if any(not set(combinations(some, 2)) & set(cut) for some in combinations(names, most)):
                yield tuple(map("".join, cut))


def scenario(names: str, cut: tuple[str, ...], *, seed: int = 7, notice: float = 0.0) -> Scenario:
    """Return a run of these members, all electors; the links are cut once the cluster serves."""
    return Scenario(
        seed=seed,
        members=names,
        electors=names,
        wait_for=len(names) // 2 + 1,
        patience=1.5,
        heartbeat=1.5,
        delay=0.001,
        is_steady=True,
        slow=0.0,
        notice=notice,
        actions=(
            *(Action(0.0, ActionKind.START, name) for name in names),
            Action(3.0, ActionKind.WRITE, names[0]),
        ),
        apart=cut,
    )


def acknowledged(outcome: Outcome) -> int:
    """Return how many writes were acknowledged while the links were cut."""
    start = next(at for at, line in enumerate(outcome.story) if CUT in line)
    end = next(at for at, line in enumerate(outcome.story) if HEALED in line)
    return sum("acknowledged" in line for line in outcome.story[start:end])


def views(outcome: Outcome) -> int:
    """Return how many views were learned before all links were whole, the first included."""
    end = next((at for at, line in enumerate(outcome.story) if HEALED in line), len(outcome.story))
    return len({line.split(" learns ")[1] for line in outcome.story[:end] if " learns " in line})
