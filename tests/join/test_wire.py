"""Messages as bytes: each message is decoded again, and all other bytes are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.codec.malformed import FORBIDDEN, INT_MAX, Malformed
from joinproto.errors import MisuseError
from joinproto.join.answers import Answer
from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.ids import by_content
from joinproto.join.lineage import lineage_of
from joinproto.join.messages import (
    Confirm,
    Confirmed,
    Heartbeat,
    Hello,
    JoinMessage,
    Ready,
    Refused,
    WantUpdate,
    Welcome,
)
from joinproto.join.store import Accepted, Ballot
from joinproto.join.view import Position, Seat
from joinproto.join.wire import (
    BYTES_MAX,
    CONFIRMS,
    LATEST,
    MISSES,
    SEATS_MAX,
    TEXT_MAX,
    decode,
    encode,
)
from joinproto.machine.vocabulary import Reason
from tests.join.pictures import views

DRAWN = views("F C1:ab@F.5 X@C1.6 R:abc@C1.6 C3")
ONE = DRAWN["C1"]
VIEWS = st.sampled_from([*DRAWN.values(), *views("F C2:c@F.3").values()])

texts = st.text(min_size=1, max_size=30).filter(lambda text: FORBIDDEN.search(text) is None)
ids = st.one_of(st.sampled_from([str(view.id) for view in DRAWN.values()]), texts)
ids_or_none = st.none() | ids
seats = st.builds(Seat, texts, texts)
ballots = st.builds(Ballot, st.integers(1, INT_MAX), texts)
places = st.none() | st.builds(Position, ids, st.integers(1, INT_MAX))
chains = st.lists(VIEWS, min_size=1, max_size=4).map(tuple)
answers = st.builds(
    Answer,
    seat=seats,
    transient=st.booleans(),
    held=ids_or_none,
    position=places,
    update_unfinished=st.booleans(),
    ran_on=st.booleans(),
    was_active=st.booleans(),
    options=texts,
    is_marked=st.booleans(),
    leaves=st.booleans(),
)
accepted = st.none() | st.builds(Accepted, ballots, VIEWS)
numbers = st.integers(0, INT_MAX)
messages: st.SearchStrategy[JoinMessage] = st.one_of(
    st.builds(Prepare, ids_or_none, ballots),
    st.builds(
        Promise, ids_or_none, ballots, seats, accepted, st.none() | answers, st.frozensets(texts)
    ),
    st.builds(Accept, ids_or_none, ballots, VIEWS),
    st.builds(Voted, ids_or_none, ballots, seats),
    st.builds(Nack, ids_or_none, ballots, ballots),
    st.builds(Chosen, ids_or_none, chains),
    st.builds(
        Hello,
        answers,
        ids_or_none,
        numbers,
        ids_or_none,
        texts,
        st.frozensets(texts),
        st.just("") | texts,
    ),
    st.builds(Welcome, ids),
    st.builds(Refused, st.sampled_from(Reason), st.just("") | texts, texts, st.just("") | texts),
    st.builds(Confirm, ids, st.integers(1, INT_MAX)),
    st.builds(Confirmed, ids, st.integers(1, INT_MAX), seats),
    st.builds(Ready, ids, seats),
    st.builds(WantUpdate, ids),
    st.builds(Heartbeat, ids_or_none, numbers, seats, st.booleans()),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def said(tree: object) -> bytes:
    """Return a tree as the bytes that a member would write."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


@given(messages)
def test_every_encoded_message_is_decoded_again(message: JoinMessage) -> None:
    assert message == decode(encode(message, speaks=LATEST))


@given(messages)
def test_equal_messages_are_equal_bytes(message: JoinMessage) -> None:
    assert encode(message, speaks=LATEST) == encode(
        decode(encode(message, speaks=LATEST)), speaks=LATEST
    )


@given(st.binary(max_size=200))
def test_random_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(data)


@given(json_values)
def test_random_json_is_malformed(tree: object) -> None:
    with pytest.raises(Malformed):
        decode(said(tree))


@given(messages, st.data())
def test_a_damaged_message_is_malformed_or_another_message(
    message: JoinMessage, data: st.DataObject
) -> None:
    """No other error is raised, and a decoded message is encoded as the same bytes."""
    whole = bytearray(encode(message, speaks=LATEST))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))

    try:
        read = decode(bytes(whole))
    except Malformed:
        return
    assert bytes(whole) == encode(read, speaks=LATEST)


@given(messages, st.data())
def test_a_message_with_a_foreign_part_is_malformed_or_another_message(
    message: JoinMessage, data: st.DataObject
) -> None:
    """Any JSON value may stand in place of any part, at any depth."""
    tree = json.loads(encode(message, speaks=LATEST))
    part: Any = tree
    while True:
        at = data.draw(st.integers(0, len(part) - 1))
        if not isinstance(part[at], list) or not part[at] or data.draw(st.booleans()):
            break
        part = part[at]
    part[at] = data.draw(json_values)

    try:
        read = decode(said(tree))
    except Malformed:
        return
    assert said(tree) == encode(read, speaks=LATEST)


@given(messages, st.data())
def test_a_message_that_is_cut_off_or_goes_on_is_malformed(
    message: JoinMessage, data: st.DataObject
) -> None:
    whole = encode(message, speaks=LATEST)
    length = data.draw(st.integers(0, len(whole) - 1))

    for wrong in (whole[:length], whole + b" ", whole + b"0", b" " + whole, whole + whole):
        with pytest.raises(Malformed):
            decode(wrong)


@pytest.mark.parametrize("field", range(1, 13))
def test_a_view_whose_id_is_not_its_own_is_malformed(field: int) -> None:
    """Duty: ids of views are verified, because an id stands for all ancestors."""
    tree = json.loads(encode(Accept(ONE.parent, Ballot(1, "a'"), ONE)))
    view = tree[3]
    view[field] = {
        1: 3,
        2: "close",
        3: "another",
        4: [["a", "a'"]],
        5: [["a", "a'"]],
        6: None,
        7: False,
        8: 1,
        9: "others",
        10: "another",
        11: "another",
        12: 1,
    }[field]

    with pytest.raises(Malformed, match="id of view"):
        decode(said(tree))


def test_each_view_of_a_chain_is_verified() -> None:
    forged = evolve(ONE, time=7)  # with the id of the real view
    whole = encode(Chosen(None, (DRAWN["F"], forged)))

    with pytest.raises(Malformed, match=r"id of view 2"):
        decode(whole)


def test_the_views_of_a_decoded_chain_make_a_lineage() -> None:
    told = decode(encode(Chosen(None, tuple(DRAWN.values()))))

    assert isinstance(told, Chosen)
    assert DRAWN["C3"] == lineage_of(told.views, DRAWN["F"].id).tip


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ([], "a name and fields"),
        ({}, "message"),
        (["hi"], "one of prepare"),
        ([["welcome"], "x"], "one of prepare"),
        (["welcome"], "1 fields"),
        (["welcome", "x", "y"], "1 fields"),
        (["welcome", ""], "not empty"),
        (["welcome", None], "Welcome.view"),
        (["welcome", "a\nb"], "no control character"),
        (["welcome", "x" * (TEXT_MAX + 1)], "at most"),
        (["prepare", None, [0, "a"]], "round"),
        (["prepare", None, [True, "a"]], "round"),
        (["prepare", None, [1.0, "a"]], "round"),
        (["prepare", None, [INT_MAX + 1, "a"]], "round"),
        (["refused", "tired", "x", "y"], "too-few-members"),
        (["refused", ["tired"], "x", "y"], "too-few-members"),
        (["heartbeat", None, 0, ["a", "a'"], 1], "is_frozen"),
        (["heartbeat", None, -1, ["a", "a'"], False], "at least 0"),
        (["chosen", None, [], None], "1 to"),
    ],
)
def test_the_error_of_a_wrong_message_names_the_fault(wrong: object, why: str) -> None:
    with pytest.raises(Malformed) as raised:
        decode(said(wrong))

    assert why in str(raised.value)


def test_seats_must_be_sorted_and_unique() -> None:
    """A view has one form, and no member sends another."""
    tree = json.loads(encode(Accept(ONE.parent, Ballot(1, "a'"), ONE)))
    for wrong in (tree[3][4][::-1], [tree[3][4][0], *tree[3][4]]):
        changed = json.loads(json.dumps(tree))
        changed[3][4] = wrong

        with pytest.raises(Malformed, match="sorted"):
            decode(said(changed))


def test_sizes_are_bounded() -> None:
    many = [[f"m{n:05}", f"s{n:05}"] for n in range(SEATS_MAX + 1)]
    tree = json.loads(encode(Accept(ONE.parent, Ballot(1, "a'"), ONE)))
    tree[3][4] = many

    with pytest.raises(Malformed, match="at most"):
        decode(said(tree))
    tree[3][4] = many[:-1]
    with pytest.raises(Malformed, match="id of view"):
        decode(said(tree))
    with pytest.raises(Malformed, match="bytes"):
        decode(b"[" * (BYTES_MAX + 1))
    with pytest.raises(Malformed, match="JSON"):
        decode(b" " * BYTES_MAX)
    with pytest.raises(Malformed, match="nested"):
        decode(b"[" * 1_000_000)


def test_a_refusal_with_a_long_reason_is_cut() -> None:
    """Otherwise a refusal with a long text could not be sent."""
    told = decode(encode(Refused(Reason.OPTIONS_DIFFER, "x" * 5_000, "y")))

    assert Refused(Reason.OPTIONS_DIFFER, "x" * TEXT_MAX, "y") == told


def test_an_older_version_is_not_told_the_missed_members() -> None:
    """It takes a `Promise` of five fields; without missed members there is no sixth field."""
    whole = Promise("p", Ballot(1, "a1"), Seat("b", "b1"), None, None, frozenset({"c", "d"}))

    told, old = encode(whole, speaks=MISSES), encode(whole, speaks=MISSES - 1)

    assert ["c", "d"] == json.loads(told)[-1]
    assert old == encode(whole) == encode(decode(old), speaks=LATEST)
    assert 7 == len(json.loads(told)) == 1 + len(json.loads(old))
    with pytest.raises(Malformed, match="expected no field in this case"):
        decode(said([*json.loads(old), []]))


def test_an_older_version_is_not_told_of_frames() -> None:
    """It takes a `Chosen` of three fields; without frames there is no fourth field."""
    whole = Chosen(None, tuple(DRAWN.values()), has_frames=True)

    told, old = encode(whole, speaks=CONFIRMS), encode(whole, speaks=CONFIRMS - 1)

    assert json.loads(told)[-1] is True
    assert old == encode(evolve(whole, has_frames=False), speaks=LATEST)
    assert 5 == len(json.loads(told)) == 1 + len(json.loads(old))
    with pytest.raises(Malformed, match="expected no field in this case"):
        decode(said([*json.loads(old), False]))


@pytest.mark.parametrize(
    "whole",
    [
        Hello(Answer(seat=Seat("a", "b"), options="o"), None, 0, None, "c", meeting="seed.1"),
        Refused(Reason.OPTIONS_DIFFER, "x", "y", "seed.1"),
    ],
)
def test_an_older_version_is_not_told_of_a_meeting(whole: Hello | Refused) -> None:
    """It takes these messages without the last field."""
    told, old = encode(whole, speaks=CONFIRMS), encode(whole, speaks=CONFIRMS - 1)

    assert "seed.1" == json.loads(told)[-1]
    assert 1 + len(json.loads(old)) == len(json.loads(told))
    assert evolve(whole, meeting="") == decode(old)
    with pytest.raises(Malformed, match="expected no field in this case"):
        decode(said([*json.loads(old), ""]))


@pytest.mark.parametrize(
    "asked", [Confirm(ONE.id, 1), Confirmed(ONE.id, 1, Seat("a", "b"))], ids=["asks", "answers"]
)
def test_an_older_version_is_not_asked_whether_a_view_stands(asked: JoinMessage) -> None:
    """A host that sends these messages to an earlier version than 4 gets an error."""
    assert asked == decode(encode(asked, speaks=CONFIRMS))
    with pytest.raises(MisuseError, match="confirms=False"):
        encode(asked, speaks=CONFIRMS - 1)


def test_names_of_a_searched_world_are_not_sent() -> None:
    named = views("F", by_content)["F"]

    with pytest.raises(MisuseError, match="by hash"):
        encode(Welcome(named.id))


def test_an_object_that_is_not_a_message_is_not_sent() -> None:
    with pytest.raises(MisuseError, match="not a message"):
        encode("hello")  # type: ignore[arg-type]


HELLO = Hello(Answer(seat=Seat("a", "b"), options="o"), None, 0, None, "c")


@pytest.mark.parametrize("wrong", [5, "ab", {"b": 1, "c": 2}])
def test_a_seat_that_is_not_a_list_is_malformed(wrong: object) -> None:
    """The wrong values have a length, or have none."""
    ready = json.loads(encode(Ready("x", Seat("b", "c"))))
    accept = json.loads(encode(Accept(ONE.parent, Ballot(1, "a'"), ONE)))

    with pytest.raises(Malformed, match="expected list"):
        decode(said([*ready[:2], wrong]))
    accept[3][4] = wrong
    with pytest.raises(Malformed, match="expected list"):
        decode(said(accept))
    hello = json.loads(encode(HELLO))
    with pytest.raises(Malformed, match="expected list"):
        decode(said([*hello[:-1], wrong]))


def test_a_message_may_have_the_largest_accepted_length() -> None:
    """A member may send messages of this length."""
    more = BYTES_MAX - len(encode(HELLO))
    long = evolve(HELLO, cluster_name="c" * (more + 1))

    with pytest.raises(MisuseError, match="use shorter names"):
        encode(evolve(long, cluster_name="c" * (more + 2)))
    assert BYTES_MAX == len(encode(long))


def test_a_member_may_miss_as_many_members_as_a_view_may_have() -> None:
    names = frozenset(f"m{number}" for number in range(SEATS_MAX))
    hello = evolve(HELLO, hears=names)

    assert hello == decode(encode(hello))


def test_a_member_cannot_miss_more_members_than_a_view_may_have() -> None:
    names = frozenset(f"m{number}" for number in range(SEATS_MAX + 1))

    with pytest.raises(Malformed, match="at most"):
        decode(encode(evolve(HELLO, hears=names)))


@pytest.mark.parametrize("names", [["c", "b"], ["b", "b"]])
def test_names_must_be_sorted_and_unique(names: list[str]) -> None:
    hello = json.loads(encode(HELLO))

    with pytest.raises(Malformed, match="sorted"):
        decode(said([*hello[:-1], names]))
