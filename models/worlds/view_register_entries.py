"""Worlds held against the abstract register of views: what each shows, and how it must end."""

from __future__ import annotations

from models.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "register-of-join",
        "models.worlds.view_register:of_join",
        "the view chain of two members implements a register of views",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("register-forgets",),
    ),
    Entry(
        "register-of-votes",
        "models.worlds.view_register:of_votes",
        "electors that found a cluster by votes implement a register of views",
        members=(2, 2),
        usual=2,
        tier="long",
        mutants=("accepted-not-honoured",),
    ),
    Entry(
        "register-of-note",
        "models.worlds.view_register:of_note",
        "the note implements no register: on each side of a partition a cluster is founded",
        members=(2, 3),
        usual=2,
        expected="violated",
        steps=5,
    ),
)
