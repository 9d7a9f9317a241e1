"""Every mutation by its name; each is found by a world, by a storm or by both."""

from __future__ import annotations

from joinproto.errors import UsageProblem
from models.mutations.choosing import ANSWERING, CHOOSING
from models.mutations.clusterer import CLUSTERER
from models.mutations.discovering import DISCOVERING
from models.mutations.mutation import Mutation
from models.mutations.note import NOTE
from models.mutations.picking import LOGGING, PICKING
from models.mutations.promoting import PROMOTING
from models.mutations.reconciling import RECONCILING
from models.mutations.standing import PHASES, WRITING
from models.mutations.succeeding import SUCCEEDING

OF_THE_MEMBER = tuple(one.name for one in (*CHOOSING, *ANSWERING, *SUCCEEDING, *PHASES, *WRITING))
"""Those of a member of the join protocol."""

OF_THE_CHOICE = tuple(one.name for one in CHOOSING)
OF_PICK = tuple(one.name for one in PICKING)

MUTATIONS = {
    one.name: one
    for one in (
        *CHOOSING,
        *ANSWERING,
        *SUCCEEDING,
        *PHASES,
        *WRITING,
        *PICKING,
        *LOGGING,
        *DISCOVERING,
        *PROMOTING,
        *NOTE,
        *CLUSTERER,
        *RECONCILING,
    )
}


def mutation(name: str | None) -> Mutation | None:
    """Return the mutation of this name, None for None; raises `UsageProblem` for another one."""
    if name is None:
        return None
    if name not in MUTATIONS:
        raise UsageProblem(
            f"there is no mutation {name!r}", next="name one of " + ", ".join(MUTATIONS)
        )
    return MUTATIONS[name]
