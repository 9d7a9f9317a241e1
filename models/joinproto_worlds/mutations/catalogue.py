"""Every mutation by its name; each is found by a world or by random runs, or by both."""

from __future__ import annotations

from joinproto_worlds.mutations.choosing import ANSWERING, CHOOSING
from joinproto_worlds.mutations.named import every
from joinproto_worlds.mutations.picking import PICKING
from joinproto_worlds.mutations.standing import PHASES, WRITING
from joinproto_worlds.mutations.succeeding import SUCCEEDING

OF_THE_MEMBER = tuple(one.name for one in (*CHOOSING, *ANSWERING, *SUCCEEDING, *PHASES, *WRITING))
"""The names of the mutations of a member of the join protocol."""

OF_THE_CHOICE = tuple(one.name for one in CHOOSING)
OF_PICK = tuple(one.name for one in PICKING)

MUTATIONS = {one.name: one for one in every()}
