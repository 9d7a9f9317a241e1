"""The variants of the rules: the document's, those of the shipped software, and ours.

The decision tables are the same in all variants; the facts that a node gives to them differ.

Source: Clusterer; the holes of the real Clusterer, docs/clusterer.md.
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
    """How a node of a variant uses the facts that it learns.

    `ours`: the departures of docs/clusterer.md.  A config keeps the identities that it came with,
    and the version since which each node is a member; an identity names its node's set of data; a
    waiting node replaces a known identity only by a ready node's report.  In the other variants,
    identities are copied from the last achieved config, and a waiting node believes each identity
    that it is told.
    `crashes`: the node crashes on three messages that the software's author did not expect.
    """

    ours: bool
    crashes: bool


RULES = {
    (variant, release): Rules(
        ours=variant is Variant.OURS,
        crashes=variant is Variant.REAL and release is Release.SEED,
    )
    for variant in Variant
    for release in Release
}
"""The release `head` fixed the crashes, and removed the document's shutdown_timeout."""
