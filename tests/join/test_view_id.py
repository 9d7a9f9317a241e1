"""Ids: "`id` is a hash over the others", and no two views share an id."""

import pickle
from typing import Any

import pytest
from attrs import evolve, fields
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check.freeze import freeze, rename, thaw
from joinproto.codec.malformed import Malformed
from joinproto.errors import MisuseError
from joinproto.join.ids import HEADER, by_content, by_hash, encode, short
from joinproto.join.view import Facts, Kind, Position, Seat, change, found, verify_id
from tests.join.pictures import seats, views
from tests.join.trees import Tree, trees

FACTS = Facts(
    parent="0f" * 32,
    number=3,
    kind=Kind.CHANGE,
    members=frozenset([Seat("b", "s2"), Seat("a", "s1")]),
    electors=frozenset([Seat("a", "s1")]),
    position=Position("0e" * 32, 17),
    activated=True,
    wait_for=2,
    options_digest="options",
    cluster_name="Köln",
    nonce="nonce",
    time=1_700_000_000_000,
)

# Names that look like the next field, or like the end of a list.
SLY = ["a", "b", "ab", "s1:a", "1:a", "n", "t", "i1;", "l0:", "as1:b", ":", "é", "e\u0301"]
names = st.sampled_from(SLY) | st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)
seat_sets = st.frozensets(st.builds(Seat, names, names), min_size=1, max_size=3)
positions = st.none() | st.builds(Position, names, st.integers(1, 3))

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "parent": names,
    "number": st.integers(2, 30),
    "kind": st.sampled_from([Kind.CHANGE, Kind.CLOSE]),
    "members": seat_sets,
    "electors": seat_sets,
    "position": positions,
    "activated": st.booleans(),
    "wait_for": st.integers(1, 30),
    "options_digest": names,
    "cluster_name": names,
    "nonce": names,
    "time": st.integers(0, 30),
}


@st.composite
def all_facts(draw: st.DrawFn) -> Facts:
    """Return the facts of any view but a FOUND."""
    try:
        return Facts(**{name: draw(strategy) for name, strategy in VALUES.items()})
    except Malformed:
        return FACTS  # the drawn facts had a store under two names, or a member twice


def read_back(encoded: bytes) -> tuple[object, bytes]:
    """Return the value at the beginning of an encoding, and the rest."""
    kind, rest = encoded[:1], encoded[1:]
    if kind in b"ntf":
        return {b"n": None, b"t": True, b"f": False}[kind], rest
    if kind == b"i":
        digits, _, rest = rest.partition(b";")
        return int(digits), rest
    size, _, rest = rest.partition(b":")
    if kind == b"s":
        return rest[: int(size)].decode("utf-8"), rest[int(size) :]
    assert kind == b"l"
    items = []
    for _ in range(int(size)):
        item, rest = read_back(rest)
        items.append(item)
    return items, rest


def plain(facts: Facts) -> list[object]:
    """Return the facts as nested lists, from which a reader could make them again."""
    position = facts.position
    return [
        facts.parent,
        facts.number,
        facts.kind.value,
        sorted([seat.member, seat.store_id] for seat in facts.members),
        sorted([seat.member, seat.store_id] for seat in facts.electors),
        None if position is None else [position.view, position.seq],
        facts.activated,
        facts.wait_for,
        facts.options_digest,
        facts.cluster_name,
        facts.nonce,
        facts.time,
    ]


@given(all_facts())
def test_an_encoding_can_be_read_back(facts: Facts) -> None:
    """An encoding that can be read back has one meaning, so no two views share an encoding."""
    encoded = encode(facts)

    values, rest = read_back(encoded.removeprefix(HEADER))

    assert plain(facts) == values
    assert b"" == rest


def test_the_encoding_has_every_field() -> None:
    """A change of a field that is not hashed would be unnoticed."""
    assert list(VALUES) == [field.name for field in fields(Facts)]
    assert len(VALUES) == len(plain(FACTS))


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_a_change_of_a_field_changes_the_id(name: str, data: st.DataObject) -> None:
    """The id is a hash over all other fields, `time` among them."""
    facts = data.draw(all_facts())
    value = data.draw(VALUES[name].filter(lambda value: value != getattr(facts, name)))
    try:
        other = evolve(facts, **{name: value})
    except Malformed:
        return  # the new value gave a store two names

    assert by_hash(facts) != by_hash(other)
    assert facts != other


@given(all_facts(), all_facts())
def test_two_views_share_an_id_only_if_they_are_the_same(one: Facts, other: Facts) -> None:
    """Equal positions would not be equal data if two views had one id."""
    assert (one == other) == (encode(one) == encode(other))
    assert (one == other) == (by_hash(one) == by_hash(other))


@given(trees())
def test_every_view_of_a_tree_has_an_id_of_its_own(tree: Tree) -> None:
    """This holds for both digests."""
    assert len(tree.views) == len({view.id for view in tree.views})
    assert len(tree.views) == len(set(tree.views))


def test_the_encoding_never_changes() -> None:
    """A release with another hash would find every existing store malformed."""
    encoded = encode(FACTS)

    assert (
        b"joinproto view 1\nl12:"
        b"s64:" + b"0f" * 32 + b"i3;s6:change"
        b"l2:l2:s1:as2:s1l2:s1:bs2:s2"
        b"l1:l2:s1:as2:s1"
        b"l2:s64:" + b"0e" * 32 + b"i17;"
        b"ti2;s7:optionss5:K\xc3\xb6lns5:noncei1700000000000;"
    ) == encoded
    assert "6b65709631195886535dd607ee46893342853cf2679c235e1073f198261aa18c" == by_hash(FACTS)


def test_two_spellings_of_a_letter_are_two_names() -> None:
    """Normalizing them depends on the version of Unicode, which differs between members."""
    composed = evolve(FACTS, cluster_name="\u00e9")
    decomposed = evolve(FACTS, cluster_name="e\u0301")

    assert by_hash(composed) != by_hash(decomposed)


def test_the_order_of_members_is_not_part_of_a_view() -> None:
    """Members are a set, so the order of their names does not matter."""
    one = evolve(FACTS, members=frozenset([Seat("a", "s1"), Seat("b", "s2"), Seat("c", "s3")]))
    other = evolve(FACTS, members=frozenset([Seat("c", "s3"), Seat("b", "s2"), Seat("a", "s1")]))

    assert by_hash(one) == by_hash(other)


def test_a_view_whose_id_is_not_its_own_is_refused() -> None:
    """An id stands for all ancestors, so each id is verified."""
    view = views("F C")["C"]
    forged = evolve(view, members=seats("ab"))

    verify_id(view)
    with pytest.raises(Malformed, match=r"id of view 2: found [0-9a-f]{8}\.\., expected") as caught:
        verify_id(forged)

    assert short(view.id) in str(caught.value)
    assert short(by_hash(forged)) in str(caught.value)


# -- in a searched world -------------------------------------------------------------------


def test_an_id_by_content_survives_a_renaming_of_members() -> None:
    """Symmetry renames whole states, so renaming a view must give the view of renamed members."""
    swap = {"a": "b", "b": "a", "a'": "b'", "b'": "a'"}
    view, view_of_renamed = _small_chain("ab"), _small_chain("ba")

    renamed = thaw(rename(freeze(view), swap))

    assert view != renamed
    assert view_of_renamed == renamed
    assert hash(view_of_renamed) == hash(renamed)


def _small_chain(order: str) -> object:
    one, other = (Seat(name, f"{name}'") for name in order)
    first = found(
        members=[one, other],
        electors=[one],
        wait_for=1,
        options_digest="options",
        cluster_name="cluster",
        nonce="nonce",
        time=0,
        digest=by_content,
    )
    return change(
        first,
        members=[one],
        position=Position(first.id, 1),
        activated=True,
        nonce="nonce",
        time=0,
        digest=by_content,
    )


def test_an_id_by_content_refuses_a_position_off_its_chain() -> None:
    """A view in a position is named by its number, which is unique only among ancestors."""
    chain = views("F1 C", by_content)
    elsewhere = views("F2 C", by_content)

    with pytest.raises(
        Malformed, match="position: found FOUND 1 of a b c, expected an earlier view"
    ):
        change(
            chain["C"],
            members=seats("a"),
            position=Position(elsewhere["F2"].id, 1),
            activated=True,
            nonce="nonce",
            time=0,
            digest=by_content,
        )


def test_a_name_contains_the_frame_and_the_view_after_which_a_view_starts() -> None:
    """The same frame number in two views, and two numbers in one view, give different names."""
    chains = (views(f"F C1 C2@{at}", by_content) for at in ("F.1", "C1.1", "F.2"))
    one, two, other = (chain["C2"].id for chain in chains)

    assert one != two
    assert one != other


def test_the_two_digests_do_not_mix() -> None:
    """All members of a cluster use one digest."""
    hashed, called = views("F")["F"], views("F", by_content)["F"]
    for parent, digest in ((hashed, by_content), (called, by_hash)):
        with pytest.raises(MisuseError, match="cannot be"):
            change(
                parent,
                members=parent.members,
                position=None,
                activated=True,
                nonce="nonce",
                time=0,
                digest=digest,
            )


@pytest.mark.parametrize("digest", [by_hash, by_content])
def test_a_view_travels_between_processes(digest: Any) -> None:
    """Spark and worker processes send views to each other."""
    view = views("F C@F.3 X", digest)["X"]

    again = pickle.loads(pickle.dumps(view))

    assert view == again
    assert hash(view) == hash(again)


def test_an_id_is_shown_short() -> None:
    """An operator reads eight digits, not sixty-four."""
    view, called = views("F C:ab")["C"], views("F C:ab", by_content)["C"]

    assert f"CHANGE 2 of a b ({str(view.id)[:8]}..)" == str(view)
    assert "CHANGE 2 of a b" == short(called.id)
    assert "none" == short(None)
    assert "v1" == short("v1")
    assert ["x" * 10, "x" * 8 + ".."] == [short("x" * 10), short("x" * 11)]
