"""Messages between logs: they are encoded and decoded, and all other bytes are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.codec.malformed import Malformed
from joinproto.durable.journal.journal import Frame, Run
from joinproto.log.entry import Entry, packed
from joinproto.log.messages import (
    Ask,
    AtRest,
    BasePiece,
    Committed,
    Fetch,
    FetchBase,
    Frames,
    Have,
    HaveFrom,
    Kept,
    Message,
    Piece,
    Rest,
    Submit,
    Submits,
    read,
    write,
)

VIEW = "0f" * 32
MESSAGES: list[Message] = [
    Frames(VIEW, 3, (b"one", b"", b"\n[]")),
    Kept(VIEW, 0, "store", True),
    Committed(VIEW, 7),
    Submit(VIEW, "origin", 2, 1, b"body\nof two lines"),
    Submits(VIEW, "origin", 1, (2, 4), (b"body\nof two lines", b"")),
    Ask(VIEW),
    Have(VIEW, (Run(VIEW, 1, 4), Run("1" * 64, 5, 5))),
    HaveFrom(VIEW, 4, 300, (Run(VIEW, 1, 4), Run("1" * 64, 5, 5))),
    FetchBase(VIEW, 4, 0),
    BasePiece(VIEW, 4, 200, b"state\n[]"),
    Fetch(VIEW, 1),
    Rest(VIEW),
    AtRest(VIEW, 7),
    Piece(VIEW, 5, (Frame(VIEW, 5, b"five"), Frame("1" * 64, 6, b""))),
]


WRITTEN = (
    b'["frames","V",3,[3,0,3]]\none\n[]',
    b'["kept","V",0,"store",true]\n',
    b'["committed","V",7]\n',
    b'["submit","V","origin",2,1]\nbody\nof two lines',
    b'["submits","V","origin",1,[2,4],[17,0]]\nbody\nof two lines',
    b'["ask","V"]\n',
    b'["have","V",[["V",1,4],["W",5,5]]]\n',
    b'["have-from","V",4,300,[["V",1,4],["W",5,5]]]\n',
    b'["fetch-base","V",4,0]\n',
    b'["base","V",4,200]\nstate\n[]',
    b'["fetch","V",1]\n',
    b'["rest","V"]\n',
    b'["at-rest","V",7]\n',
    b'["piece","V",5,[["V",4],["W",0]]]\nfive',
)
"""The bytes of each of `MESSAGES`, with V and W for the ids of views."""


@pytest.mark.parametrize(("message", "written"), [*zip(MESSAGES, WRITTEN, strict=True)])
def test_the_bytes_of_a_message_never_change(message: Message, written: bytes) -> None:
    """Members of an earlier version read them."""
    expected = written.replace(b"V", VIEW.encode()).replace(b"W", b"1" * 64)

    assert expected == write(message)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_a_written_message_is_read_again(message: Message) -> None:
    assert message == read(write(message))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
@given(data=st.data())
def test_a_damaged_message_is_refused_or_can_be_written_again(
    message: Message, data: st.DataObject
) -> None:
    """No other error is raised, so no bytes of a peer end the member."""
    said = bytearray(write(message))
    at = data.draw(st.integers(0, len(said) - 1))
    said[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))

    try:
        found = read(bytes(said))
    except Malformed:
        return

    assert found == read(write(found))


@given(st.binary(max_size=200))
def test_garbage_is_refused(said: bytes) -> None:
    with pytest.raises(Malformed):
        read(said)


@pytest.mark.parametrize(
    "said",
    [
        f'["piece","{VIEW}",5,5]\n',
        f'["have","{VIEW}",[["{VIEW}",2,3]]]',
        f'["have","{VIEW}",[["{VIEW}",1,0]]]',
        f'["have-from","{VIEW}",4,300,[["{VIEW}",1,3]]]',
        f'["have-from","{VIEW}",0,300,[["{VIEW}",1,3]]]',
        f'["fetch-base","{VIEW}",1,-1]',
        f'["base","{VIEW}",0,0]\nstate',
        f'["frames","{VIEW}",1,[5]]\nonly',
        f'["frames","{VIEW}",1,[-1]]',
        f'["ask","{VIEW}"]\nmore',
        f'["fetch","{VIEW[:-1]}",1]',
        f'["kept","{VIEW}",true,"store",false]',
        f'["piece","{VIEW}",1,[["{VIEW}"]]]',
        f'["unknown","{VIEW}"]',
        "[]",
        "{}",
    ],
)
def test_bytes_that_no_log_sends_are_refused(said: str) -> None:
    with pytest.raises(Malformed):
        read(said.encode())


@given(st.binary(max_size=50))
def test_a_packed_entry_is_read_again(body: bytes) -> None:
    entry = Entry.of(packed("origin", 12, body))

    assert ("origin", 12, body) == (entry.origin, entry.number, entry.body)


@given(st.binary(max_size=50))
def test_any_data_of_a_frame_is_an_entry(data: bytes) -> None:
    assert Entry.of(data).body in data
