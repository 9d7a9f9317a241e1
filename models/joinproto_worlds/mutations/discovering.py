"""Mutations of how a cluster is found, and of cleanup.

Source: discovery, D1, D3 and D4.
"""

from __future__ import annotations

from joinproto.discovery.boot import Rules
from joinproto_worlds.mutations.mutation import Mutation, dropping, instead

ROUND = "joinproto.discovery.round"


DISCOVERING = (
    # One vote founds a cluster.
    Mutation.of("founds-alone", ROUND, "majority_of", instead(lambda expected: 1)),
    # Members of a cluster are not joined.
    Mutation.of("founds-again", ROUND, "TABLES", dropping("a member answers", of=Rules.OURS)),
    # A list that lacks members is as good as a whole one.
    Mutation.of(
        "any-list", ROUND, "TABLES", dropping("fewer are listed than expected", of=Rules.OURS)
    ),
    # More nodes than expected found a cluster all the same.
    Mutation.of(
        "any-size", ROUND, "TABLES", dropping("more are listed than expected", of=Rules.OURS)
    ),
)
"""Rules of our own boot."""
