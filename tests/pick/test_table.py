"""The table of verdicts, case by case, and the events that missing stores allow.

Source: recovery, "Verdicts of `pick`"; protocol, 3.3 and 3.4.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.store import Ballot
from joinproto.pick.candidate import Candidate, LastView, State
from joinproto.pick.pick import Pick, pick
from joinproto.pick.table import Verdict, verdicts
from joinproto.pick.wait_graph import NodeList
from tests.recovery.disks import record

BAD = "corrupt"


def stores(chain: str, **members: str) -> list[Candidate]:
    """Return stores: of a state that `members` names, or as `tests.recovery.disks` draws them."""
    return [
        Candidate(name=name, state=State(text), member=name[0])
        if text in {state.value for state in State}
        else _candidate(name, text, chain)
        for name, text in members.items()
    ]


def _candidate(name: str, text: str, chain: str) -> Candidate:
    what = record(name[0], text, chain)
    initial = what.lineage.initial
    state = State.UNFINISHED if what.update_unfinished else State(what.state.value)
    return Candidate(
        name=name,
        state=state,
        member=name[0],
        cluster=None if initial is None else str(initial),
        record=what,
    )


F = "F F.5 of F"

CASES: list[tuple[str, list[Candidate]]] = [
    ("a process has a store open", stores("F", a=F, b="in-use")),
    ("stores of this program are not read here", stores("F", a=F, b="not-read")),
    ("no store can be read", stores("F", a=BAD, b="unreadable")),
    ("stores of several clusters", stores("F", a=F, b="F2 F2.5 of F2")),
    ("a store is there twice, or went back", stores("F", a=F, a2=F, b=F)),
    ("two branches", stores("F", a="C1 C1.6 of F C1", b="C2 C2.6 of F C2")),
    ("all that can be read is empty", stores("F", a="- - of -", b=BAD)),
    ("all are empty", stores("F", a="- - of -", b="- - of -")),
    ("a store that matters cannot be read", stores("F", a=F, b=F, c=BAD)),
    ("no store has all of the newest view", stores("F C:ab", c="F - of F C:ab")),
    ("the others may have gone on", stores("F", a=F)),
    ("clean already", stores("F X@F.5", a="F F.5", b="F F.4")),
    ("stopped in order, and no store has all of it", stores("F X@F.5", a="F F.4", b="F F.4")),
    ("a member of the newest view is missing", stores("F", a=F, b=F)),
    ("all are here, and one has the most", stores("F", a=F, b="F F.4", c="F F.4")),
    ("all are here, and several have the same", stores("F", a=F, b=F, c="F F.4")),
]


def test_a_restart_from_one_of_two_branches_is_not_safe_even_if_another_store_is_not_read() -> None:
    """The unread store decides the case, but the two branches remain."""
    drawn = stores("F C1:ab", a="C1 C1.6", b="C1 C1.6", c="C2 C2.5 of F C2:c", d="not-read")

    found = pick(drawn)

    assert ("stores of this program are not read here", False) == (found.case, found.loses_nothing)
    assert found.latest
    assert pick(drawn[:2]).loses_nothing


@pytest.mark.parametrize(("name", "drawn"), CASES, ids=[name for name, _ in CASES])
def test_the_first_case_that_holds_is_chosen(name: str, drawn: list[Candidate]) -> None:
    """Each case has an example here."""
    assert name == pick(drawn).case


def test_every_case_but_two_has_an_example_above() -> None:
    """The two other cases have their own tests."""
    shown = {name for name, _ in CASES}

    assert {"two stores contradict each other", "nothing orders them"} == {
        case.name for case in verdicts().cases
    } - shown


def test_without_any_store_the_verdict_is_corrupt() -> None:
    """An empty command line proves nothing."""
    assert Verdict.CORRUPT is pick([]).verdict


def test_a_wrong_signature_alongside_views_of_another_cluster_is_damage() -> None:
    """One of the two stores is damaged; they are no two clusters."""
    one, other = stores("F C", a="C F.5", b="C F.5")
    assert other.record is not None
    lineage = evolve(other.record.lineage, views=other.record.lineage.views[1:], initial="x")
    forged = evolve(other.record, lineage=lineage)

    found = pick([one, evolve(other, record=forged, cluster="x")])

    assert (Verdict.CORRUPT, "two stores contradict each other") == (found.verdict, found.case)


def test_a_store_older_than_all_kept_views_makes_the_verdict_unproven() -> None:
    """The store may be behind or diverged, because the deciding views are forgotten."""
    a, b, c = stores("F C1 C2 C3", a="C3 F.5", b="C3 F.5", c="F F.5 of F C1")
    views = a.record.lineage.views if a.record else ()
    short = [
        evolve(
            item,
            record=evolve(item.record, lineage=evolve(item.record.lineage, views=views[-1:])),
        )
        for item in (a, b)
        if item.record is not None
    ]

    found = pick([*short, c])

    assert (Verdict.UNPROVEN, "nothing orders them") == (found.verdict, found.case)


# -- possible events elsewhere --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "may_know_more"),
    [
        ("", False),  # c alone is no majority of a, b, c
        ("accepted=C1:abc@F.5", False),  # perhaps chosen: a and b, its members, were never in it
        ("accepted=X@F.5", False),  # perhaps chosen: a CLOSE serves no client
        ("accepted=C1:c@F.5", True),  # perhaps chosen, and c served alone since
        ("accepted=R:abc@F.5", False),
    ],
)
def test_a_missing_member_may_know_more_if_it_could_serve_alone_in_an_accepted_view(
    accepted: str, may_know_more: bool
) -> None:
    """c is missing.  b's vote and c's vote may have chosen the view that b accepted."""
    found = pick(stores("F", a="F F.5", b=f"F F.5 {accepted}".strip()))

    assert Verdict.UNPROVEN is found.verdict
    assert may_know_more == any(item.may_know_more for item in found.findings.missing)
    assert may_know_more != found.loses_nothing


def test_two_of_three_stores_lose_no_acknowledged_frame_and_one_store_may() -> None:
    """A third store alone cannot have continued; two missing stores can."""
    tail = pick(stores("F", a=F, b="F F.4"))
    alone = pick(stores("F", a=F))

    assert (True, False) == (tail.loses_nothing, alone.loses_nothing)
    assert ["c"] == [item.member for item in tail.findings.missing]


def test_a_member_that_the_operator_calls_transient_is_not_missing() -> None:
    """`--transient d`: this member keeps no store."""
    drawn = stores("F C:abd", a="C C.6", b="C C.6", c=F)

    assert Verdict.UNPROVEN is pick(drawn).verdict
    assert Verdict.TIE is pick(drawn, without={"d"}).verdict


def test_with_an_outside_register_a_single_elector_may_have_gone_on() -> None:
    """Three of four stores are here.  With a register, d alone may have continued."""
    drawn = stores("F:abcd C:abc", a="C F.5", b="C F.5", c="C F.5")

    without, outside = pick(drawn), pick(drawn, outside=True)

    assert (Verdict.TIE, True) == (without.verdict, without.loses_nothing)
    assert (Verdict.UNPROVEN, False) == (outside.verdict, outside.loses_nothing)
    assert ["d"] == [item.member for item in outside.findings.missing]


def test_a_promise_to_the_register_shows_that_there_is_a_register() -> None:
    """`--register` is not needed then."""
    a, b, c = stores("F:abcd C:abc", a="C F.5", b="C F.5", c="C F.5")
    assert c.record is not None
    promised = evolve(c, record=evolve(c.record, promised=Ballot(1, "register")))

    assert Verdict.UNPROVEN is pick([a, b, promised]).verdict


# -- other brokers ---------------------------------------------------------------------------------


def _dirty_candidate(name: str, **more: object) -> Candidate:
    fields = {"state": State.DIRTY, "member": name, "cluster": "x", **more}
    return Candidate(name=name, **fields)  # type: ignore[arg-type]


def _last_view(names: str, view: str | None = None) -> LastView:
    return LastView(members=frozenset(names), id=view)


def _node(running: str, members: str = "ab", *, disc: str = "") -> NodeList:
    """Return the list of the node that is named first."""
    return NodeList(
        name=running[0],
        members=frozenset(members),
        disc=frozenset(disc or members),
        running=frozenset(running),
    )


OTHERS: list[tuple[str, str, list[Candidate]]] = [
    (
        "qpid: all clean, one signature",
        "clean ab",
        [
            _dirty_candidate("a", state=State.CLEAN, final="f"),
            _dirty_candidate("b", state=State.CLEAN, final="f"),
        ],
    ),
    (
        "qpid: two stores marked by mistake",
        "diverged ",
        [
            _dirty_candidate("a", state=State.CLEAN, final="f"),
            _dirty_candidate("b", state=State.CLEAN, final="g"),
        ],
    ),
    ("qpid: several dirty", "unproven ab", [_dirty_candidate("a"), _dirty_candidate("b")]),
    ("qpid: one dirty", "unproven a", [_dirty_candidate("a")]),
    (
        "qpid: a clean store and a dirty store",
        "unproven ab",
        [_dirty_candidate("a", state=State.CLEAN, final="f"), _dirty_candidate("b")],
    ),
    (
        "galera: positions recovered",
        "tie ab",
        [
            _dirty_candidate("a", seq=8, last_view=_last_view("ab", "v4")),
            _dirty_candidate("b", seq=8, last_view=_last_view("ab", "v4")),
            _dirty_candidate("c", seq=6, last_view=_last_view("abc", "v3")),
        ],
    ),
    (
        "galera: no positions",
        "unproven ab",
        [
            _dirty_candidate("a", last_view=_last_view("ab", "v4")),
            _dirty_candidate("b", last_view=_last_view("ab", "v4")),
            _dirty_candidate("c", last_view=_last_view("abc", "v3")),
        ],
    ),
    (
        "galera: stopped in order",
        "clean b",
        [
            _dirty_candidate("a", state=State.CLEAN, seq=6),
            _dirty_candidate("b", state=State.CLEAN, seq=8, stopped_last=True),
        ],
    ),
    (
        "galera: the node that left last is missing",
        "unproven b",
        [
            _dirty_candidate("a", state=State.CLEAN, seq=6),
            _dirty_candidate("b", state=State.CLEAN, seq=8),
        ],
    ),
    (
        "rabbitmq: one after the other",
        "proven a",
        [
            _dirty_candidate("a", last_view=_last_view("a"), stopped_last=True),
            _dirty_candidate("b", last_view=_last_view("ab")),
            _dirty_candidate("c", last_view=_last_view("abc")),
        ],
    ),
    (
        "rabbitmq: together",
        "tie ab",
        [
            _dirty_candidate("a", last_view=_last_view("ab")),
            _dirty_candidate("b", last_view=_last_view("ab")),
        ],
    ),
    (
        "rabbitmq: a node is missing",
        "unproven b",
        [
            _dirty_candidate("b", last_view=_last_view("ab")),
            _dirty_candidate("c", last_view=_last_view("abc")),
        ],
    ),
    (
        "rabbitmq: split",
        "diverged ",
        [
            _dirty_candidate("a", last_view=_last_view("a"), stopped_last=True, node=_node("a")),
            _dirty_candidate("b", last_view=_last_view("b"), stopped_last=True, node=_node("b")),
        ],
    ),
    (
        "rabbitmq: a node that only the others' lists lead to is missing",
        "unproven d",
        [
            _dirty_candidate("a", last_view=_last_view("acd"), node=_node("acd", "abcd")),
            _dirty_candidate("b", last_view=_last_view("abcd"), node=_node("bacd", "abcd")),
            _dirty_candidate("d", last_view=_last_view("bd"), node=_node("db", "abcd")),
        ],
    ),
    (
        "rabbitmq: two nodes that never counted each other",
        "unproven ab",
        [
            _dirty_candidate(
                "a", last_view=_last_view("a"), stopped_last=True, node=_node("a", "a")
            ),
            _dirty_candidate(
                "b", last_view=_last_view("b"), stopped_last=True, node=_node("b", "b")
            ),
        ],
    ),
    (
        "rabbitmq: a ram node alone",
        "unproven ",
        [_dirty_candidate("b", state=State.EMPTY, node=_node("b", "ab", disc="a"))],
    ),
    (
        "galera: each was alone at last, under names that it drew at its start",
        "unproven ab",
        [
            _dirty_candidate("a", seq=9, last_view=_last_view("a", "v4"), stopped_last=True),
            _dirty_candidate("b", seq=7, last_view=_last_view("b", "v6"), stopped_last=True),
        ],
    ),
    (
        "galera: the same, with equal numbers",
        "unproven ab",
        [
            _dirty_candidate("a", seq=9, last_view=_last_view("a", "v4"), stopped_last=True),
            _dirty_candidate("b", seq=9, last_view=_last_view("b", "v6"), stopped_last=True),
        ],
    ),
]


@pytest.mark.parametrize(("about", "expected", "drawn"), OTHERS, ids=[one[0] for one in OTHERS])
def test_other_brokers_are_judged_by_the_same_table(
    about: str, expected: str, drawn: list[Candidate]
) -> None:
    """Stores that cannot be ordered are unproven, never clean."""
    found: Pick = pick(drawn)

    assert expected == f"{found.verdict.value} {''.join(found.latest)}", about
