"""The worlds of the Clusterer, each with what it shows and how it must end."""

from __future__ import annotations

from typing import Literal

from models.entry import Entry

BUILD = "models.worlds.clusterer.search:build"


def _entry(
    name: str,
    scene: str,
    about: str,
    *mutants: str,
    real: int | None = None,
    steps: int | None = None,
    tier: Literal["quick", "long", "deep"] = "quick",
) -> Entry:
    """`real`: steps of the shortest run in which the shipped rules fail; `steps`: in which ours."""
    fails = real if real is not None else steps
    return Entry(
        f"clusterer-{name}",
        BUILD,
        about,
        members=(1, 1),
        usual=1,
        expected="holds" if fails is None else "violated",
        steps=fails,
        tier=tier,
        mutants=mutants,
        given={"scene": scene, "variant": "ours" if real is None else "real"},
    )


RULES = (
    _entry(
        "order",
        "order",
        "U1: a node returns with an older config: the younger one wins",
        "older-wins",
    ),
    _entry(
        "reading", "reading", "U2: a config that is not valid changes nothing", "gospel-unchecked"
    ),
    _entry(
        "gospel",
        "gospel",
        "U3: a reset gospel with a younger config: the others are wiped",
        "gospel-by-name",
    ),
    _entry(
        "form", "form", "U4: one of two first boots alone, the other joins it", "everybody-leads"
    ),
    _entry(
        "join", "join", "U4: a reset gospel without a config joins who is ready", "ready-not-joined"
    ),
    _entry(
        "rejoin",
        "rejoin",
        "U5: after a full stop nobody goes before who ran longer",
        "ran-forgotten",
    ),
    _entry(
        "locks",
        "locks",
        "U5: the config shrinks, and two that await nobody go one after the other",
        "locks-always-granted",
    ),
    _entry(
        "leave",
        "leave",
        "U6: ejected, then adopted: the former cluster hears nothing",
        "contacts-kept",
    ),
    _entry(
        "spread",
        "spread",
        "U7: a younger config reaches a node that waits, and ends its waiting",
        "waits-uninterrupted",
    ),
)
HOLES = (
    ("1", "a newcomer never learns the gospel's identity, and hands a blank one the config", 5),
    ("2", "a node that comes back tells a blank gospel its own identity", 7),
    ("3", "reset wipes the data, not the identity: old data come back as compatible", 7),
    ("4", "removed while off, added again by a later config: old data come back", 7),
    ("5", "a config is forwarded with the gospel's old identity: its new data lose", 20),
    ("6", "the answer of a node that was left out crashes who asks", 3),
    ("8", "a gospel that the config names and that never came: two sets of data", 5),
)
ENTRIES: tuple[Entry, ...] = (
    *RULES,
    *(
        _entry(f"real-hole-{n}", f"hole-{n}", f"shipped: {about}", real=real)
        for n, about, real in HOLES
    ),
    *(
        _entry(
            f"hole-{n}",
            f"hole-{n}",
            "the same under our rules",
            tier="long" if n in "58" else "quick",
        )
        for n, _, _ in HOLES
    ),
    _entry(
        "real-hole-7",
        "hole-7",
        "shipped: one starts while the only other one that knows the config stops",
        real=4,
    ),
    _entry("hole-7", "hole-7", "the same under our rules: given up by design", steps=4),
    _entry("hole-7-again", "hole-7-again", "once the other one is back, both are ready"),
)
