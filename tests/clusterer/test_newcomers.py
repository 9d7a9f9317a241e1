"""A lock that comes late, in many orders.  Source: Clusterer, U5."""

from __future__ import annotations

from random import Random

import pytest

from joinproto.clusterer.play import play
from tests.clusterer.stories import apply, config, deed, start, story


@pytest.mark.parametrize("variant", ["ours", "seed"])
def test_a_lock_that_comes_after_its_round_is_given_back(variant: str) -> None:
    """U5: b asks for a's lock, and begins with a younger config before the lock is granted."""
    told = story(
        [start("a", config(1, "ab", "a")), start("b")],
        [deed("stop", "a")],
        [deed("stop", "b")],
        [start("a"), start("b"), apply("a", config(2, "ab", "a"))],
        nodes="ab",
        variant=variant,
    )
    ends = (play(told, Random(seed).randrange)[-1] for seed in range(250))

    assert {"ready"} == {node.state for end in ends for node in end.nodes.values()}
