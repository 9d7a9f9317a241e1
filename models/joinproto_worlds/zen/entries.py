"""Elasticsearch's public model: as it was published, and small enough to come to its end."""

from __future__ import annotations

from joinproto.check.entry import Entry

BUILD = "joinproto_worlds.zen.world:build"

IN_ONE_TERM = (
    "half-is-enough",
    "founds-with-too-few",
    "joins-after-restart",
    "changes-unheard",
    "commits-by-new-alone",
)
IN_TWO_TERMS = ("newer-joins", "commits-former")

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "zen",
        BUILD,
        "Elasticsearch's model as published: nodes found with a quorum, elect, and commit",
        members=(2, 5),
        usual=3,
        tier="deep",
        mutants=(*IN_ONE_TERM, *IN_TWO_TERMS),
    ),
    Entry(
        "zen-two",
        BUILD,
        "the same with two nodes and any number of messages: two terms, to the end",
        members=(2, 3),
        usual=2,
        tier="long",
        mutants=(*IN_ONE_TERM, *IN_TWO_TERMS),
        given={"messages": 0},
    ),
    Entry(
        "zen-one-term",
        BUILD,
        "the same in one term: who founds, who is the first master, and its first commit",
        members=(2, 3),
        usual=2,
        tier="long",
        mutants=IN_ONE_TERM,
        given={"messages": 0, "terms": 1, "versions": 2},
    ),
)
