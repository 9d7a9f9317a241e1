"""Galera's cache shows whether two nodes have one history; their numbers alone do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinproto.durable.filesystem import REAL
from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.gcache import BEGIN, HEADER, digest_of, history_in
from joinproto.recovery.found import Found
from joinproto.recovery.sources import look
from tests.recovery.asking import ask
from tests.recovery.foreign.test_galera import A, B, C, grastate, gvwstate


def ring(*frames: tuple[int, bytes]) -> bytes:
    """Return a cache with these write-sets, and an unfinished buffer between them."""
    found = b"Version: 2\nGID: x\nsynced: 0\n".ljust(BEGIN, b"\0")
    for number, content in ((-1, b"state"), *frames):
        size = HEADER.size + len(content)
        buffer = HEADER.pack(number, 7, size, 1, 1, 0) + content
        found += buffer.ljust(-(-size // 8) * 8, b"\0")
    return found.ljust(len(found) + 256, b"\0")


def frames(last: int, *, fork: int = 10**6) -> bytes:
    """Return the write-sets 1 to `last`; from `fork` on they are of another history."""
    return ring(
        *((n, f"{'other' if n >= fork else 'frame'} {n}".encode()) for n in range(1, last + 1))
    )


def make_node(folder: Path, name: str, *, cache: bytes, seqno: int = -1, **files: str) -> str:
    place = folder / name
    place.mkdir()
    (place / "galera.cache").write_bytes(cache)
    (place / "grastate.dat").write_text(grastate(seqno=seqno, safe=int(files.get("safe", "0"))))
    if "view" in files:
        (place / "gvwstate.dat").write_text(files["view"])
    return str(place)


def stores_of(*words: str, positions: tuple[int, ...] = ()) -> tuple[Found, ...]:
    given = [f"{word}={seq}" for word, seq in zip(words, positions, strict=False)]
    return look(words, positions=given).stores


def test_the_digest_has_each_number_once(tmp_path: Path) -> None:
    file = tmp_path / "galera.cache"
    file.write_bytes(frames(3))
    descriptor = os.open(file, os.O_RDONLY)
    try:
        history = history_in(digest_of(REAL, descriptor))
    finally:
        os.close(descriptor)

    assert [1, 2, 3] == sorted(history)
    assert 3 == len(set(history.values()))


def test_the_newest_lap_of_a_full_ring_is_read(tmp_path: Path) -> None:
    """The last buffer ends within a buffer of the lap before, whose rest is no header."""
    old = frames(40)
    lap = [(n, f"frame {n}".encode()) for n in range(41, 52)]
    new = ring((-1, b"of another size"), *lap).rstrip(b"\0")
    a = make_node(tmp_path, "a", cache=new + old[len(new) :], view=gvwstate(A, mine=A))
    b = make_node(tmp_path, "b", cache=frames(48), seqno=48)
    c = make_node(tmp_path, "c", cache=frames(30), seqno=30)

    stores = stores_of(a, b, c, positions=(51,))
    candidates = [one.candidate for one in stores]
    with_b, without_b = (pick(some, nodes=len(some)) for some in (candidates[:2], candidates[::2]))

    assert [*range(41, 52)] == sorted(stores[0].history or ())
    assert (Verdict.PROVEN, True) == (with_b.verdict, with_b.latest[0].endswith("/a"))
    # None of c's numbers is left, so no evidence shows that the histories are one.
    assert Verdict.UNPROVEN is without_b.verdict


def test_an_order_of_numbers_is_proven_by_one_history(tmp_path: Path) -> None:
    """b stopped at 5; a continued alone to 9, and was killed; b is not in a's last view."""
    a = make_node(tmp_path, "a", cache=frames(9), view=gvwstate(A, mine=A))
    b = make_node(tmp_path, "b", cache=frames(5), seqno=5)

    picked = pick([one.candidate for one in stores_of(a, b, positions=(9,))], nodes=2)

    assert Verdict.PROVEN == picked.verdict
    assert picked.latest[0].endswith("/a")


def test_two_histories_are_never_ordered(tmp_path: Path) -> None:
    """From 6 on they have different write-sets, although a says that it stopped last."""
    a = make_node(tmp_path, "a", cache=frames(12, fork=6), seqno=12, safe="1")
    b = make_node(tmp_path, "b", cache=frames(9), seqno=9)

    picked = pick([one.candidate for one in stores_of(a, b)], nodes=2)

    assert Verdict.DIVERGED == picked.verdict


@pytest.mark.parametrize("cache", [b"", b"Version: 2\n", b"no cache at all" * 100])
def test_a_damaged_cache_proves_nothing(tmp_path: Path, cache: bytes) -> None:
    """The whole cache might show two histories, so damage must not improve the verdict."""
    a = make_node(tmp_path, "a", cache=cache, seqno=7, safe="1")
    b = make_node(tmp_path, "b", cache=frames(5), seqno=5)

    picked = pick([one.candidate for one in stores_of(a, b)], nodes=2)

    assert Verdict.UNPROVEN == picked.verdict


def test_without_a_collected_cache_the_numbers_count(tmp_path: Path) -> None:
    """People may supply only `grastate.dat`."""
    for name, seqno, safe in (("a", 7, "1"), ("b", 5, "0")):
        (
            Path(make_node(tmp_path, name, cache=b"", seqno=seqno, safe=safe)) / "galera.cache"
        ).unlink()
    names = [str(tmp_path / name) for name in "ab"]

    picked = pick([one.candidate for one in stores_of(*names)], nodes=2)

    assert Verdict.CLEAN == picked.verdict


def test_views_without_a_node_in_common_are_two_sides(tmp_path: Path) -> None:
    """b and c continued as the majority; a was forced by hand, and has the larger number."""
    forced = gvwstate(A, mine=A).replace("bootstrap: 0", "bootstrap: 1")
    a = make_node(tmp_path, "a", cache=b"", view=forced)
    b, c = (
        make_node(tmp_path, name, cache=b"", view=gvwstate(B, C, mine=mine))
        for name, mine in (("b", B), ("c", C))
    )

    stores = stores_of(a, b, c, positions=(20, 12, 12))
    picked = pick([one.candidate for one in stores], nodes=3)

    assert Verdict.UNPROVEN == picked.verdict
    assert 3 == len(picked.latest)
    assert any("forced by hand" in line for line in picked.findings.lines)


def test_without_common_write_sets_the_numbers_do_not_order_two_nodes(tmp_path: Path) -> None:
    """Seen on real nodes: a stopped with more, b was forced to found, and continued to count."""
    a = make_node(tmp_path, "a", cache=frames(9), seqno=9)
    b = make_node(tmp_path, "b", cache=ring(), view=gvwstate(B, mine=B), safe="1")

    picked = pick([one.candidate for one in stores_of(a, b, positions=(9, 40))], nodes=2)

    assert Verdict.UNPROVEN == picked.verdict
    assert ["a", "b"] == sorted(Path(name).name for name in picked.latest)


def test_a_node_without_its_cache_is_named_as_not_examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its number orders it as far as known, but may belong to another history."""
    a = make_node(tmp_path, "a", cache=frames(9), seqno=9, safe="1")
    b = make_node(tmp_path, "b", cache=frames(5), seqno=5)
    (tmp_path / "b" / "galera.cache").unlink()

    said = ask(capsys, "pick", "--nodes", 2, a, b).out.partition("not examined")[2]

    named = [line for line in said.split("  - ") if line.startswith("which write-sets")]
    assert 1 == len(named)
    assert b in named[0].replace("\n    ", " ")
