"""Directories of Kafka's controllers, written by the tests in the format of Kafka's source.

No real Kafka was available, so none of these directories is real.
"""

from __future__ import annotations

import base64
import json
import struct

import pytest

from joinproto.pick.table import Verdict
from joinproto.recovery.foreign import kraft
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.found import Format, Found, Raw, RawFile, State
from joinproto.recovery.judgement import Judgement, judge
from tools.histories.trees import Sparse

LOG = f"{kraft.FOLDER}/00000000000000000000.log"


def number(value: int) -> bytes:
    value = value << 1 if value >= 0 else (-value << 1) - 1
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def batch(first: int, epoch: int, records: list[tuple[bytes, bytes]], control: bool) -> bytes:
    body = b""
    for at, (key, value) in enumerate(records):
        one = b"\0" + number(0) + number(at)
        for part in (key, value):
            one += number(len(part)) + part
        body += number(len(one) + 1) + one + b"\0"
    rest = struct.pack(
        *(">hiqqqhii", 0x20 if control else 0, len(records) - 1, 0, 0, -1, -1, -1, len(records))
    )
    checked = rest + body
    checksum = struct.pack(">I", crc32c(checked))
    inside = struct.pack(">ib", epoch, 2) + checksum + checked
    return struct.pack(">qi", first, len(inside)) + inside


def own(node: int, times: int = 0) -> str:
    return base64.urlsafe_b64encode(bytes([node, times]) * 8).decode().rstrip("=")


def raw_id(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def voters(*nodes: int) -> tuple[bytes, bytes]:
    value = b"\0\0" + bytes([len(nodes) + 1])
    for node in nodes:
        host = b"c.example"
        value += struct.pack(">i", node) + raw_id(own(node))
        value += b"\x02" + b"\x0bCONTROLLER" + bytes([len(host) + 1]) + host + b"\x23\x85\0"
        value += b"\0\0\0\x01\0\0"
    return b"\0\0\0\x06", value + b"\0"


def leader(node: int, *nodes: int) -> tuple[bytes, bytes]:
    one = b"".join(struct.pack(">i", each) + b"\0" for each in nodes)
    count = bytes([len(nodes) + 1])
    return b"\0\0\0\x02", b"\0\0" + struct.pack(">i", node) + count + one + count + one + b"\0"


def controller(
    node: int, batches: list[bytes], *, epoch: int, times: int = 0, state: object = None
) -> Sparse:
    meta = f"#\n#Fri\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id={own(node, times)}\n"
    state = state or {"leaderId": -1, "leaderEpoch": epoch, "votedId": 1, "data_version": 1}
    files = {
        kraft.META: f"{meta}node.id={node}\nversion=1\n".encode(),
        kraft.STATE: json.dumps(state).encode(),
        LOG: b"".join(batches),
    }
    return Sparse(files, {name: len(data) for name, data in files.items()})


FOUNDING = batch(0, 1, [leader(1, 1, 2, 3), voters(1, 2, 3)], control=True)
DATA = [batch(at, 1, [(b"", bytes(30))], control=False) for at in range(2, 9)]
ONE = controller(1, [FOUNDING, *DATA], epoch=1)
TWO = controller(2, [FOUNDING, *DATA[:3]], epoch=1)
AGAIN = controller(3, [], epoch=0, times=1)


def store_of(tree: Sparse) -> Found:
    data = kraft.digest(tree)
    node = json.loads(data)["member"]
    files = (RawFile(kraft.NAMES[0], data),)
    return kraft.read(Raw(path=f"/{node}", host="h", format=Format.KRAFT, files=files))


def verdict_of(*trees: Sparse) -> Judgement:
    return judge([store_of(one) for one in trees], words=["a", "b"])


def test_the_facts_have_the_last_offset_and_the_voters_with_their_directories() -> None:
    facts = kraft.facts_of(ONE)

    assert (facts.last_term, facts.last_index, facts.term, facts.vote) == (1, 9, 1, "1")
    assert facts.damaged == ""
    assert facts.member == f"1@{own(1)}"
    assert facts.configurations[-1].voters == {f"{one}@{own(one)}" for one in (1, 2, 3)}


def test_a_majority_proves_the_latest_controller() -> None:
    one = verdict_of(ONE, TWO)

    assert (Verdict.PROVEN, 0) == (one.verdict, one.code)
    assert one.latest[0].member == "1"
    assert one.next.startswith("start 1 (h:/1@")
    assert verdict_of(TWO).verdict is Verdict.UNPROVEN


def test_a_directory_that_was_formatted_again_does_not_vote() -> None:
    """Its node is a voter with another directory, whose data this directory lacks."""
    used = controller(3, [FOUNDING, *DATA], epoch=1, times=1)
    blank, again = store_of(AGAIN), store_of(used)

    assert "was formatted, and its log is empty" in blank.problems[0]
    assert "was formatted again: node 3 votes with another directory" in again.problems[0]
    for one in (AGAIN, used):
        assert verdict_of(TWO, one).verdict is Verdict.UNPROVEN
        assert verdict_of(ONE, TWO, one).verdict is Verdict.PROVEN


def test_fixed_voters_are_those_at_the_election_of_the_last_leader() -> None:
    """Before 3.9 voters have no directories, and quorum-state lists them, too."""
    old = batch(0, 1, [leader(1, 1, 2, 3)], control=True)
    state = {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 4,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": one} for one in (1, 2, 3)],
        "data_version": 0,
    }
    other = {**state, "currentVoters": [{"voterId": 1}]}
    same = controller(1, [old], epoch=4, state=state)
    odd = controller(1, [old], epoch=4, state=other)

    assert kraft.facts_of(same).configurations[-1].voters == {"1", "2", "3"}
    assert (kraft.facts_of(same).term, kraft.facts_of(same).damaged) == (4, "")
    assert "other voters than the log" in kraft.facts_of(odd).damaged


def test_a_snapshot_has_the_voters_and_the_committed_offset() -> None:
    inside = batch(0, 1, [(b"\0\0\0\3", b""), voters(1, 2, 3)], control=True)
    name = f"{kraft.FOLDER}/{5:020}-{1:010}.checkpoint"
    since = f"{kraft.FOLDER}/{5:020}.log"
    files = {**ONE.files, name: inside, since: b"".join(DATA[3:])}
    del files[LOG]
    facts = kraft.facts_of(Sparse(files, {one: len(data) for one, data in files.items()}))

    assert (facts.commit, facts.last_index, facts.damaged) == (5, 9, "")
    assert len(facts.configurations[-1].voters) == 3


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (kraft.STATE, b"", "is not there: the node may have voted"),
        (kraft.STATE, b"{}", "is not as Kafka writes it"),
        (kraft.META, b"", "is not there"),
        (kraft.META, b"version=1\n", "names no node"),
        (LOG, FOUNDING + DATA[1], "a batch at 3 of epoch 1 follows 2"),
        (LOG, FOUNDING + DATA[0][:30], "is cut off"),
    ],
)
def test_a_directory_that_cannot_be_believed_is_reported(name: str, data: bytes, said: str) -> None:
    tree = ONE.with_file(name, data, len(data)) if data else ONE.without(name)
    one = store_of(tree)

    assert (State.CORRUPT, said in one.problems[0]) == (one.state, True)
    assert verdict_of(TWO, tree).verdict is Verdict.UNPROVEN
