"""The log within whole members, where connections break and the cluster is shut down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinproto.core.chain.phases import Phase
from tests.log.engines import Town


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Town]:
    town = Town(tmp_path, "ab")
    town.start("ab")
    town.calm(3)
    assert [Phase.ACTIVE] * 2 == [member.phase for member in town.members.values()]
    yield town
    town.close()


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
def test_a_write_whose_connection_broke_is_in_the_log_once(pair: Town, together: bool) -> None:
    """Module docstring: a frame is in the log once, as long as the member that took it lives.

    b hands a frame to a, which writes it; the connection is lost before b hears of that, and
    comes back in the same view: b hands it in again.
    """
    pair.submit("b", "one")
    pair.deliver("b", "a")
    assert 1 == pair.members["a"].disk.journal.last_seq
    pair.disconnect("a", "b")
    for name in "ab":
        pair.step(name)
    assert Phase.SUSPENDED is pair.members["a"].phase
    pair.now += pair.patience / 2

    pair.connect("a", "b")
    for name in "ab":
        pair.step(name)
    if together:
        pair.deliver("b", "a")
        pair.deliver("a", "b")
    pair.calm(3)

    assert ["one"] == pair.members["a"].app.texts == pair.members["b"].app.texts
    assert {"one": 1} == Counter(text for text, _ in pair.acknowledged)
    assert 1 == pair.members["a"].engine.member.it.record.lineage.length, "in the same view"
