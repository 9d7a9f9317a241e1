"""`joinproto recover rehearse` on real stores: which broker serves, and which messages are lost.

Source: hot standby, H2 to H4, H8, H10.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.apps.standby.keeping.disk import open_disk
from joinproto.recovery.schema import RESULT
from joinproto.standby.messages import View
from tests.cli.schemas import faults, unexplained
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay as lay_members
from tests.standby.test_recover import ALL, CHAIN, chain_on, lay

searches = pytest.mark.skipif(find_spec("numpy") is None, reason="needs the extra check")


def failed_over(folder: Path, *, alone: bool = False, **more: Any) -> list[Path]:
    """Return the stores of three brokers that are down: a was primary (`alone` at last), then b
    with c.
    """
    return [
        lay(folder, "a", 3, *("a" if alone else ALL), **more),
        lay(folder, "b", 4, "b", "c", **more),
        lay(folder, "c", 4, "b", "c", primary="b", **more),
    ]


def rehearsed(
    capsys: pytest.CaptureFixture[str], *words: object
) -> tuple[int, dict[str, dict[str, Any]]]:
    code, said = ask_json(capsys, "rehearse", *words)
    assert [] == list(faults(said, RESULT))
    assert [] == list(unexplained(said, RESULT))
    return code, {one["choice"]: one for one in said["rehearsal"]}


def refusals(outcome: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["member"], one["rule"]) for one in outcome["refuses"]}


def messages(path: Path) -> set[str]:
    with open_disk(path, path.name) as disk:
        return {name for queue in disk.queues.values() for name in queue.messages}


@searches
def test_the_promotion_of_the_wrong_broker_loses_confirmed_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H10: a broker that was primary before the last failover lacks all later messages."""
    paths = failed_over(tmp_path)
    before = snapshot(tmp_path)

    code, found = rehearsed(capsys, *paths)
    text = ask(capsys, "rehearse", *paths).out

    assert 5 == code
    assert before == snapshot(tmp_path)
    assert {"mark a, promote a"} == {name for name, one in found.items() if one["loses"]}
    wrong = found["mark a, promote a"]
    assert ["the messages that b confirmed in generation 4"] == wrong["lost"]
    assert [("a", True)] == [(one["primary"], one["is_served"]) for one in wrong["starts"]]
    assert "shortest run that loses a message: a starts; a is promoted" in text
    assert "can be lost: mark a, promote a." in text
    # These messages are on the disks of the others, and not on that of the promoted broker.
    assert messages(paths[1]) == messages(paths[2]) == {f"4.{at}" for at in range(3)}
    assert not messages(paths[0]) & messages(paths[1])


@searches
def test_the_best_broker_serves_and_the_others_refuse_or_lose_no_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H3: a dirty store refuses until it is marked; then a better broker that answers counts."""
    paths = failed_over(tmp_path)

    _, found = rehearsed(capsys, *paths)

    assert all(one["is_whole"] for one in found.values())
    for name in ALL:
        assert [] == found[f"promote {name}"]["starts"]
        assert (name, "H10") in refusals(found[f"promote {name}"])
    assert [["b", "c"]] == [one["members"] for one in found["mark b, promote b"]["starts"]]
    assert ["H8: b waits for c"] == found["mark b, promote b"]["waits"]
    assert set() == refusals(found["mark b, promote b"])
    assert {("c", "H3")} == refusals(found["mark c, promote c"])
    assert {("a", "H2")} == refusals(found["mark a, promote a"])


@searches
def test_the_exit_code_is_0_if_each_choice_is_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All were up to date and stopped in order; a clean store need not be marked."""
    paths = [lay(tmp_path, name, 2, *ALL, primary="b", clean=True) for name in ALL]

    code, found = rehearsed(capsys, *paths)

    assert (0, {f"promote {name}" for name in ALL}) == (code, set(found))
    assert all(one["starts"][0]["is_served"] for one in found.values())


@searches
def test_the_later_primary_loses_a_message_that_the_earlier_one_confirmed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H4: the earlier one had dropped all backups, and the promoted broker did not know this."""
    paths = failed_over(tmp_path, alone=True)

    _, found = rehearsed(capsys, *paths)

    assert ["the messages that a confirmed in generation 3"] == found["mark b, promote b"]["lost"]
    assert ["the messages that b confirmed in generation 4"] == found["mark a, promote a"]["lost"]


@searches
def test_the_promotion_of_an_empty_store_loses_all_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The broker with the empty store refuses only while another broker answers."""
    b = lay(tmp_path, "b", 2, "b", clean=True)
    open_disk(tmp_path / "a", "a").close()

    code, found = rehearsed(capsys, tmp_path / "a", b)

    assert (5, True, False) == (code, found["promote a"]["loses"], found["promote b"]["loses"])
    assert {("a", "H2")} == refusals(found["promote a"])


@searches
def test_with_the_built_in_manager_only_a_member_of_the_last_view_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H4: a majority must be there, too."""
    paths = [lay(tmp_path, name, 1, *ALL, primary="a") for name in ALL]
    chain_on(paths[1], *CHAIN)

    code, found = rehearsed(capsys, *paths)
    _, alone = rehearsed(capsys, paths[1])

    assert (0, {"no mark", "mark a", "mark b", "mark c", "mark all"}) == (code, set(found))
    assert [] == found["no mark"]["starts"] == found["mark a"]["starts"]
    # The former primary may not be promoted; it answers, but stops no other promotion.
    assert {("a", "H4")} == refusals(found["mark all"])
    assert ["b", "c"] == [one["primary"] for one in found["mark all"]["starts"]]
    assert [] == alone["mark b"]["starts"]
    assert ["2 of 3 brokers for the chain of views"] == alone["mark b"]["waits"]


@searches
def test_a_member_of_the_last_view_with_an_empty_store_is_not_promoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its data are gone, because it was given an empty directory."""
    a, b = (lay(tmp_path, name, 1, "a", "b", primary="a", brokers=("a", "b")) for name in "ab")
    both = View(generation=1, number=2, primary="a", members=("a", "b"))
    chain_on(a, CHAIN[0], both)
    shutil.rmtree(b)
    open_disk(b, "b", brokers=("a", "b")).close()

    code, found = rehearsed(capsys, a, b)

    assert 0 == code
    assert ["a"] == [one["primary"] for one in found["mark a"]["starts"]]
    assert ("b", "H4") in refusals(found["mark a"])


@searches
def test_a_store_that_cannot_be_read_stops_its_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are rehearsed without it."""
    paths = failed_over(tmp_path)
    with open_disk(paths[1], "b") as disk:
        disk.write(evolve(disk.kept, clean=True))  # records how many frames there are
    (paths[1] / "frames.log").write_bytes(b"garbage")

    _, found = rehearsed(capsys, *paths)
    text = ask(capsys, "rehearse", *paths).out

    assert all(["b"] == one["aborts"] for one in found.values())
    assert "mark b, promote b" not in found
    assert "messages that only b may have" in text


@searches
def test_a_store_that_was_not_seen_makes_the_rehearsal_unproven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its broker may have been the last primary.  `.info` files carry the other stores."""
    words = []
    for path in failed_over(tmp_path):
        words.append(tmp_path / f"{path.name}.info")
        words[-1].write_text(ask(capsys, "collect", "--host", path.name, path).out)

    part = ask(capsys, "rehearse", *words[1:])
    code, found = rehearsed(capsys, *words)

    assert 5 == part.code
    assert "As far as these stores know: With each of these choices, no message" in part.out
    assert "messages that only a may have" in part.out
    assert (5, True) == (code, found["mark a, promote a"]["loses"])


@searches
def test_a_search_that_was_stopped_is_not_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = ask(capsys, "rehearse", "--max-states", "3", *failed_over(tmp_path, clean=True)[1:])

    assert 5 == done.code
    assert "the search was stopped after" in done.out
    assert "Not all states were searched" in done.out


@searches
def test_stores_that_cannot_be_rehearsed_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stores are of both kinds, too many, empty, of two primaries, a copy, or open."""
    for name in ("x", "y", "z", "m"):
        (tmp_path / name).mkdir()
    a = lay(tmp_path, "a", 4, "a", brokers=("a", "b"))
    member = lay_members(tmp_path / "m", "F", a="F F.5")["a"]
    many = [lay(tmp_path / "x", name, 1, "a", primary="a") for name in "abcdef"]
    empty = tmp_path / "e"
    open_disk(empty, "e").close()
    second = lay(tmp_path / "y", "b", 4, "b", brokers=("a", "b"))
    copy = lay(tmp_path / "z", "a", 3, "a")

    assert 2 == ask(capsys, "rehearse", a, member).code
    assert 2 == ask(capsys, "rehearse", *many).code
    assert 2 == ask(capsys, "rehearse", empty).code
    assert 4 == ask(capsys, "rehearse", a, second).code
    assert 5 == ask(capsys, "rehearse", a, copy).code
    with open_disk(a, "a"):
        assert 6 == ask(capsys, "rehearse", a).code
