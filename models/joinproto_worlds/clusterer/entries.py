"""The worlds of the Clusterer, each with its subject and expected result."""

from __future__ import annotations

from typing import Any

from joinproto.check.entry import Entry, Family, Tier

SEARCH = Family("joinproto_worlds.clusterer.search:build", prefix="clusterer-")
STOPS = Family("joinproto_worlds.clusterer.stops:build", members=(2, 3, 5), prefix="clusterer-")


def _entry(
    name: str,
    scene: str,
    about: str,
    *mutants: str,
    real: int | None = None,
    steps: int | None = None,
    tier: Tier | None = None,
    **given: Any,
) -> Entry:
    """Return an entry.  `real`, `steps`: the length of the shortest failing run under the shipped
    rules, or under ours.
    """
    return SEARCH(
        name,
        about,
        steps=real if real is not None else steps,
        tier=tier,
        mutants=mutants,
        scene=scene,
        variant="ours" if real is None else "real",
        **given,
    )


RULES = (
    ("order", "U1: a node returns with an older config: the younger one wins", "older-wins"),
    ("reading", "U2: a config that is not valid changes nothing", "gospel-unchecked"),
    ("gospel", "U3: a reset gospel with a younger config: the others are wiped", "gospel-by-name"),
    ("form", "U4: one of two first boots alone, the other joins it", "everybody-leads"),
    ("join", "U4: a reset gospel without a config joins a ready node", "ready-not-joined"),
    ("rejoin", "U5: after a full stop no node goes before one that ran longer", "ran-forgotten"),
    (
        "locks",
        "U5: the config shrinks; two nodes that need not wait go one after the other",
        "locks-always-granted",
    ),
    ("leave", "U6: ejected, then adopted: the former cluster hears nothing", "contacts-kept"),
    (
        "spread",
        "U7: a younger config reaches a node that waits, and ends its waiting",
        "waits-uninterrupted",
    ),
    (
        "conflict",
        "U1, S6: two contents of one version meet: no node stores either",
        "conflict-merged",
    ),
    (
        "order-of-locks",
        "U5, S10: locks are taken in one order, so no node waits for one for ever",
        "own-lock-first",
    ),
    (
        "late-word",
        "U5: a node that answered ready is off by then: the boot asks again",
        "word-believed",
    ),
    (
        "late-lock",
        "U5: a lock that is granted after its round was given up is given back",
        "late-lock-kept",
    ),
    (
        "newcomers",
        "U3: of two nodes that came together one becomes the gospel: the other keeps its data",
        "word-refused",
    ),
    (
        "left-out-starts",
        "U3: a node that was left out brings a config: its old news of the gospel do not count",
        "later-ignored",
    ),
    (
        "left-out-apart",
        "U3: a node that is cut off is left out, and brings the next config: it is wiped, joins",
        "left-out-stays",
    ),
    (
        "left-out-gospel",
        "U3: a node that is cut off is left out, and is the gospel of the next config: it stays",
        "gospel-followed",
    ),
    (
        "left-out-later",
        "U3: a node is given a config of others, then one with its data: another member joins",
        "leaving-forgotten",
    ),
    (
        "left-out-since",
        "U3: a gospel is left out while the other node is off: that node does not go first",
        "gospel-followed",
    ),
    (
        "two-ready",
        "U4: a node joins one of two that are ready with different data: it knows which",
        "memory-believed",
    ),
    (
        "two-ready-reset",
        "U4: of two that are ready one remembers the other before its reset: a node joins that one",
        "own-word-lost",
    ),
    ("late-word-join", "U4: as `clusterer-late-word`, but data are given up after that answer"),
    (
        "old-memory",
        "U3: a node comes back that remembers a gospel before its reset: it asks first",
        "older-word-lost",
    ),
    (
        "paused",
        "U7: a node whose broker was paused takes no config until it runs again",
        "paused-told",
    ),
    (
        "paused-late",
        "U7: a node that was left out hears that its broker was paused: it takes configs",
        "paused-unready",
    ),
    (
        "paused-stranger",
        "U7: a paused node hears of a config from a stranger: it asks that node when it runs again",
        "paused-forgets",
    ),
    ("splits", "U7: one of two goes on alone: the other hears of it, and leaves"),
)
"""Scenes by the rules that they show, each with a rule left out as a mutant."""
LONG = ("late-lock", "newcomers")
LARGE = ("5", "6-circle", "8", "9", "11")
CLOSED_BY = {"11": ("gospel-told-unasked",), "12": ("data-unnamed",)}
"""For each hole the mutants that leave out our rule against it."""
HOLES = (
    ("1", "a newcomer never learns the gospel's identity, and gives a blank one the config", 5),
    ("2", "a node that comes back tells a blank gospel its own identity", 7),
    ("3", "reset wipes the data, not the identity: old data come back as compatible", 7),
    ("4", "removed while off, added again by a later config: old data come back", 7),
    ("5", "a config is forwarded with the gospel's old identity: its new data lose", 20),
    ("6", "the answer of a node that was left out crashes the asking node", 3),
    ("6-circle", "a wait-for graph without a circle crashes the asking node", 7),
    ("6-stranger", "a config from a node that it does not name spoils what is known", 15),
    ("8", "a gospel that the config names and that never came: two sets of data", 5),
    ("9", "a node that is left out gives a blank gospel the config: two sets of data", 6),
    ("10", "a node gave its data up, and later goes first with a new set", 17),
    ("11", "a node that missed the gospel's arrival tells a blank one of the config", 6),
    ("12", "a blank machine counts as the member whose name it has: two sets of data", 9),
)
KILLED = ("form", "join", "gospel", "rejoin", "left-out-starts", "hole-1", "hole-4", "hole-7-again")
"""Scenes in which a node may be killed between any two effects of a step."""
DELIVERING = ("join", "hole-1")
"""Scenes of `KILLED` in which a killed node's messages under way may still arrive."""
HALF_OPEN = ("rejoin", "spread")
ENTRIES: tuple[Entry, ...] = (
    *(
        _entry(name, name, about, *mutants, tier="long" if name in LONG else None)
        for name, about, *mutants in RULES
    ),
    *(
        _entry(
            f"{scene}-half-open",
            scene,
            f"`clusterer-{scene}`, and a connection ends at one end first",
            tier="long",
            losses=1,
        )
        for scene in HALF_OPEN
    ),
    _entry(
        "stop-apart-half-open",
        "stop-apart",
        "U5: two stop, one later, and their connection ends at one end first",
        "lost-is-gone",
        tier="long",
        losses=1,
    ),
    *(
        _entry(
            f"{scene}-killed",
            scene,
            f"`clusterer-{scene}`, and a node is killed between two effects of any step",
            tier="long",
            kills=1,
            delivers=scene in DELIVERING,
        )
        for scene in KILLED
    ),
    STOPS(
        "stops",
        "U5: all stop in every order: none goes first that another saw stop, and wrote on",
        mutants=("stops-not-compared",),
    ),
    STOPS(
        "real-stops",
        "shipped: nodes wait for each other, and one goes that lacks the last write",
        steps=5,
        variant="real",
    ),
    _entry(
        "order-power",
        "order",
        "`clusterer-order`, and the power is cut anywhere, also in the middle of a write",
        "unsynced",
        tier="long",
        kills=1,
        tears=True,
    ),
    *(
        _entry(f"real-hole-{n}", f"hole-{n}", f"shipped: {about}", real=real)
        for n, about, real in HOLES
    ),
    *(
        _entry(
            f"hole-{n}",
            f"hole-{n}",
            "the same under our rules",
            *CLOSED_BY.get(n, ()),
            tier="long" if n in LARGE else "quick",
        )
        for n, _, _ in HOLES
    ),
    _entry(
        "two-sides",
        "two-sides",
        "one config given on both sides of a cut, to a blank gospel and to one that knew it before",
        steps=3,
    ),
    _entry(
        "real-hole-7",
        "hole-7",
        "shipped: a node starts while the only other one that knows the config stops",
        real=4,
    ),
    _entry("hole-7", "hole-7", "the same under our rules: no rule helps", steps=4),
    _entry("hole-7-again", "hole-7-again", "once the other one is back, both are ready"),
)
