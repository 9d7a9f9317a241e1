"""Situations written in letters, one for each node: a string of members, and a string of nodes."""

from __future__ import annotations

from joinproto.reconcile.queue import Node, Queue, Settings, Situation, Target, Variant


def situation(
    members: str,
    nodes: str,
    *,
    running: str | None = None,
    drained: str = "",
    target: int | None = 3,
    auto_remove: bool | None = None,
    variant: Variant = Variant.OURS,
    **queue: object,
) -> Situation:
    """Return the situation that the first member evaluates.

    `running`: the nodes that run; None: all.
    """
    up = nodes if running is None else running
    told: dict[str, object] = {
        "members": tuple(members),
        "target": Target(configuration=target),
        **queue,
    }
    return Situation(
        queue=Queue(**told),  # type: ignore[arg-type]
        nodes=tuple(Node(name=n, running=n in up, drained=n in drained) for n in nodes),
        settings=Settings(auto_remove=auto_remove),
        variant=variant,
    )
