"""The file itself: its form, unknown fields, and refusals."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from joinproto.codec.malformed import Malformed
from joinproto.durable.envelope import FORMAT, Envelope, Validity, seal, unseal
from joinproto.errors import MisuseError, StoreCorrupt, StoreForeign, StoreNewer
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Position
from joinproto.store.codec import decode, encode
from joinproto.store.contents import DEPTH_MAX, Contents
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER, judge
from tests.join.pictures import lineage, position, views
from tests.join.trees import Tree, positions, trees
from tests.store.inspection import inspect
from tests.store.records import life

GOLDEN = Path(__file__).parent / "golden" / "store.meta"
CHAIN = "F C1:ab@F.5 X@C1.6"
Object = dict[str, Any]


def everything() -> Contents:
    """Return contents in which every field has a value."""
    drawn = views(CHAIN)
    ballot = Ballot(7, "b'")
    record = StoreRecord(
        store_id="a'",
        lineage=lineage("F C1:ab@F.5"),
        held=drawn["F"].id,
        position=position("C1.6", CHAIN),
        update_unfinished=True,
        promised=ballot,
        accepted=Accepted(ballot, drawn["X"]),
        mark=drawn["C1"].id,
    )
    return Contents(
        member="a",
        record=record,
        cluster_name="cluster",
        history=({"who": "Ada", "when": "2026-11-21T03:00:00Z", "why": "a power cut"},),
    )


def payload(change: Callable[[Object], object] = lambda tree: None) -> bytes:
    """Return the golden payload with a change made to it."""
    tree = json.loads(encode(everything()))
    change(tree)
    return json.dumps(tree).encode()


def lay(path: Path, data: bytes) -> None:
    """Lay a file as the current file of a store."""
    (path / FOLDER).mkdir()
    (path / FOLDER / CURRENT).write_bytes(data)


def test_the_written_file_equals_the_golden_file() -> None:
    """An operator can read the payload with `cat`; this test notices a changed format."""
    assert GOLDEN.read_bytes() == seal(Envelope(12, encode(everything())))


def test_the_golden_file_is_read() -> None:
    """Files that were written in this format stay readable."""
    slot = judge(GOLDEN, GOLDEN.read_bytes())

    assert (Validity.VALID, 12) == (slot.validity, slot.generation)
    assert everything() == slot.contents


@given(trees(), st.data())
def test_every_record_with_ids_by_hash_is_read_back_as_it_was(
    tree: Tree, data: st.DataObject
) -> None:
    """A record with the ids of a searched world has no form in a file."""
    tip = data.draw(st.sampled_from(tree.views))
    record = StoreRecord(
        store_id="s",
        lineage=tree.lineage(tip, keep=data.draw(st.integers(1, 14))),
        position=data.draw(positions(tree, tip)),
        held=data.draw(st.none() | st.just(tip.id)),
    )
    contents = Contents(member="a", record=record)

    if isinstance(tip.id, str):
        assert contents == decode(encode(contents))
        assert encode(contents) == encode(decode(encode(contents)))
    else:
        with pytest.raises(Malformed, match="id of a view on disk"):
            encode(contents)


def test_a_store_without_a_view_keeps_the_cluster_name_that_it_was_given() -> None:
    contents = Contents(member="a", record=StoreRecord(store_id="s"), cluster_name="cluster")

    assert contents == decode(encode(contents))


# -- unknown fields ------------------------------------------------------------------------


def test_fields_of_a_later_version_survive_a_rewrite(tmp_path: Path) -> None:
    """Unknown fields survive, each as long as the object that contains it."""

    def later(tree: Object) -> None:
        tree["colour"] = {"of": ["the", "payload", 1, None, 2.5]}
        tree["views"][0]["colour"] = "of F"
        tree["accepted"]["view"]["colour"] = "of X"
        tree["position"]["colour"] = "of the frame"
        tree["promised"]["colour"] = "of the ballot"

    lay(tmp_path, seal(Envelope(1, payload(later))))
    with open_store(tmp_path) as store:
        learned = store.record.learn(lineage(CHAIN))
        store.write(evolve(learned, update_unfinished=False))
        # Contents that were made again, by a program that does not know the later fields.
        store.write_contents(Contents(member="a", record=store.record, cluster_name="cluster"))

    tree = _tree(tmp_path)
    assert {"of": ["the", "payload", 1, None, 2.5]} == tree["colour"]
    assert ["of F", None, "of X"] == [view.get("colour") for view in tree["views"]]
    assert "of the frame" == tree["position"]["colour"]
    assert tree["promised"] is None


def test_a_field_of_a_value_that_changed_is_not_kept(tmp_path: Path) -> None:
    """The unknown field was about the former value; next to another value it would be wrong."""

    def later(tree: Object) -> None:
        tree["position"]["colour"] = "of frame 6"

    lay(tmp_path, seal(Envelope(1, payload(later))))
    with open_store(tmp_path) as store:
        at = store.record.position
        assert at is not None
        store.write(evolve(store.record, position=Position(at.view, at.seq + 1)))

    assert {"view": at.view, "seq": 7} == _tree(tmp_path)["position"]


def test_operators_actions_survive_a_rewrite(tmp_path: Path) -> None:
    """The recovery tool writes who acted, when, where and why; every later writer keeps this."""
    done: Object = {"who": "Ada", "why": "naïve ☃ \n", "hash": "00", "nested": {"n": [1]}}
    with create_store(tmp_path, life()[0], member="a") as store:
        store.write_contents(evolve(store.contents, history=(done,)))
        store.write(life()[1])

    with open_store(tmp_path) as store:
        assert (done,) == store.contents.history
        assert "a" == store.contents.member


# -- refused -------------------------------------------------------------------------------


def test_a_newer_format_is_not_called_corrupt(tmp_path: Path) -> None:
    """The version is checked before the checksum, so a newer file is not reported as corrupt."""
    lay(tmp_path, b"joinproto store\nformat 3\nblake3 and a binary payload\n\xff\xfe")

    with pytest.raises(
        StoreNewer, match=f"has format 3; this version reads formats up to {FORMAT}"
    ):
        open_store(tmp_path)

    assert Validity.NEWER is inspect(tmp_path).current.validity


def test_only_a_store_whose_frames_may_be_dropped_needs_the_second_format(tmp_path: Path) -> None:
    """Earlier versions read only the first format, and would take a base for a torn tail."""
    lines = []
    for dropped in (False, True):
        path = tmp_path / str(dropped)
        path.mkdir()
        with create_store(path, StoreRecord(store_id="id"), member="a") as store:
            store.write_contents(evolve(store.contents, frames_dropped=dropped))
            store.write(store.record)
        with open_store(path) as again:
            assert dropped is again.contents.frames_dropped
        lines.append((path / FOLDER / CURRENT).read_bytes().splitlines()[1])

    assert [b"format 1", b"format 2"] == lines


def test_the_error_about_a_foreign_file_shows_its_beginning(tmp_path: Path) -> None:
    """A file that joinproto did not write is not ours to judge."""
    lay(tmp_path, b"# GALERA saved state\nversion: 2.1\n")

    with pytest.raises(StoreForeign, match="begins with b'# GALERA saved s'"):
        open_store(tmp_path)


def _repeat_key(data: bytes) -> bytes:
    return data.replace(b'"member"', b'"member": "b", "member"', 1)


def _set(*way: str | int, to: object) -> bytes:
    def change(tree: Any) -> None:
        for key in way[:-1]:
            tree = tree[key]
        tree[way[-1]] = to

    return payload(change)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "payload: found Expecting value: line 1 column 1 (char 0), expected JSON"),
        (b"\xff", "payload: found invalid start byte at byte 0, expected UTF-8"),
        (b"[]", "payload: found [], expected an object"),
        (b"[" * 100_000, "payload: found nested too deep to read, expected JSON"),
        (b'{"a": NaN}', "payload: found NaN, expected a finite number"),
        (b'{"a": 1e999}', "payload.a: found inf, expected a finite number"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "payload: found Exceeds the limit"),
        (b'{"a": "\\ud800"}', "payload.a: found '\\ud800', expected no control character"),
        (_repeat_key(payload()), "payload: found the key 'member' twice, expected each key once"),
        (payload(lambda tree: tree.pop("mark")), "payload.mark: found no value"),
        (_set("member", to=""), "member: found '', expected a text that is not empty"),
        (_set("member", to=None), "payload.member: found None, expected str"),
        (_set("promised", "round", to=0), "payload.promised, round: found 0, expected at least 1"),
        (_set("promised", "round", to=True), "payload.promised.round: found True, expected int"),
        (_set("promised", to=[1]), "payload.promised: found [1], expected an object or None"),
        (_set("promised", to=None), "promised: found None, expected Ballot"),
        (
            _set("position", "seq", to=2**63),
            "payload.position, seq: found 9223372036854775808, expected at least",
        ),
        (_set("position", "seq", to=5), "position of a store, seq: found 5, expected more than 5"),
        (_set("update_unfinished", to=1), "payload.update_unfinished: found 1, expected bool"),
        (_set("views", to=""), "payload.views: found '', expected list"),
        (_set("views", to=[]), "initial signature without a view: found 'bbe0a4"),
        (_set("views", 1, to=7), "payload.views[1]: found 7, expected an object"),
        (_set("views", 1, "wait_for", to="2"), "payload.views[1].wait_for: found '2'"),
        (_set("views", 1, "members", to=[]), "payload.views[1].members: found [], expected dict"),
        (
            _set("views", 1, "kind", to="merge"),
            "payload.views[1].kind: found 'merge', expected found",
        ),
        (_set("views", 1, "time", to=1), "id of view 2: found "),
        (_set("initial", to="00"), "initial signature: found '00', expected bbe0a4a2.."),
        (_set("held", to="00"), "held: found 00, expected a view on this store's chain"),
        (_set("accepted", "view", "time", to=1), "id of view 3: found "),
        (_set("history", to={}), "payload.history: found {}, expected list"),
        (_set("history", to=[1]), "history[0]: found 1, expected an object"),
        (_set("cluster_name", to="other"), "cluster_name of the tip: found 'cluster', expected"),
    ],
)
def test_an_impossible_payload_is_corrupt_although_its_checksum_is_right(
    data: bytes, problem: str
) -> None:
    """Impossible counters, links and types are refused, and the error names the field."""
    slot = judge(GOLDEN, seal(Envelope(3, data)))

    assert Validity.CORRUPT is slot.validity
    assert slot.problem.startswith(problem)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"format 1", b"format 0"),
        (b"format 1", b"format 01"),
        (b"generation 12", b"generation 0"),
        (b"generation 12", b"generation -1"),
        (b"generation 12", b"generation 9223372036854775808"),
        (b"length ", b"length  "),
        (b"length ", b"length 9"),
        (b"\nsha256", b"\n\nsha256"),
        (b"sha256 ", b"SHA256 "),
    ],
)
def test_an_envelope_with_a_malformed_line_is_corrupt(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    """Each line has exactly one valid spelling."""
    lay(tmp_path, GOLDEN.read_bytes().replace(old, new, 1))

    with pytest.raises(StoreCorrupt, match="nothing was changed"):
        open_store(tmp_path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.data())
def test_no_payload_causes_a_traceback(data: st.DataObject) -> None:
    """Any value in any place gives an error, or a record that can be written again."""
    tree: Any = json.loads(encode(everything()))
    node: Any = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            break
        node = node[key]
    match data.draw(st.sampled_from(["replace", "remove", "copy"])):
        case "replace":
            node[key] = data.draw(_JSON)
        case "remove":
            del node[key]
        case "copy":
            others = [tree["views"], tree["promised"], tree["held"]]
            node[key] = deepcopy(data.draw(st.sampled_from(others)))

    slot = judge(GOLDEN, seal(Envelope(3, json.dumps(tree).encode())))

    if slot.contents is None:
        assert Validity.CORRUPT is slot.validity
        assert slot.problem
    else:
        assert slot.contents == decode(encode(slot.contents))


@given(st.binary(max_size=200) | st.text().map(str.encode))
@example(b"")
def test_no_file_causes_a_traceback(data: bytes) -> None:
    """The bytes are a payload, follow our first line, or are the whole file."""
    for file in (data, b"joinproto store\n" + data, seal(Envelope(1, data))):
        assert judge(GOLDEN, file).contents is None


def test_a_payload_that_is_nested_too_deep_to_be_written_is_not_read() -> None:
    """Python reads deeper values than it writes; otherwise a store could become read-only."""
    deep: Any = 1
    for _ in range(DEPTH_MAX - 2):
        deep = [deep]

    assert decode(payload(lambda tree: tree.update(deep=deep))).source["deep"] == deep
    with pytest.raises(Malformed, match="levels of nesting"):
        decode(payload(lambda tree: tree.update(deep=[[deep]])))


# -- values never written ------------------------------------------------------------------


def test_a_record_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    """New contents are checked before the disk changes, so the store can still write afterwards."""
    with create_store(tmp_path, life()[2], member="a") as store:
        before = (tmp_path / FOLDER / CURRENT).read_bytes()
        tip = store.record.tip
        assert tip is not None
        forged = evolve(store.record.lineage, views=(evolve(tip, time=1),))

        with pytest.raises(MisuseError, match="id of view 1"):
            store.write(evolve(store.record, lineage=forged))
        with pytest.raises(MisuseError, match="transient"):
            store.write(evolve(store.record, transient=True))
        with pytest.raises(MisuseError, match="store_id b' written over a'"):
            store.write(evolve(store.record, store_id="b'"))
        with pytest.raises(MisuseError, match="initial signature would change"):
            store.write(evolve(store.record, lineage=lineage("F2")))
        with pytest.raises(MisuseError, match="initial signature would change"):
            store.write(life()[0])

        assert before == (tmp_path / FOLDER / CURRENT).read_bytes()
        store.write(life()[3])
    with pytest.raises(MisuseError, match="after it was closed"):
        store.write(life()[4])


@pytest.mark.parametrize(
    "entry",
    [
        "not an object",
        {"when": b"bytes"},
        {"when": ("a", "tuple")},
        {1: "a number as a key"},
        {"why": "\x9b31m"},
        {"n": float("nan")},
        {"n": 1 << 20_000},
    ],
)
def test_a_value_that_json_cannot_carry_is_refused_before_it_is_written(entry: Any) -> None:
    """A history entry may have only JSON values, and text that is safe on a terminal."""
    with pytest.raises(Malformed, match=r"history\[0\]"):
        Contents(member="a", record=life()[0], history=(entry,))


def test_an_envelope_is_read_back_as_it_was() -> None:
    """This holds for any generation and payload."""
    for envelope in (Envelope(1, b""), Envelope(2**63 - 1, b"sha256 \n\x00" * 9)):
        assert envelope == unseal(seal(envelope))


def _tree(path: Path) -> Object:
    envelope = unseal((path / FOLDER / CURRENT).read_bytes())
    assert isinstance(envelope, Envelope)
    tree: Object = json.loads(envelope.payload)
    return tree
