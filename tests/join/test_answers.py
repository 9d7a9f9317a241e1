"""The evidence of answers: views never served, and stores that cover, are sure, or are clean."""

from __future__ import annotations

import pytest

from joinproto.codec.malformed import Malformed
from joinproto.join.answers import Answer, Evidence
from joinproto.join.lineage import Lineage
from joinproto.join.view import Position, Seat, View
from tests.join.pictures import lineage, seats, views

GOING_ON = "F C@F.3"
"""A FOUND of a, b and c, and a CHANGE that starts after its frame 3."""


def said(text: str, chain: str = GOING_ON) -> Answer:
    """Return an answer: "a C C.5 ran-on" was ready in C, has frame 5 of it, and ran on; "-": none.

    More words: "unfinished", "transient", "active".  "a2" is a with another store.
    """
    name, held, at, *words = text.split()
    there = views(chain)
    (seat,) = seats(name[0])
    view, _, seq = at.partition(".")
    return Answer(
        seat=seat if name == seat.member else Seat(seat.member, name),
        held=None if held == "-" else there[held].id,
        position=None if at == "-" else Position(there[view].id, int(seq)),
        ran_on="ran-on" in words,
        was_active="active" in words,
        update_unfinished="unfinished" in words,
        transient="transient" in words,
    )


def evidence(*texts: str, chain: str = GOING_ON) -> Evidence:
    return Evidence.of(lineage(chain), [said(text, chain) for text in texts])


def view(word: str, chain: str = GOING_ON) -> View:
    return views(chain)[word]


# -- never served --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "answers", "chain", "expected"),
    [
        # One member that was not ready in the view is enough: a view is active once all were ready.
        ("C", ["a C F.3", "b F F.3"], GOING_ON, True),
        ("C", ["a C -", "b - -"], "F:ac C:abc", True),
        ("C", ["a C C.5", "b C C.4"], GOING_ON, False),
        # A member that was ready in a later view was in this one, as far as any member knows.
        ("F", ["a C C.5", "b C C.4"], GOING_ON, False),
        ("F", ["a C F.3", "b F F.3"], GOING_ON, False),
        # A process that is no member does not count, nor does a member that has another store now.
        ("C", ["a C C.5", "c F F.3"], "F C:ab@F.3", False),
        ("C", ["a C C.5", "b2 - -"], GOING_ON, False),
        ("C", [], GOING_ON, False),
        # In a CLOSE no client is served.
        ("X", ["a X F.3"], "F X@F.3", True),
    ],
)
def test_a_view_in_which_a_member_was_not_ready_was_never_served(
    word: str, answers: list[str], chain: str, expected: bool
) -> None:
    """3.4: the member's store remembers that, and is frozen, so it never will be ready in it."""
    assert expected is evidence(*answers, chain=chain).was_never_served(view(word, chain))


# -- covers, sure --------------------------------------------------------------------------------

NEITHER, COVERS, SURE = (False, False), (True, False), (True, True)


@pytest.mark.parametrize(
    ("expected", "answers", "chain"),
    [
        # A member that ran on in the tip knows all events.  A member that was stopped has all that
        # was acknowledged, but others may know more unacknowledged frames.
        (SURE, ["a C C.5 ran-on", "b C C.5", "c C C.5"], GOING_ON),
        (COVERS, ["a C C.5", "b C C.5", "c C C.5"], GOING_ON),
        # No client was served in a view in which c was not ready, so its start is all there is.
        (SURE, ["a C F.3", "b C F.3", "c F F.2"], GOING_ON),
        (SURE, ["a - F.3", "b C F.3", "c C F.3"], "F:bc C:abc@F.3"),
        # Then the view before counts: ready in it is enough, also where its data continues further.
        (SURE, ["a F F.5 ran-on", "b C F.3", "c C F.3"], GOING_ON),
        (SURE, ["a F F.2 ran-on", "b C F.3", "c C F.3"], GOING_ON),
        (COVERS, ["a F F.5", "b C F.3", "c C F.3"], GOING_ON),
        (COVERS, ["a F F.2", "b C F.3", "c C F.3"], GOING_ON),
        # It was ready in neither view, and the one before was served.
        (NEITHER, ["a - F.2 ran-on", "b C F.3", "c C F.3"], "F:bc C:abc@F.3"),
        (NEITHER, ["a - F.2", "b F F.3", "c F F.3"], "F:bc C:abc@F.3"),
        # It was given up: the others may have gone on, so its data does not count.
        (NEITHER, ["a F F.3 ran-on", "b C C.5", "c C C.5"], "F C:bc@F.3"),
        # Its last frame has the number at which the tip starts, but is of a tail that was dropped.
        (NEITHER, ["a F F.3", "b C2 C1.3", "c C2 C1.3"], "F C1:bc@F.2 C2:abc@C1.3"),
        # While an update is unfinished its data does not count.
        (NEITHER, ["a C C.5 ran-on unfinished", "b C C.5"], GOING_ON),
        (NEITHER, ["a - F.3 unfinished", "b C F.3"], "F:bc C:abc@F.3"),
        # After a CLOSE.  A store covers the CLOSE if it was ready in the
        # closed view.
        (SURE, ["a F F.3", "b F F.3"], "F X@F.3"),
        (COVERS, ["a F F.2 ran-on", "b F F.3"], "F X@F.3"),
        (NEITHER, ["a - F.2", "b C F.3"], "F:bc C:abc@F.3 X@F.3"),
        # No member was ready in the FOUND, so an empty store has all frames.
        (SURE, ["a - -", "b - -"], "F"),
        (COVERS, ["a F F.1", "b F F.1"], "F"),
    ],
)
def test_answers_show_whether_a_store_covers_the_tip_and_is_sure(
    expected: tuple[bool, bool], answers: list[str], chain: str
) -> None:
    """3.4: it has every committed frame; if it is sure, there is no sign of a total failure."""
    found = evidence(*answers, chain=chain)
    one = found.answers[0]

    assert expected == (found.covers(one), found.is_sure(one))


def test_answers_are_sorted_whichever_member_collected_them() -> None:
    """This holds also for two stores of one member's name."""
    one, two = "a C C.5", "a2 - -"

    assert evidence(one, two, "b C C.5") == evidence("b C C.5", two, one)


def test_a_store_whose_last_view_is_forgotten_does_not_cover_the_tip() -> None:
    """3.4: its frames may end before the first kept view."""
    short = lineage("F C1@F.3 C2@C1.5", keep=1)
    one = said("a F F.2 ran-on", "F C1@F.3 C2@C1.5")
    found = Evidence.of(short, [one])

    assert (False, False) == (found.covers(one), found.is_sure(one))


# -- a disk that was restored from a backup ------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "chain", "expected"),
    [
        # There is a frame of C, so b was ready in C, but its disk says that it was not.
        (["a C C.5", "b F F.3", "c C F.3"], GOING_ON, "b"),
        (["a C C.5", "b - -", "c F F.2"], GOING_ON, "bc"),
        (["a C C.5", "b F F.3 unfinished"], GOING_ON, "b"),
        # The chain shows it: C2 starts after a frame of C1, or `activated` is new in C.
        (["a C1 C1.5", "b C2 C1.5", "c F F.3"], "F C1@F.3 C2@C1.5", "c"),
        (["a C -", "b C -", "c - -"], "F C", "c"),
        # A member was active in it, without a frame.
        (["a C F.3 active", "b F F.3"], GOING_ON, "b"),
        # Its own journal has frames of a view in which, by its record, it was not ready.
        (["a F C.5"], GOING_ON, "a"),
        # These stores count: one that was ready in the served view; one whose view was not served,
        # as far as the answers show; one outside the view; a new store of a member of the view.
        (["a C C.5", "b C F.3", "c C C.4"], GOING_ON, ""),
        (["a C F.3", "b F F.3", "c F F.2"], GOING_ON, ""),
        (["a C C.5", "c F F.3"], "F C:ab@F.3", ""),
        (["a C C.5", "b2 - -"], GOING_ON, ""),
        # No member serves in a CLOSE.
        (["a F F.3", "b F F.3"], "F X@F.3", ""),
    ],
)
def test_a_store_that_forgot_a_view_in_which_it_was_ready_does_not_count(
    answers: list[str], chain: str, expected: str
) -> None:
    """3.6: frames are sent after all members were ready, which each wrote down before it said so.

    Otherwise: the backup of b says that C was never served, and all go on without the frames of C.
    """
    found = evidence(*answers, chain=chain)

    assert expected == "".join(item.seat.member for item in found.went_back)
    assert len(answers) == len(found.answers) + len(found.went_back)
    assert not {item.seat for item in found.answers} & {item.seat for item in found.went_back}


def test_a_store_whose_last_view_is_forgotten_was_ready_in_no_kept_view() -> None:
    """3.1: its last view is older than the kept views."""
    chain = "F C1@F.3 C2@C1.5"
    one, other = said("a F F.3", chain), said("b C2 C2.6", chain)

    found = Evidence.of(lineage(chain, keep=1), [one, other])

    assert (one,) == found.went_back


# -- clean ---------------------------------------------------------------------------------------


def test_a_store_is_clean_if_it_has_all_data_of_the_close() -> None:
    """S2: it must also be a store that is kept, and no update into it may be unfinished."""
    answers = ["a F F.3", "b F F.2", "c F F.3 unfinished", "d F F.3 transient"]
    found = evidence(*answers, chain="F X@F.3")

    assert [True, False, False, False] == [found.is_clean(one) for one in found.answers]


def test_no_store_is_clean_after_an_open_view_or_without_a_view() -> None:
    still = evidence("a C F.3")
    empty = Evidence.of(Lineage(), [said("a - -")])

    assert [False, False] == [found.is_clean(found.answers[0]) for found in (still, empty)]


# -- the most data -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["a C F.2", "b C F.3"], "b"),
        (["a C F.3", "b C F.2"], "a"),
        (["a C F.3", "b C F.3"], "a"),
        (["a C F.1", "b C C.4", "c C F.3"], "b"),
        (["a C -"], "a"),
    ],
)
def test_the_highest_has_the_most_data(answers: list[str], expected: str) -> None:
    """3.4: the next view starts at the highest position; of equal answers the first is taken."""
    found = evidence(*answers)

    assert expected == found.highest(found.answers).seat.member


def test_two_sources_that_cannot_be_ordered_are_a_split_brain() -> None:
    """3.4: each has a frame that the other has not, or the deciding views are forgotten."""
    apart = evidence("a F F.5", "b C C.4", chain="F C:b@F.3")
    with pytest.raises(Malformed, match="positions of two sources"):
        apart.highest(apart.answers)

    chain = "F C1@F.3 C2@C1.5"
    short = lineage(chain, keep=1)
    unknown = Evidence.of(short, [said("a F F.2", chain), said("b C1 C1.4", chain)])
    with pytest.raises(Malformed, match="positions of two sources"):
        unknown.highest(unknown.answers)
