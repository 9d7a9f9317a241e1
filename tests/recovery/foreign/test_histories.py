"""Histories of real clusters whose truth is known, kept as what was collected of their stores.

Each was judged wrongly once, or is a right proof that must stay one.  `tools/histories` plays more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.pick.table import Verdict
from tests.recovery.foreign.directories import DATA
from tools.histories.judged import judged
from tools.histories.kept import kept

HISTORIES = DATA / "histories"

FULL = {
    # All killed under writes: each lost what it had not written yet, and who has most is proven.
    "rabbitmq-killed-together-4005": (Verdict.PROVEN, {"b"}),
    "rabbitmq-killed-4006": (Verdict.PROVEN, {"a"}),
    # One was reset, or its disk was wiped and it began anew: it is no rival of the others.
    "rabbitmq-reset-4028": (Verdict.PROVEN, {"b"}),
    "rabbitmq-blank-4025": (Verdict.UNPROVEN, {"b"}),
    # An older copy of a directory was put back; its list says that it ran with the others.
    "rabbitmq-old-copy-4026": (Verdict.UNPROVEN, {"c"}),
    # One that was not last was forced, and wrote.
    "rabbitmq-forced-4022": (Verdict.UNPROVEN, {"a", "c"}),
    "rabbitmq-majority-4020": (Verdict.UNPROVEN, {"b", "c"}),
    "rabbitmq-back-4010": (Verdict.PROVEN, {"b"}),
    # Two of five were forced by hand beside the majority of three.
    "galera-forced-five-713": (Verdict.DIVERGED, set()),
    # One history of write-sets on all: the order of their numbers is proven.
    "galera-power-725": (Verdict.PROVEN, {"db3"}),
    "galera-cut-730": (Verdict.CLEAN, {"db2"}),
}


def short(names: tuple[str, ...]) -> set[str]:
    return {name.partition("@")[0] for name in names}


@pytest.mark.parametrize("name", FULL)
def test_no_verdict_about_a_real_history_is_wrong(name: str) -> None:
    """Of all stores and of every subset of them: against what each store has when it is started."""
    [(_, history)] = kept(HISTORIES / name)

    found = list(judged(history))

    assert [] == [(one.given, one.wrong) for one in found if one.wrong]
    assert FULL[name] == (found[0].verdict, short(found[0].named))


def test_every_kept_history_is_asked() -> None:
    assert FULL.keys() == {path.name for path in Path(HISTORIES).iterdir()}
