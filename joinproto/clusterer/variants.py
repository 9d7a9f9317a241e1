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

    `ours`: the departures of docs/clusterer.md.  A config keeps the identities that it came with,
    and from when on each node is a member; an identity says which set of data its node has; a
    waiting node takes over no other identity of a node that it knows.  Else: identities are copied
    from the last achieved config, and a waiting node believes each that it is told.
    `crashes`: on three messages that its maker did not expect.
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
"""The last release fixed the crashes, and removed the document's shutdown_timeout."""
