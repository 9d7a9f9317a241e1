"""The variants of the rules: the document's, those of the shipped software, ours; as a table.

The decision tables are the same for all; a node's knowledge differs when it reads them.

Source: Clusterer; the seven holes of the real one, docs/clusterer.md.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.clusterer.reading import Release


class Variant(Enum):
    """The variant of the rules: the document's, those of the shipped software, or ours."""

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


@frozen(kw_only=True)
class Rules:
    """The rules by which a variant uses the facts that it learns.

    `carries`: a config keeps the identities that it came with, and from when on each node is a
    member; else they are copied from the last achieved one.  `believes_waiting`: a waiting
    node takes over any identity that it receives.  `crashes`: on three messages that its maker did
    not expect.  `joins_blank`: one that gave its data up and was stopped before others came joins
    again; else the stored config counts as achieved.  `names_data`: an identity says which set of
    data its node has, and a gospel counts as known only where that is known.  `compares_stops`: of
    nodes that wait for each other, one that another saw stop does not go first.
    """

    carries: bool
    believes_waiting: bool
    crashes: bool
    joins_blank: bool = False
    names_data: bool = False
    compares_stops: bool = False


_DOCUMENT = Rules(carries=False, believes_waiting=True, crashes=False)
_OURS = Rules(
    carries=True,
    believes_waiting=False,
    crashes=False,
    joins_blank=True,
    names_data=True,
    compares_stops=True,
)
RULES = {
    (Variant.SEED, Release.SEED): _DOCUMENT,
    (Variant.SEED, Release.HEAD): _DOCUMENT,
    (Variant.REAL, Release.SEED): Rules(carries=False, believes_waiting=True, crashes=True),
    (Variant.REAL, Release.HEAD): _DOCUMENT,
    (Variant.OURS, Release.SEED): _OURS,
    (Variant.OURS, Release.HEAD): _OURS,
}
"""The last release fixed the crashes, and removed the document's shutdown_timeout."""
