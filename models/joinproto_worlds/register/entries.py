"""The chain register, and worlds compared with the abstract register of views."""

from __future__ import annotations

from joinproto.check.entry import Entry, Family

REGISTER = Family("joinproto_worlds.register.chain:build", members=3, tier="long")

CHAIN: tuple[Entry, ...] = (
    REGISTER(
        "chain-register",
        "the electors of a view choose one successor",
        members=(2, 3, 3),
        mutants=("promise-not-persisted", "accepted-not-honoured", "minority"),
    ),
    REGISTER(
        "chain-register-older",
        "an older acceptance is heard behind a later one; the later one may have been chosen",
        mutants=("last-acceptance-binds",),
        crashes=0,
        again="b",
    ),
    REGISTER(
        "chain-register-tie",
        "two acceptances of one round: the one of the later ballot may have been chosen",
        mutants=("round-alone-binds",),
        crashes=0,
        again="a",
    ),
    REGISTER(
        "chain-register-observer",
        "a member that is not an elector proposes, crashes, and proposes another view",
        mutants=("ballots-not-persisted",),
        observer=True,
    ),
    REGISTER(
        "chain-register-wiped",
        "an elector's disk is lost, and with it what it promised",
        mutants=("stranger-votes",),
        wiped=True,
    ),
    REGISTER(
        "chain-register-founding",
        "the configured electors choose the first view",
        members=2,
        mutants=("accepted-not-honoured",),
        founding=True,
    ),
    REGISTER(
        "chain-register-found-with",
        "not all of the configured electors found the cluster, and others try as well",
        members=(4, 4, 5),
        mutants=("found-with-too-few",),
        founding=True,
        few=True,
        crashes=0,
    ),
)

OF_JOIN, OF_VOTES, OF_NOTE = (
    Family(f"joinproto_worlds.register.views:{name}", 2)
    for name in ("of_join", "of_votes", "of_note")
)

VIEWS: tuple[Entry, ...] = (
    OF_JOIN(
        "register-of-join",
        "the view chain of two members implements a register of views",
        tier="long",
        mutants=("register-forgets",),
    ),
    OF_VOTES(
        "register-of-votes",
        "electors that found a cluster by votes implement a register of views",
        tier="long",
        mutants=("accepted-not-honoured",),
    ),
    OF_NOTE(
        "register-of-note",
        "the note implements no register: on each side of a partition a cluster is founded",
        members=(2, 2, 3),
        steps=5,
    ),
)
