"""The tables and diagrams inside the documentation, made from the shipped tables.

NAME of `<!-- drawing: NAME -->` is one that `joinproto draw` lists, or `sets`, or `chain-sets`.
"""

from joinproto.cli.diagrams.catalog import drawings
from joinproto.clusterer.tables import SETS as CLUSTERER
from joinproto.discovery import boot, cleanup, keep
from joinproto.discovery.rules import RULES, ReleaseRule
from joinproto.errors import UsageProblem
from joinproto.join import succession
from joinproto.machine import sets
from joinproto.machine.markdown import legend
from joinproto.reconcile.tables import SETS as RECONCILE
from joinproto.standby.tables import SETS as STANDBY

SETS = {
    "sets": (sets.I, sets.C, sets.D, sets.E, sets.T, sets.A, sets.R, sets.K),
    "chain-sets": (
        succession.SEATS,
        succession.A,
        succession.V,
        succession.S,
        succession.K,
        succession.C,
        succession.STAYING,
    ),
    "discovery-sets": boot.SETS,
    "discovery-cleanup-sets": cleanup.SETS,
    "discovery-keep-sets": keep.SETS,
    "clusterer-sets": CLUSTERER,
    "reconcile-sets": RECONCILE,
    "standby-sets": STANDBY,
}


RULES_HEAD = ("| releases | what they do |", "| --- | --- |")


def _rule(one: ReleaseRule) -> str:
    return f"| {one.ages} | {one.what} |"


def table(name: str) -> str:
    """Return the table, drawing or legend of that name, as Markdown."""
    if name == "discovery-rules":
        return "\n".join((*RULES_HEAD, *map(_rule, RULES.values())))
    known = drawings()
    if name in SETS:
        return legend(SETS[name])
    if name not in known:
        raise UsageProblem(
            f"there is no drawing {name!r}", next="joinproto draw   lists what can be drawn"
        )
    return known[name].as_text("markdown")
