"""One connection: admission of members, and the answers to strangers, thieves and broken peers."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.net.framing import framed
from joinproto.net.refused import Refused
from joinproto.net.session import GREETING_BYTES_MAX, Identity, Session

SECRET = b"a secret that both sides know"


def pair(**more: object) -> tuple[Session, Session]:
    """Return a dialer `a` and an acceptor `b`; `more` changes the dialer."""
    shared = {"cluster_name": "cluster", "secret": SECRET}
    a = Identity(**({"member": "a"} | shared | more))  # type: ignore[arg-type]
    b = Identity(member="b", **shared)  # type: ignore[arg-type]
    return Session(a, "b"), Session(b, None)


def greet(dialer: Session, acceptor: Session) -> None:
    """Carry the greeting to its end."""
    for _ in range(2):
        assert [] == list(acceptor.feed(dialer.take_out()))
        assert [] == list(dialer.feed(acceptor.take_out()))


def test_both_sides_know_each_other_and_exchange_frames() -> None:
    dialer, acceptor = pair()

    greet(dialer, acceptor)

    assert ("b", "a") == (dialer.peer, acceptor.peer)
    assert [b"one", b"two"] == list(acceptor.feed(dialer.seal(b"one") + dialer.seal(b"two")))
    assert [b"three"] == list(dialer.feed(acceptor.seal(b"three")))


@given(cuts=st.lists(st.integers(1, 40)))
def test_the_pieces_in_which_bytes_come_make_no_difference(cuts: list[int]) -> None:
    dialer, acceptor = pair()
    greet(dialer, acceptor)
    said = dialer.seal(b"one") + dialer.seal(b"two" * 30)

    heard: list[bytes] = []
    while said:
        size = cuts.pop() if cuts else len(said)
        heard += acceptor.feed(said[:size])
        said = said[size:]

    assert [b"one", b"two" * 30] == heard


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cluster_name": "other"}, "it is of cluster 'other', b is of 'cluster'"),
        ({"secret": b"another secret of the same kind"}, "does not know the secret"),
        ({"secret": b""}, "does not know the secret"),
        ({"versions": (8, 9)}, "it speaks wire versions 8 to 9, b speaks 1 to 4"),
        ({"member": "b"}, "it is 'b', expected another member"),
    ],
)
def test_a_stranger_is_refused_and_told_why(more: dict[str, object], why: str) -> None:
    dialer, acceptor = pair(**more)

    with pytest.raises(Refused) as refused:
        greet(dialer, acceptor)

    assert why in str(refused.value)
    assert acceptor.peer is None
    if b"refused" in (said := acceptor.take_out()):
        with pytest.raises(Refused, match="b refuses us"):
            list(dialer.feed(said))


def test_both_sides_speak_the_highest_common_version() -> None:
    """The acceptor speaks versions 1 to 4; the dialer's differ, as in a rolling upgrade."""
    for versions, common in (((1, 5), 4), ((1, 3), 3), ((1, 2), 2), ((1, 1), 1)):
        dialer, acceptor = pair(versions=versions)

        greet(dialer, acceptor)

        assert (common, common) == (dialer.version, acceptor.version)


def test_a_side_that_sends_no_run_is_understood() -> None:
    """Members of the first versions greet without a run; both sides still derive the same keys."""
    for ours, theirs in (("one", "two"), ("one", ""), ("", "two")):
        dialer, acceptor = pair()
        dialer, acceptor = (
            Session(evolve(side.me, run=run), side.dials)
            for side, run in ((dialer, ours), (acceptor, theirs))
        )

        greet(dialer, acceptor)

        assert ("b", "a") == (dialer.peer, acceptor.peer)
        if ours and theirs:
            assert (theirs, ours) == (dialer.run, acceptor.run)


def test_an_acceptor_without_the_secret_is_refused() -> None:
    """No process can replace a member by listening at its address."""
    dialer, _ = pair()
    _, thief = pair()
    thief.me = Identity(member="b", cluster_name="cluster", secret=b"a guess, 16 bytes")
    list(thief.feed(dialer.take_out()))

    with pytest.raises(Refused, match="'b' does not know the secret"):
        list(dialer.feed(thief.take_out()))


def test_a_proof_of_one_connection_is_refused_on_another() -> None:
    """Replay: a thief has recorded a whole connection, and plays the dialer's part again."""
    dialer, acceptor = pair()
    first = dialer.take_out()
    list(acceptor.feed(first))
    list(dialer.feed(acceptor.take_out()))
    second = dialer.take_out()
    _, again = pair()
    list(again.feed(first))

    with pytest.raises(Refused, match="does not know the secret"):
        list(again.feed(second))


def test_a_side_cannot_use_the_proof_of_the_other_side() -> None:
    """Reflection: a thief gives the acceptor its own proof back."""
    dialer, acceptor = pair()
    list(acceptor.feed(dialer.take_out()))
    (said,) = Session(acceptor.me, None)._reader.feed(acceptor.take_out())

    with pytest.raises(Refused, match="does not know the secret"):
        list(acceptor.feed(framed(json.dumps({"proof": json.loads(said)["proof"]}).encode())))


@pytest.mark.parametrize("action", ["twice", "swapped", "changed", "left out"])
def test_frames_that_were_tampered_with_are_refused(action: str) -> None:
    dialer, acceptor = pair()
    greet(dialer, acceptor)
    one, two = dialer.seal(b"one"), dialer.seal(b"two")
    said = {
        "twice": one + one,
        "swapped": two + one,
        "changed": one[:-1] + b"!",
        "left out": two,
    }[action]

    with pytest.raises(Refused, match="was not sent by a, or is out of order"):
        list(acceptor.feed(said))


@given(said=st.binary(max_size=300))
def test_garbage_is_refused_or_waits_for_more_bytes(said: bytes) -> None:
    _, acceptor = pair()

    try:
        heard = list(acceptor.feed(said))
    except Refused:
        heard = []

    assert ([], None) == (heard, acceptor.peer)


@given(said=st.binary(min_size=1, max_size=300))
def test_garbage_of_a_proved_peer_is_refused_or_waits_for_more_bytes(said: bytes) -> None:
    dialer, acceptor = pair()
    greet(dialer, acceptor)

    try:
        heard = list(acceptor.feed(said + bytes(2000)))
    except Refused:
        heard = []

    assert [] == heard


def test_a_stranger_cannot_make_us_wait_for_a_large_frame() -> None:
    _, acceptor = pair()

    with pytest.raises(Refused, match=f"expected 1 to {GREETING_BYTES_MAX}"):
        list(acceptor.feed((GREETING_BYTES_MAX + 1).to_bytes(4, "big")))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
    st.sampled_from(["joinproto", "cluster", "from", "to", "nonce"]),
)
def test_a_greeting_with_any_value_in_a_field_lets_no_peer_in(value: object, name: str) -> None:
    """With any JSON in a field, the greeting is refused or continues; no other error is raised."""
    dialer, acceptor = pair()
    (greeting,) = Session(acceptor.me, None)._reader.feed(dialer.take_out())
    tree = json.loads(greeting)
    tree[name] = value
    said = json.dumps(tree).encode()

    with suppress(Refused):
        list(acceptor.feed(framed(said)))

    assert acceptor.peer is None
