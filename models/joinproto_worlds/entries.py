"""Every world that ships: its subject and its expected result.

A row names the function that builds the world, which is imported when the world is built.
"""

from __future__ import annotations

from joinproto.check.entry import Entry
from joinproto_worlds.classics.entries import ENTRIES as CLASSICS
from joinproto_worlds.clusterer.entries import ENTRIES as CLUSTERER
from joinproto_worlds.discovery.entries import ENTRIES as DISCOVERY
from joinproto_worlds.fair.entries import ENTRIES as FAIR
from joinproto_worlds.incidents.entries import ENTRIES as INCIDENTS
from joinproto_worlds.join.entries import ENTRIES as JOIN
from joinproto_worlds.join.entries_backups import ENTRIES as JOIN_BACKUPS
from joinproto_worlds.join.entries_deep import ENTRIES as JOIN_DEEP
from joinproto_worlds.join.entries_live import ENTRIES as JOIN_LIVE
from joinproto_worlds.join.entries_special import ENTRIES as JOIN_SPECIAL
from joinproto_worlds.mistakes import MISTAKES
from joinproto_worlds.note.entries import FAIL, HOLD
from joinproto_worlds.reconcile.entries import ENTRIES as RECONCILE
from joinproto_worlds.register.entries import CHAIN, VIEWS
from joinproto_worlds.standby.entries import ENTRIES as STANDBY
from joinproto_worlds.zen.entries import ENTRIES as ZEN

FAMILIES = {
    "classics": "examples from the literature: commit, election, philosophers, alternating bit",
    "note": "the rules of the note that the join protocol began with, and what each is for",
    "register": "an outside register decides which view follows; and chains of them",
    "join": "the join protocol as it ships",
    "clusterer": "RabbitMQ's Clusterer: configs that nodes reach, members ejected and adopted",
    "discovery": "nodes that look for their peers at the first boot",
    "incidents": "how real clusters lost data, split or stood still, and what the fix leaves",
    "fair": "claims about fair runs: locks, stabilising rings, termination",
    "reconcile": "which replicas a quorum queue shall have, and how it gets them",
    "standby": "Qpid's hot standby: one primary, and backups that follow it",
    "zen": "Elasticsearch's Zen discovery",
}
"""The subjects of the worlds of a family, in listed order."""


def family_of(item: Entry) -> str:
    """Return the family of a world: the name of the package that builds it."""
    return item.build.split(".")[1]


def mistake(mutant: str) -> str:
    """Return a sentence about a mutant's mistake."""
    return MISTAKES[mutant]


ENTRIES: tuple[Entry, ...] = (
    *CLASSICS,
    *HOLD,
    *FAIL,
    *CHAIN,
    *JOIN,
    *JOIN_SPECIAL,
    *JOIN_LIVE,
    *JOIN_BACKUPS,
    *JOIN_DEEP,
    *CLUSTERER,
    *DISCOVERY,
    *INCIDENTS,
    *FAIR,
    *RECONCILE,
    *VIEWS,
    *STANDBY,
    *ZEN,
)
