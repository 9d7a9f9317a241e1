"""A mutation by its name: all of them are loaded when the first one is asked for.

Most searches ask for none, and the catalogue imports every system.
"""

from __future__ import annotations

from joinproto.errors import UsageProblem
from models.mutations.mutation import Mutation


def mutation(name: str | None) -> Mutation | None:
    """Return the mutation of this name, None for None; raises `UsageProblem` for another one."""
    if name is None:
        return None
    from models.mutations.catalogue import MUTATIONS

    if name not in MUTATIONS:
        raise UsageProblem(
            f"there is no mutation {name!r}", next="name one of " + ", ".join(MUTATIONS)
        )
    return MUTATIONS[name]


def is_mutation(name: str | None) -> bool:
    """Return whether there is one of this name."""
    if name is None:
        return False
    from models.mutations.catalogue import MUTATIONS

    return name in MUTATIONS
