"""The worlds of hot standby, each with what it shows and how it must end."""

from __future__ import annotations

from models.entry import Entry

BUILD = "models.worlds.standby.failover:build"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "standby-built-in",
        BUILD,
        "who is up to date is a view, and only its members are promoted: nothing is lost",
        members=(2, 3),
        usual=2,
        given={"manager": "built in"},
    ),
    Entry(
        "standby-built-in-three",
        BUILD,
        "the same with two backups",
        members=(3, 3),
        usual=3,
        tier="long",
        given={"manager": "built in"},
    ),
    Entry(
        "standby-outside",
        BUILD,
        "a manager outside promotes a broker that was never up to date, for nobody answers",
        members=(2, 3),
        usual=2,
        expected="violated",
        steps=7,
    ),
    Entry(
        "standby-waits",
        BUILD,
        "a new primary waits for the backups that were up to date: nothing is lost",
        members=(3, 3),
        usual=3,
        tier="long",
        mutants=("promotes-who-catches-up", "confirms-at-once"),
        given={"manager": "careful", "drops": False},
    ),
    Entry(
        "standby-shipped-waits",
        BUILD,
        "the same by the shipped rules",
        members=(3, 3),
        usual=3,
        tier="long",
        given={"variant": "real", "manager": "careful", "drops": False},
    ),
    Entry(
        "standby-confirms-at-once",
        BUILD,
        "the document: a new primary confirms before a backup has it (LM5)",
        members=(3, 3),
        usual=3,
        tier="long",
        expected="violated",
        steps=14,
        given={"variant": "seed", "manager": "careful", "drops": False},
    ),
    Entry(
        "standby-dropped",
        BUILD,
        "a backup that was dropped is promoted, for who dropped it does not answer",
        members=(3, 3),
        usual=3,
        tier="long",
        expected="violated",
        steps=15,
        given={"manager": "careful"},
    ),
)
