"""The rules of each variant: the only place where the variants of the machine differ.

Source: hot standby, H2, H4 to H9, and the document's limits LM1 to LM5, LC1 to LC6.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from joinproto.standby.broker import Variant


@frozen(kw_only=True)
class VariantRules:
    """The rules of one variant.

    `generations` (H2): each promotion raises the generation; messages of an older one are refused.
    `holds_transfers` (H4), `holds_acknowledgements` (LM4), `holds_declarations` (LC2): such a
    request is confirmed when all backups that are up to date have it.  `holds_early` (H8, LM5): no
    request is confirmed that a missing expected backup lacks.  `records_drops` (H4): a dropped
    backup is written down before the next confirmation.  `by_identity` (H9, LM1, LM2): a backup
    names its messages by identities, not by the last number.  `whole_transactions` (LM3): a
    transaction is sent as a whole.  `mirrors_bindings` (LC1): bindings replicate.  `deletes_absent`
    (LC3, LC4): items that the primary lacks are removed, items with another identity are replaced.
    `numbers_wiring` (LC6): the snapshot says which events it includes.  `chooses` (LC5): the level
    of replication can be chosen.  `keeps_standing` (H8): at a promotion, the role counts that a
    broker had with its lost primary.  `names_primary` (H11): a refused client is told the primary.
    """

    generations: bool
    holds_transfers: bool = True
    holds_acknowledgements: bool = True
    holds_declarations: bool = True
    holds_early: bool = True
    records_drops: bool = True
    by_identity: bool = True
    whole_transactions: bool = True
    mirrors_bindings: bool = True
    deletes_absent: bool = True
    numbers_wiring: bool = True
    chooses: bool = True
    keeps_standing: bool = True
    names_primary: bool = True


OURS = VariantRules(generations=True)
RULES: Mapping[Variant, VariantRules] = {
    # The document's prototype, with each of its limits.
    Variant.SEED: VariantRules(
        generations=False,
        holds_acknowledgements=False,
        holds_declarations=False,
        holds_early=False,
        records_drops=False,
        by_identity=False,
        whole_transactions=False,
        mirrors_bindings=False,
        deletes_absent=False,
        numbers_wiring=False,
        chooses=False,
        keeps_standing=False,
        names_primary=False,
    ),
    # The shipped rules: no generation, and no record of a drop.
    Variant.REAL: VariantRules(
        generations=False,
        holds_acknowledgements=False,
        holds_declarations=False,
        records_drops=False,
        names_primary=False,
    ),
    Variant.OURS: OURS,
}
