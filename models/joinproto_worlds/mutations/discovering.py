"""Mutations of the first start of a cluster.

Source: discovery, D1, D3 and D4.
"""

from __future__ import annotations

from joinproto.discovery.boot import Rules
from joinproto_worlds.mutations.mutation import Mutation, dropping, instead

ROUND = "joinproto.discovery.round"


DISCOVERING = (
    # One vote founds a cluster.
    Mutation.of("founds-alone", ROUND, "majority_of", instead(lambda expected: 1)),
    # A node does not join the cluster of a member that answers.
    Mutation.of("founds-again", ROUND, "TABLES", dropping("a member answers", of=Rules.OURS)),
    # A list that lacks members counts as whole.
    Mutation.of(
        "any-list", ROUND, "TABLES", dropping("fewer are listed than expected", of=Rules.OURS)
    ),
    # A cluster is founded although more nodes are listed than expected.
    Mutation.of(
        "any-size", ROUND, "TABLES", dropping("more are listed than expected", of=Rules.OURS)
    ),
)
"""Mutations of our own rules for a first start."""
