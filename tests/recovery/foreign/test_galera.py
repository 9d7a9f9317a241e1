"""Galera's state files: examples, and files of real servers."""

import pytest

from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign import gcache
from joinproto.recovery.foreign.galera import not_last
from joinproto.recovery.foreign.text import NULL_UUID
from joinproto.recovery.found import Format, Found, State
from tests.recovery.foreign.directories import findings_in, story

HISTORY = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
OTHER = "886313e1-3b8a-5372-9b90-0c9aee199e5d"
A, B, C = (f"{n * 8}-0000-11d1-80b4-00c04fd430c8" for n in "abc")


def grastate(*, uuid: str = HISTORY, seqno: int = -1, safe: int | None = 0) -> str:
    last = "" if safe is None else f"safe_to_bootstrap: {safe}\n"
    return f"# GALERA saved state\nversion: 2.1\nuuid:    {uuid}\nseqno:   {seqno}\n{last}"


def gvwstate(*members: str, mine: str = A, number: int = 3, kind: int = 3) -> str:
    lines = [f"my_uuid: {mine}", "#vwbeg", f"view_id: {kind} {A} {number}", "bootstrap: 0"]
    lines += [*(f"member: {member} 0" for member in members), "#vwend"]
    return "\n".join(lines) + "\n"


def node(state: str, view: str | None = None, *, recovered: str = "", path: str = "n") -> Found:
    files = (
        {"grastate.dat": state} if view is None else {"grastate.dat": state, "gvwstate.dat": view}
    )
    return findings_in(Format.GALERA, files, recovered=recovered, path=path)


# -- examples ------------------------------------------------------------------------------


def test_a_node_that_was_stopped_in_order_is_clean_at_its_position() -> None:
    """Such a node has a seqno of 0 or more, and no view file."""
    found = node(grastate(seqno=7, safe=1))

    assert (State.CLEAN, 7, HISTORY) == (found.state, found.seq, found.cluster)
    assert found.stopped_last
    assert () == found.problems


def test_a_crashed_node_is_dirty_and_its_position_unknown() -> None:
    """Its seqno is -1, and the problem says how to find the position."""
    found = node(grastate(), gvwstate(A, B))

    assert (State.DIRTY, None, A) == (found.state, found.seq, found.member)
    assert found.last_view is not None
    assert {A, B} == found.last_view.members
    assert "--wsrep-recover" in found.problems[0]


@pytest.mark.parametrize(
    "recovered",
    [
        "12",
        f"{HISTORY}:12\n",
        f"WSREP: Recovered position: {HISTORY}:12",
        f"x [Note] WSREP: Recovered position: {HISTORY}:12,0-1-5\nmore",
        f"WSREP: Recovered position: {HISTORY}:3\nWSREP: Recovered position: {HISTORY}:12\n",
    ],
)
def test_a_position_can_be_supplied(recovered: str) -> None:
    """A number, a position, or a log, of which the last line with a position counts."""
    found = node(grastate(), gvwstate(A, B), recovered=recovered)

    assert 12 == found.seq
    assert () == found.problems


@pytest.mark.parametrize(
    ("state", "recovered", "problem"),
    [
        (grastate(), f"{OTHER}:12", "of another history"),
        (grastate(), f"{HISTORY}:-1", "found no position"),
        (grastate(), "no such line", "is neither a number"),
        (grastate(), "9" * 30, "is neither a number"),
        (grastate(seqno=7), "12", "of another time"),
    ],
)
def test_a_position_that_does_not_fit_is_reported(state: str, recovered: str, problem: str) -> None:
    """If two sources contradict, neither is believed."""
    found = node(state, recovered=recovered)

    assert any(problem in line for line in found.problems)
    if state == grastate():
        assert found.seq is None


def test_a_mark_alongside_a_view_with_other_nodes_is_no_evidence() -> None:
    """Galera writes safe_to_bootstrap: 1 only if no other node is left."""
    assert node(grastate(safe=1), gvwstate(A)).stopped_last
    by_hand = node(grastate(safe=1), gvwstate(A, B))

    assert not by_hand.stopped_last
    assert any("by hand" in line for line in by_hand.problems)


def test_a_position_alongside_a_view_is_not_used() -> None:
    """The node was stopped in order, started again, and crashed, so it is not clean."""
    found = node(grastate(seqno=7), gvwstate(A, B))

    assert (State.DIRTY, None) == (found.state, found.seq)


def test_a_node_without_a_history_is_never_picked() -> None:
    """The node is new, or was being copied to; both look the same."""
    found = node(grastate(uuid=NULL_UUID, safe=1))

    assert (State.UNFINISHED, "") == (found.state, found.cluster)
    assert not found.stopped_last


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        ("", "is empty"),
        (gvwstate(A, B)[:-8], "cut off"),
        (gvwstate(A, A), "twice"),
        (gvwstate(A).replace("member", "menber"), "expected a line member"),
        (gvwstate(), "expected my_uuid"),
    ],
)
def test_a_damaged_view_is_no_evidence_and_does_not_hide_the_position(
    view: str, problem: str
) -> None:
    """The data do not need it; but the file shows that the node was not stopped in order."""
    found = node(grastate(seqno=7, safe=1), view, recovered="9")

    assert (State.DIRTY, 9, None) == (found.state, found.seq, found.last_view)
    assert not found.stopped_last
    assert any(problem in line and "remove it" in line for line in found.problems)


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ("", "is empty"),
        (grastate()[:-1], "cut off"),
        (grastate()[:60], "cut off"),
        (grastate().replace("seqno", "seqn0"), "is not a line"),
        (grastate() + "seqno: 5\n", "two lines seqno"),
        (grastate(safe=2), "expected 0 or 1"),
        (grastate(uuid="x"), "is not a UUID"),
        (grastate(seqno=-2), "is not a number"),
    ],
)
def test_a_file_that_galera_does_not_write_is_corrupt(state: str, problem: str) -> None:
    """Galera itself takes some of these for safe."""
    found = node(state)

    assert State.CORRUPT == found.state
    assert not found.stopped_last
    assert any(problem in line for line in found.problems)


def test_a_state_file_of_a_later_version_is_newer_and_not_corrupt() -> None:
    """An unknown file is not called corrupt."""
    later = grastate().replace("2.1", "2.2") + "epoch: 7\n"

    found = node(later)

    assert State.NEWER == found.state
    assert "version 2.2 is newer than is known here" in found.problems[0]
    assert State.CORRUPT == node(later.replace("2.2", "2.1")).state


def test_a_missing_state_file_alongside_a_view_is_unreadable() -> None:
    """Galera would found a cluster from this node."""
    found = findings_in(Format.GALERA, {"gvwstate.dat": gvwstate(A)})

    assert State.UNREADABLE == found.state


def test_a_node_that_lost_its_state_file_counts_by_its_recovered_position() -> None:
    """The server finds the history's id and the position in its data.  Both are needed."""
    cache = {gcache.DIGEST: ""}
    cut = node(grastate()[:60], recovered=f"{HISTORY}:12")

    lost = findings_in(Format.GALERA, cache)
    number_only = findings_in(Format.GALERA, cache, recovered="12")
    recovered = findings_in(Format.GALERA, cache, recovered=f"{HISTORY}:12")

    assert State.UNREADABLE == lost.state == number_only.state
    assert "is not there, next to galera.cache" in lost.problems[0]
    assert (State.DIRTY, HISTORY, 12) == (recovered.state, recovered.cluster, recovered.seq)
    assert not recovered.stopped_last
    assert (State.DIRTY, HISTORY, 12) == (cut.state, cut.cluster, cut.seq)
    assert "cut off" in cut.problems[0]


def test_without_the_line_safe_to_bootstrap_a_node_is_not_clean() -> None:
    """The file is of an old version, or cut off, but the position is whole."""
    found = node(grastate(seqno=7, safe=None))

    assert (State.DIRTY, 7) == (found.state, found.seq)


def test_a_view_that_is_not_primary_is_no_evidence() -> None:
    """No transaction was committed in it."""
    assert node(grastate(), gvwstate(A, B, kind=1)).last_view is None
    assert node(grastate(), gvwstate(B, C)).last_view is None


def test_a_later_view_without_a_node_shows_that_this_node_was_not_last() -> None:
    """b and c were with a in view 3, and have view 4 without it."""
    a = node(grastate(), gvwstate(A, B, C, mine=A), path="a")
    b = node(grastate(), gvwstate(B, C, mine=B, number=4), path="b")
    c = node(grastate(), gvwstate(B, C, mine=C, number=4), path="c")

    (line,) = not_last([a, b, c])
    assert line.startswith("h:a was not last: h:b was with it")


def test_the_numbers_of_views_alone_do_not_order_nodes() -> None:
    """A cluster that was founded again counts from 1."""
    old = node(grastate(), gvwstate(A, mine=A, number=9), path="old")
    new = node(grastate(), gvwstate(B, C, mine=B, number=2), path="new")

    assert () == not_last([old, new])
    assert all(item.last_view is None or item.last_view.number is None for item in (old, new))


# -- files of real servers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "verdict", "latest"),
    [
        ("galera-stopped-in-turn", Verdict.CLEAN, ["n3"]),
        ("galera-killed-in-turn", Verdict.TIE, ["n1", "n2"]),
        ("galera-killed-together", Verdict.TIE, ["n1", "n2", "n3"]),
        ("galera-last-one-killed", Verdict.PROVEN, ["n3"]),
        ("galera-started-again", Verdict.UNPROVEN, ["n1", "n2", "n3"]),
    ],
)
def test_with_the_positions_the_right_nodes_are_picked(
    name: str, verdict: Verdict, latest: list[str]
) -> None:
    """story.txt, next to the files, says which node was last."""
    found = story(name, positions=True)

    picked = pick([item.candidate for item in found.values()])

    assert verdict == picked.verdict
    assert latest == [node for node, item in found.items() if item.name in picked.latest]


def test_the_view_files_alone_show_that_the_third_node_was_not_last() -> None:
    """All three state files say seqno -1 and safe_to_bootstrap 0."""
    found = story("galera-killed-in-turn")

    assert [(-1, "0")] * 3 == [
        (int(facts["seqno"]), facts["safe_to_bootstrap"])
        for facts in ({fact.name: fact.value for fact in item.facts} for item in found.values())
    ]
    (line,) = not_last(list(found.values()))
    assert line.startswith(f"{found['n3'].name} was not last")


def test_after_a_new_start_the_later_view_has_the_smaller_number() -> None:
    """This is why `LastView.number` stays empty."""
    found = story("galera-started-again")

    numbers = {
        node: int(fact.value.split()[-1])
        for node, item in found.items()
        for fact in item.facts
        if fact.name == "view_id"
    }

    assert numbers["n1"] == numbers["n3"] < numbers["n2"]
    assert () == not_last(list(found.values()))
