"""`joinproto recover` on brokers' directories: which broker should be primary, and is it proven.

Source: hot standby, H10.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from attrs import evolve

from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.apps.standby.keeping.form import BrokerRecord, Declared, Put
from joinproto.apps.standby.keeping.views import packed
from joinproto.durable.journal.records import Frame, Run, base_head, base_line, record
from joinproto.log.entry import packed as entry
from joinproto.standby.messages import Kind, View, WiringItem
from tests.recovery.asking import ask, ask_json, snapshot

ALL = ("a", "b", "c")


def lay(
    path: Path,
    name: str,
    generation: int,
    *members: str,
    primary: str = "",
    messages: int = 3,
    **more: Any,
) -> Path:
    """Write a broker's store below `path`, as a broker does."""
    at = path / name
    given: dict[str, Any] = {"cluster": "c" * 32, "clean": False, "brokers": ALL, **more}
    view = View(generation=generation, number=1, primary=primary or name, members=members)
    with open_disk(at, name, brokers=given["brokers"]) as disk:
        disk.write(BrokerRecord(broker=name, view=view, **given))
        disk.append([Declared(WiringItem(kind=Kind.QUEUE, name="q", id="i", durable=True))])
        disk.append([Put("q", f"{generation}.{n}", n, b"x") for n in range(messages)])
    return at


def test_the_last_primary_is_named_and_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The best store need not have the most messages; if a store is missing, it is not proven.

    b was in a's last view, so the messages of a's generation that b lacks were never confirmed.
    """
    a = lay(tmp_path, "a", 3, "a", "b", messages=90)
    b = lay(tmp_path, "b", 4, "b", "c")
    c = lay(tmp_path, "c", 4, "b", "c", primary="b")

    code, found = ask_json(capsys, "pick", a, b, c)
    part_code, part = ask_json(capsys, "pick", b, c)

    assert (0, "proven", [f"{found['stores'][1]['host']}:{b}"]) == (
        code,
        found["verdict"],
        found["latest"],
    )
    assert f"joinproto recover mark-clean {b} {a} {c}" == found["next"]
    assert (5, "unproven", ["a"]) == (
        part_code,
        part["verdict"],
        [one["member"] for one in part["missing"]],
    )


def test_a_former_primary_that_went_on_alone_is_a_rival(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """a was cut off and dropped b from its view; b was promoted, and a was not fenced."""
    a = lay(tmp_path, "a", 3, "a", messages=2)
    b = lay(tmp_path, "b", 4, "b", "c", messages=90)
    c = lay(tmp_path, "c", 4, "b", "c", primary="b")

    code, found = ask_json(capsys, "pick", a, b, c)
    rival = ask_json(capsys, "mark-clean", a, b, c, "--unproven")[0]
    best, _ = ask_json(capsys, "mark-clean", b, a, c, "--unproven")

    named = {Path(one).name for one in found["latest"]}
    assert (5, "unproven", {"a", "b"}) == (code, found["verdict"], named)
    assert "the primary of that generation was not fenced" in found["evidence"][0]
    assert "the others have and b lacks: joinproto recover mark-clean" in found["next"]
    assert (5, 8) == (rival, best)


def test_the_successor_of_a_broker_of_the_last_view_has_all_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """a died with unconfirmed messages; b took over, and after it c, which had been away."""
    a = lay(tmp_path, "a", 3, "a", "b", messages=90)
    b = lay(tmp_path, "b", 4, "b", "c")
    c = lay(tmp_path, "c", 5, "c")

    code, found = ask_json(capsys, "pick", a, b, c)
    without, part = ask_json(capsys, "pick", "--lost", "b", a, c)

    assert (0, "proven", "c") == (code, found["verdict"], Path(found["latest"][0]).name)
    assert (5, "unproven", 2) == (without, part["verdict"], len(part["latest"]))


def test_a_backup_alone_is_never_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its primary may have gone on without it."""
    a = lay(tmp_path, "a", 4, "a", "b", primary="b", brokers=("a",))

    code, found = ask_json(capsys, "pick", a)

    assert (5, "unproven") == (code, found["verdict"])


def test_two_primaries_of_one_generation_diverged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both served at the same time, so each may have messages that the other lacks."""
    both = [lay(tmp_path, name, 4, name, brokers=("a", "b")) for name in "ab"]

    code, found = ask_json(capsys, "pick", *both)

    assert (4, "diverged", []) == (code, found["verdict"], found["latest"])


def test_each_kind_of_store_has_its_own_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stores are of another cluster, a copy, empty, open, or damaged."""
    a = lay(tmp_path, "a", 1, "a")
    (tmp_path / "x").mkdir()
    other = lay(tmp_path / "x", "b", 1, "b", cluster="d" * 32)
    copy = lay(tmp_path / "x", "a", 1, "a")
    empty = tmp_path / "e"
    open_disk(empty, "e").close()

    assert (3, "different-clusters") == _verdict(capsys, a, other)
    assert (5, "unproven") == _verdict(capsys, a, copy)
    assert (0, "clean") == _verdict(capsys, empty)
    with open_disk(a, "a"):
        assert (6, "in-use") == _verdict(capsys, a, other)
    (a / "standby" / "store.meta").write_bytes(b"joinproto store\n")
    assert (1, "corrupt") == _verdict(capsys, a)
    assert 1 == ask(capsys, "inspect", a).code


def _verdict(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, str]:
    code, found = ask_json(capsys, "pick", *paths)
    return code, found["verdict"]


def test_inspect_and_compare_show_a_brokers_role_and_change_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = lay(tmp_path, "a", 3, "a")
    b = lay(tmp_path, "b", 3, "a", primary="a")
    before = snapshot(tmp_path)

    inspected = ask(capsys, "inspect", a, b)
    compared = ask(capsys, "compare", a, b)

    assert (0, 0) == (inspected.code, compared.code)
    for said in (
        "generation  3",
        "was         primary",
        "up to date  a",
        "backup of a, not up to date",
    ):
        assert said in inspected.out + compared.out
    assert before == snapshot(tmp_path)


def test_an_info_file_carries_a_broker_to_another_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`collect` writes the file, and `pick` reads it."""
    stores = [lay(tmp_path, name, 2, *ALL, primary="b") for name in ALL]
    for at, host in zip(stores, ALL, strict=True):
        text = ask(capsys, "collect", "--host", host, at).out
        (tmp_path / f"{host}.info").write_text(text)

    code, found = ask_json(capsys, "pick", *(tmp_path / f"{name}.info" for name in ALL))

    assert (0, "proven", [f"b:{stores[1]}"]) == (code, found["verdict"], found["latest"])


def test_a_dirty_store_is_marked_by_an_operator_who_agrees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H3: a dirty store refuses until it is marked; only the best store can be marked."""
    a, b = lay(tmp_path, "a", 3, "a", "b"), lay(tmp_path, "b", 4, "b")
    c = lay(tmp_path, "c", 4, "b", primary="b")
    everything = (b, a, c)

    declined, _ = ask_json(capsys, "mark-clean", *everything)
    refused, _ = ask_json(capsys, "mark-clean", a, b, c)
    alone, _ = ask_json(capsys, "mark-clean", b, "--yes", "--plan-hash", "0" * 64)
    made = _hash(capsys, *everything)
    code, found = ask_json(capsys, "mark-clean", *everything, "--yes", "--plan-hash", made)
    again, _ = ask_json(capsys, "mark-clean", *everything)

    assert (8, 5, 7) == (declined, refused, alone)
    assert (0, "done", 0) == (code, found["outcome"], again)
    with open_disk(b, "b") as disk:
        assert disk.kept.clean
        assert ["marked clean"] == [entry.what for entry in disk.kept.history]
    assert "start the brokers, and promote b first" == found["next"]


def _hash(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    _, found = ask_json(capsys, "mark-clean", *paths)
    return str(found["error"]["next"]).rpartition(" ")[2]


def test_a_store_that_lost_frames_is_not_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H9: otherwise its backups would drop the lost messages, too."""
    a = lay(tmp_path, "a", 4, "a", "b", primary="b", brokers=("a", "b"))
    b = lay(tmp_path, "b", 4, "a", "b", brokers=("a", "b"))
    with open_disk(b, "b") as disk:
        disk.write(evolve(disk.kept, clean=True))
    (b / "frames.log").write_bytes(b"garbage")

    code, found = ask_json(capsys, "pick", a, b)

    assert (5, "unproven", "corrupt") == (code, found["verdict"], found["stores"][1]["state"])
    said = ask(capsys, "pick", a, b).out
    assert "UNPROVEN: a had every confirmed message" in said


def chain_on(at: Path, *views: View, keeps: int = 9) -> None:
    """Write the chain of views there, with only its last `keeps` frames, after a base."""
    folder = at / "chain"
    folder.mkdir(exist_ok=True)
    frames = [
        record(Frame("1" * 64, seq, entry(f"{at.name}.1", seq, packed(view))), 0)
        for seq, view in enumerate(views, start=1)
    ]
    gone = len(views) - keeps
    base = b""
    if gone > 0:
        base = base_line([Run("1" * 64, 1, gone)], "standby-chain-1") + packed(views[gone - 1])
        base = base_head(len(base), crc32(base)) + base
    (folder / "frames.log").write_bytes(base + b"".join(frames[max(gone, 0) :]))


CHAIN = (
    View(generation=1, number=1, primary="a", members=("a",)),
    View(generation=1, number=2, primary="a", members=ALL),
    View(generation=2, number=1, primary="c", members=("b", "c")),
    View(generation=1, number=3, primary="a", members=("a", "b")),  # older generation: ignored
)


@pytest.mark.parametrize("keeps", [9, 2, 1])
def test_the_chain_of_views_says_which_broker_was_promoted_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keeps: int
) -> None:
    """That broker had not stored its promotion when all died; one copy of the chain has it."""
    stores = [lay(tmp_path, name, 1, *ALL, primary="a") for name in ALL]
    chain_on(stores[0], *CHAIN[:2])
    chain_on(stores[1], *CHAIN, keeps=keeps)
    with (stores[1] / "chain" / "frames.log").open("ab") as file:
        file.write(b"jpF1 and a torn tail")
    info = tmp_path / "b.info"
    info.write_text(ask(capsys, "collect", stores[1]).out)

    code, found = ask_json(capsys, "pick", stores[0], info, stores[2])

    assert (0, "proven") == (code, found["verdict"])
    assert [f"{found['stores'][2]['host']}:{stores[2]}"] == found["latest"]
    assert any("only b, c may be promoted" in line for line in found["evidence"])


def test_no_store_is_proven_if_the_chain_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The base of the chain is damaged, or its file is a symbolic link."""
    stores = [lay(tmp_path, name, 1, *ALL, primary="a") for name in ALL]
    chain_on(stores[1], *CHAIN, keeps=1)
    frames = stores[1] / "chain" / "frames.log"
    whole = frames.read_bytes()
    frames.write_bytes(whole[:40] + b"?" + whole[41:])

    code, found = ask_json(capsys, "pick", *stores)
    frames.rename(tmp_path / "kept")
    frames.symlink_to(tmp_path / "kept")
    again, linked = ask_json(capsys, "pick", *stores)

    assert (5, "unproven", "corrupt") == (code, found["verdict"], found["stores"][1]["state"])
    assert (5, "unproven", "unreadable") == (
        again,
        linked["verdict"],
        linked["stores"][1]["state"],
    )
