"""Views that are decoded once: the answer is the store's own, whatever was read before."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.durable.envelope import Envelope, Validity, seal
from joinproto.join.store import StoreRecord
from joinproto.recovery import known as module
from joinproto.recovery.known import Known
from joinproto.store.codec import decode, encode
from joinproto.store.contents import Contents
from joinproto.store.slots import Slot, judge
from tests.recovery.disks import record

CHAIN = "F C1:ab@F.5 C2@C1.6 C3:ab@C2.9 X@C3.12 R:ab C4"
PATH = Path("store.meta")


def sealed(what: StoreRecord, **more: Any) -> bytes:
    return seal(Envelope(3, encode(Contents(member="a", record=what, **more))))


@cache
def stores() -> tuple[bytes, ...]:
    """Return files of one cluster that share views, and begin and end at different ones."""
    drawn = [
        record("a", text, CHAIN)
        for text in (
            "C4 C3.12",
            "C4 C3.12 marked",
            "R C3.12 of F C1:ab@F.5 C2@C1.6 C3:ab@C2.9 X@C3.12 R:ab",
        )
    ]
    drawn.append(record("b", "F F.5 of F", CHAIN))
    kept = evolve(drawn[0].lineage, views=drawn[0].lineage.views[2:])
    drawn.append(evolve(drawn[0], lineage=kept))
    return tuple(sealed(what) for what in drawn)


def same(one: Slot, other: Slot) -> bool:
    """Return whether they say the same; what is carried for a rewrite is not compared."""
    return one == other


def test_files_that_share_views_read_as_they_do_alone() -> None:
    """In every order."""
    files = stores()
    for seed in range(20):
        known = Known()
        for raw in Random(seed).sample(files, len(files)):
            assert same(judge(PATH, raw), known.judge(PATH, raw))
            assert Validity.VALID is known.judge(PATH, raw).validity


def test_each_view_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, 300 stores of 1,000 views take most of a minute."""
    decoded: list[bytes] = []

    def counted(payload: bytes) -> Contents:
        decoded.append(payload)
        return decode(payload)

    monkeypatch.setattr(module, "decode", counted)
    known = Known()
    raw = stores()[0]

    known.judge(PATH, raw)
    first = len(decoded)
    known.judge(PATH, raw)

    assert 1 + len(record("a", "C4 C3.12", CHAIN).lineage.views) == first
    assert first + 1 == len(decoded)


def _changed(tree: Any, random: Random) -> Any:
    """Return the payload with one thing changed, somewhere."""
    where, steps = tree, random.randint(1, 5)
    for _ in range(steps):
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        if not keys:
            break
        key = random.choice(keys)
        inner = where[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.7:
            where = inner
            continue
        match random.randrange(4):
            case 0:
                where[key] = random.choice([None, 0, 1, 7, True, "x", "", [], {}, "\u0007", 5.5])
            case 1 if isinstance(where, dict):
                where[random.choice(["views", "more", "id", "view\ns"])] = inner
            case 2 if isinstance(where, list):
                where.append(inner)
            case _:
                del where[key]
        break
    return tree


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_changed_payload_with_a_right_checksum_reads_as_it_does_alone(seed: int) -> None:
    """A line is not believed because a similar one was right."""
    random = Random(seed)
    known = Known()
    files = stores()
    for raw in random.sample(files, 2):
        known.judge(PATH, raw)
    text = random.choice(files)
    tree = json.loads(text[text.index(b"{") : text.rindex(b"sha256 ")])
    for _ in range(random.randint(1, 2)):
        tree = _changed(tree, random)
    payload = f"{json.dumps(tree, ensure_ascii=False, indent=2)}\n".encode(errors="replace")

    raw = seal(Envelope(3, payload))

    assert same(judge(PATH, raw), known.judge(PATH, raw))


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_views_put_together_otherwise_read_as_they_do_alone(seed: int) -> None:
    """Left out, doubled, exchanged, or from an other branch."""
    random = Random(seed)
    known = Known()
    for raw in stores():
        known.judge(PATH, raw)
    forked = record("a", "C9 F.5 of F C9", CHAIN)
    trees = [
        json.loads(encode(Contents(member="a", record=one)))
        for one in (record("a", "C4 C3.12", CHAIN), forked)
    ]
    views = [view for tree in trees for view in tree["views"]]
    tree = random.choice(trees)
    match random.randrange(3):
        case 0:
            drawn = random.sample(views, random.randint(1, 4))
            tree["views"] = sorted(drawn, key=lambda view: int(view["number"]))
        case 1:
            tree["views"] = tree["views"][random.randint(0, 3) :]
        case _:
            # Of the right length, with the right tip, and not the way to it.
            tree["views"][random.randrange(len(tree["views"]) - 1)] = random.choice(views)
    for name in ("held", "position", "accepted", "mark"):
        if random.random() < 0.7:
            tree[name] = None
    tree["initial"] = random.choice([tree["initial"], "x", views[0]["id"], views[1]["id"]])

    raw = seal(Envelope(3, f"{json.dumps(tree, ensure_ascii=False, indent=2)}\n".encode()))

    assert same(judge(PATH, raw), known.judge(PATH, raw))


@pytest.mark.parametrize("spelled", ['"views"', '"\\u0076iews"'])
def test_a_list_of_views_elsewhere_is_not_taken_for_the_one_that_counts(spelled: str) -> None:
    """A file that a person made, with the right checksum."""
    text = stores()[0]
    payload = text[text.index(b"{") : text.rindex(b"sha256 ")].decode()
    tree = json.loads(payload)
    real = json.dumps(tree.pop("views")[-1:], indent=2)
    tail = payload[payload.index('\n  "views"') :].rstrip().removesuffix("}").rstrip()
    forged = json.dumps(tree, indent=2).rstrip().removesuffix("}").rstrip()
    forged += f',\n  "more": {{{tail}\n  }},\n  {spelled}: {real}\n}}\n'
    known = Known()
    known.judge(PATH, text)

    raw = seal(Envelope(3, forged.encode()))

    assert same(judge(PATH, raw), known.judge(PATH, raw))
    assert Validity.VALID is judge(PATH, raw).validity
