"""The chain of the built-in manager: which broker may be promoted, and which view comes next.

Source: hot standby, H2 to H4.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from joinproto.apps.standby import managing as serving
from joinproto.apps.standby.copying import CopyRate
from joinproto.apps.standby.keeping.views import packed
from joinproto.apps.standby.settings import read_settings
from joinproto.durable.journal.journal import Frame
from joinproto.errors import UsageProblem
from joinproto.log import entry
from joinproto.standby.broker import Mark, Role, Store
from joinproto.standby.chain import follows, is_proven, may_promote, promoted, seen, turn
from joinproto.standby.managing import Managing
from joinproto.standby.messages import View
from tools.failover.manager import Manager

LAST = View(generation=3, number=2, primary="a", members=("a", "b", "c"))
GONE_ON = evolve(LAST, number=3, members=("a", "b"))


def test_the_second_of_two_concurrent_promotions_does_not_fit() -> None:
    """H2: both were made after the same view, which is not the last view after the first one."""
    first, second = promoted(LAST, "b"), promoted(LAST, "c")

    assert follows(LAST, first)
    assert follows(LAST, second)
    assert not follows(first, second)
    assert 4 == first.generation == second.generation
    # After the first promotion, c's promotion is another view of a younger generation.
    assert View(generation=5, number=1, primary="c", members=("c",)) == promoted(first, "c")
    assert follows(first, promoted(first, "c"))


def test_a_view_that_came_with_the_state_of_the_log_is_written() -> None:
    """H4: the view comes a second time; otherwise its primary would wait for ever."""
    written: list[View] = []
    core = SimpleNamespace(
        state=SimpleNamespace(view=LAST, serves=True),
        view_written=written.append,
        settings=SimpleNamespace(brokers={}),
    )

    async def again() -> None:
        manager = serving.Manager(cast("Any", core), Managing(chain=LAST))
        manager.write(GONE_ON)
        manager.restore(packed(GONE_ON))
        manager.apply(Frame("0" * 64, 1, entry.packed("a", 2, packed(GONE_ON))))
        await asyncio.sleep(0)

    asyncio.run(again())

    assert [GONE_ON] == written


def test_an_old_primarys_view_does_not_fit_after_a_promotion() -> None:
    """H4: a promotion that was made before the primary dropped a broker does not fit, either."""
    assert follows(LAST, GONE_ON)
    assert not follows(promoted(LAST, "b"), GONE_ON)
    assert not follows(GONE_ON, promoted(LAST, "b"))
    assert follows(GONE_ON, promoted(GONE_ON, "b"))


@pytest.mark.parametrize(
    "view",
    [
        evolve(LAST, number=4),
        evolve(LAST, number=2),
        evolve(GONE_ON, primary="b"),
        evolve(GONE_ON, members=("b", "c")),
        evolve(promoted(LAST, "b"), members=("a", "b", "c")),
        evolve(promoted(LAST, "b"), generation=5),
        evolve(promoted(LAST, "b"), number=2),
        promoted(LAST, "d"),
    ],
    ids=str,
)
def test_a_view_that_skips_or_repeats_or_takes_in_a_stranger_does_not_fit(view: View) -> None:
    assert not follows(LAST, view)


def test_any_broker_may_be_promoted_first_and_then_only_members_of_the_last_view() -> None:
    assert may_promote(View(), "d")
    assert not may_promote(LAST, "d")
    assert follows(View(), promoted(View(), "d"))


def test_turns_differ_and_the_former_primary_comes_last() -> None:
    """A broker that is not up to date, or does not take part in the chain, has no turn."""
    all_brokers = {"a", "b", "c", "d"}
    turns = {name: turn(LAST, name, all_brokers) for name in all_brokers}

    assert {"b": 0, "c": 1, "a": 2, "d": None} == turns
    assert 0 == turn(LAST, "c", {"c", "d"})
    assert turn(LAST, "b", {"a", "c"}) is None
    assert 3 == turn(View(), "d", all_brokers)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[chain]", "[nothing]", "nothing"),
        (
            'manager = "built-in"',
            'manager = "inside"',
            "manager: expected one of .*, found .inside",
        ),
        ('manager = "built-in"', 'manager = "outside"', r"\[chain] is set"),
        (
            'manager = "built-in"',
            'manager = "outside"\ntotal_failure = "continue"',
            "total_failure is .continue., but the manager is outside",
        ),
    ],
    ids=["unknown-table", "unknown-manager", "chain-without-it", "continues-without-it"],
)
def test_a_wrong_manager_in_the_file_is_reported(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    file = Manager.of(tmp_path, "abc", built_in=True).files["a"]
    assert {"a", "b", "c"} == {*read_settings(file).chain}
    file.write_text(file.read_text().replace(old, new))

    with pytest.raises(UsageProblem, match=told):
        read_settings(file)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('order = "middle"', "copying.order: expected one of .*, found .middle"),
        ("per_second = 0", "copying.per_second: expected a number from 1 on.*, found 0"),
        ("per_second = inf", "copying.per_second: expected a finite number.*, found Infinity"),
        ("per_second = 1e-9", "copying.per_second: expected a number from 1 on.*, found 1e-09"),
    ],
    ids=["order", "none", "infinite", "no-end"],
)
def test_wrong_copying_in_the_file_is_reported(tmp_path: Path, line: str, told: str) -> None:
    file = Manager.of(tmp_path, "a", tables=f"[copying]\n{line}\n").files["a"]

    with pytest.raises(UsageProblem, match=told):
        read_settings(file)


def test_no_more_copies_are_made_than_the_rate_allows() -> None:
    """The rate holds over any span of time; unused copies are not saved up for long."""
    pace = CopyRate(50.0)
    counts = [pace.take(at / 100, 100) for at in range(1_001)]

    assert 495 <= sum(counts) <= 500
    assert 5 == pace.take(60.0, 100)
    assert 100 == CopyRate(None).take(0.0, 100)


def test_every_broker_needs_its_own_address_in_the_chain(tmp_path: Path) -> None:
    file = Manager.of(tmp_path, "abc", built_in=True).files["a"]
    text, _, chain = file.read_text().partition("[chain]\n")
    lines = chain.splitlines()
    file.write_text(text + "[chain]\n" + "\n".join(lines[:2] + lines[3:]))

    with pytest.raises(UsageProblem, match=r"\[chain\] names a, b, but \[brokers\] names a, b, c"):
        read_settings(file)

    file.write_text(
        text + "[chain]\n" + "\n".join([lines[0], lines[0].replace("a", "b", 1), *lines[2:]])
    )
    with pytest.raises(UsageProblem, match=r"chain\.a and chain\.b have the same address"):
        read_settings(file)

    file.write_text(
        text.replace('b = "', "b = " + chain.splitlines()[0].partition(" = ")[2] + " #")
    )
    file.write_text(file.read_text() + "[chain]\n" + chain)
    with pytest.raises(UsageProblem, match=r"brokers\.b and chain\.a have the same address"):
        read_settings(file)


def test_a_brokers_name_with_a_slash_is_refused(tmp_path: Path) -> None:
    """The names of a broker's event logs begin with its name, so a slash would be a directory."""
    file = Manager.of(tmp_path, "ab").files["a"]
    file.write_text(file.read_text().replace("b = ", '"b/c" = '))

    with pytest.raises(UsageProblem, match="'b/c'"):
        read_settings(file)


V = View(generation=3, number=2, primary="a", members=("a", "b"))
STORES = {
    name: seen(name, Role.CONNECTING, Role.CONNECTING, Mark.DIRTY, V) for name in ("a", "b", "c")
}


@pytest.mark.parametrize(
    ("me", "changed", "chain", "proven"),
    [
        ("a", {}, V, True),
        ("b", {}, V, False),  # a had all that b has, and may have more
        ("a", {"c": None}, V, False),  # the store of c was not seen
        ("a", {"b": seen("b", Role.BACKUP, Role.BACKUP, Mark.DIRTY, V)}, V, False),
        ("a", {"b": seen("b", Role.CONNECTING, Role.BACKUP, Mark.CLEAN, V)}, V, False),
        # The store of a was emptied: its former contents are not known.
        ("a", {"a": seen("a", Role.CONNECTING, Role.CONNECTING, Mark.CLEAN, View())}, V, False),
        ("a", {}, View(generation=4, number=1, primary="b", members=("a", "b")), False),
        ("b", {}, View(generation=4, number=1, primary="b", members=("a", "b")), True),
        # By the chain b was dropped, and b does not know this.
        ("b", {}, View(generation=3, number=3, primary="a", members=("a",)), False),
    ],
)
def test_after_a_total_failure_only_the_last_primary_is_proven_to_be_the_last(
    me: str, changed: dict[str, Store | None], chain: View, proven: bool
) -> None:
    """H10: all stores were seen, and no broker has followed or served since it started."""
    assert proven == is_proven(me, {**STORES, **changed}, chain)
