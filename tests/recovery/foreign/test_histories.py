"""Histories of real clusters whose truth is known, stored as the collected files of their stores.

Each was judged wrongly once, or has a right proof that must stay.  `tools/histories` plays more.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from joinproto.pick.table import Verdict
from tests.recovery.asking import ask, ask_json
from tests.recovery.foreign.directories import DATA
from tools.histories import quorum
from tools.histories.damage import damage, damaged
from tools.histories.judged import judge, judged
from tools.histories.kept import kept, laid_out

HISTORIES = DATA / "histories"

FULL = {
    # All were killed during writes.  Each lost the changes that it had not written yet; the node
    # with the most is proven.
    "rabbitmq-killed-together-4005": (Verdict.PROVEN, {"b"}),
    "rabbitmq-killed-4006": (Verdict.PROVEN, {"a"}),
    # One node was reset, or its disk was wiped and it began again; it has nothing that others lack.
    "rabbitmq-reset-4028": (Verdict.PROVEN, {"b"}),
    "rabbitmq-blank-4025": (Verdict.UNPROVEN, {"b"}),
    # An older copy of a directory was put back; its list says that it ran with the others.
    "rabbitmq-old-copy-4026": (Verdict.UNPROVEN, {"c"}),
    # A node that was not last was forced, and then wrote.
    "rabbitmq-forced-4022": (Verdict.UNPROVEN, {"a", "c"}),
    "rabbitmq-majority-4020": (Verdict.UNPROVEN, {"b", "c"}),
    "rabbitmq-back-4010": (Verdict.PROVEN, {"b"}),
    # Two of five were forced by hand while the majority of three ran.
    "galera-forced-five-713": (Verdict.DIVERGED, set()),
    # All have one history of write-sets, so the order of their numbers is proven.
    "galera-power-725": (Verdict.PROVEN, {"db3"}),
    "galera-cut-730": (Verdict.CLEAN, {"db2"}),
}


def short(names: tuple[str, ...]) -> set[str]:
    return {name.partition("@")[0] for name in names}


@pytest.mark.parametrize("name", FULL)
def test_no_verdict_about_a_real_history_is_wrong(name: str) -> None:
    """All stores, and every subset of them, are compared with what each store has when started."""
    [(_, history)] = kept(HISTORIES / name)

    found = list(judged(history))

    assert [] == [(one.given, one.wrong) for one in found if one.wrong]
    assert FULL[name] == (found[0].verdict, short(found[0].named))


def test_no_queue_of_a_real_history_is_proven_by_a_log_without_its_messages() -> None:
    """This holds for every subset.  b was killed during writes, and c was put back from a copy."""
    [(_, history)] = kept(DATA / "ra" / "copy-1301")

    found = list(quorum.judged(history))

    assert [] == [(one.given, one.wrong, one.assumed) for one in found if one.wrong or one.assumed]
    assert [6, 6, 3, 3, 0, 0, 0] == [one.claims for one in found]


@pytest.mark.parametrize("name", FULL)
def test_no_other_command_claims_more_than_pick(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`inspect` gives no verdict, `compare` has that of `pick`, and writing commands refuse."""
    stores = sorted((HISTORIES / name).glob("*.info"))
    code, picked = ask_json(capsys, "pick", *stores)
    text = ask(capsys, "pick", *stores)
    verdict = f"{picked['verdict'].upper()}: "

    compared = ask_json(capsys, "compare", *stores)[1]
    told = ask(capsys, "compare", *stores).out
    inspected = ask_json(capsys, "inspect", *stores)[1]
    looked = ask(capsys, "inspect", *stores).out
    planned = ask(capsys, "plan", *stores)
    rehearsed = ask(capsys, "rehearse", *stores)

    assert picked == compared
    assert code == text.code
    assert all(verdict in out for out in (text.out, told, planned.out))
    assert (None, []) == (inspected["verdict"], inspected["latest"])
    assert picked["stores"] == inspected["stores"]
    assert not any(said in looked.lower() for said in ("proven", "latest", "nothing is lost"))
    assert planned.code != 0
    assert "no plan is made" in planned.out
    assert rehearsed.code != 0


DAMAGES = [
    # If a table or a log is not whole, it proves nothing, and neither do the node's lists.
    ("rabbitmq-majority-4020", "b@localhost/rabbit_durable_queue.DCD", "zeros"),
    ("rabbitmq-majority-4020", "c@localhost/rabbit_durable_exchange.DCD", "gone"),
    ("rabbitmq-old-copy-4026", "c@localhost/rabbit_runtime_parameters.DCD", "zeros"),
    ("rabbitmq-forced-4022", "c@localhost/rabbit_user.DCD", "cut"),
    ("rabbitmq-forced-4022", "c@localhost/LATEST.LOG", "gone"),
    # Both forced nodes lose the file that shows that they were forced.
    ("galera-forced-five-713", "db1/gvwstate.dat db3/gvwstate.dat", "cut"),
    ("galera-forced-five-713", "db1/gvwstate.dat db3/gvwstate.dat", "gone"),
]


@pytest.mark.parametrize(("name", "files", "how"), DAMAGES)
def test_a_damaged_file_does_not_make_an_unproven_verdict_proven(
    name: str, files: str, how: str, tmp_path: Path
) -> None:
    """The whole files prove nothing, so a part of them must not prove more."""
    [(_, history)] = kept(HISTORIES / name)
    whole = laid_out(history, tmp_path)
    nodes = tuple(sorted(whole.stores))
    assert Verdict.UNPROVEN is judge(whole, nodes).verdict

    for file in map(tmp_path.joinpath, files.split()):
        damage(file, how, at=file.stat().st_size // 2)

    assert judge(whole, nodes).verdict in (Verdict.UNPROVEN, Verdict.DIVERGED, Verdict.CORRUPT)


@pytest.mark.soak("stores")
@pytest.mark.parametrize("name", FULL)
def test_no_damage_leads_to_a_better_verdict(name: str, tmp_path: Path) -> None:
    """`python -m tools.histories judge DIR --damages N` does more damage of this kind."""
    [(_, history)] = kept(HISTORIES / name)
    whole = laid_out(history, tmp_path / "whole")
    before = judge(whole, tuple(sorted(whole.stores)))

    assert [] == list(damaged(whole, before, count=20, chance=random.Random(name), folder=tmp_path))


def test_every_kept_history_is_tested() -> None:
    assert FULL.keys() == {path.name for path in Path(HISTORIES).iterdir()}
