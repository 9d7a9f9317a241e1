"""The worlds of Elasticsearch's published model: one of its size, and smaller ones."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

ZEN = Family("joinproto_worlds.zen.world:build", (2, 2, 3), "long")

IN_ONE_TERM = (
    "half-is-enough",
    "founds-with-too-few",
    "joins-after-restart",
    "changes-unheard",
    "commits-by-new-alone",
)
IN_TWO_TERMS = ("newer-joins", "commits-former")

ENTRIES: tuple[Entry, ...] = (
    ZEN(
        "zen",
        "Elasticsearch's model as published: nodes found with a quorum, elect, and commit",
        members=(2, 3, 5),
        tier="deep",
        mutants=(*IN_ONE_TERM, *IN_TWO_TERMS),
    ),
    ZEN(
        "zen-two",
        "the same with two nodes and any number of messages: two terms, to the end",
        mutants=(*IN_ONE_TERM, *IN_TWO_TERMS),
        messages=0,
    ),
    ZEN(
        "zen-one-term",
        "the same in one term: who founds, who is the first master, and its first commit",
        mutants=IN_ONE_TERM,
        messages=0,
        terms=1,
        versions=2,
    ),
)
