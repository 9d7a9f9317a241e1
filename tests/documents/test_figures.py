"""The figures of docs/decisions/join-search.md are the pinned figures of the searches."""

from __future__ import annotations

import re
from pathlib import Path

from tests.models.test_join_worlds import FAILS, HARM, PINNED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "decisions" / "join-search.md"
TEXT = PAGE.read_text("utf-8")
WORLD = re.compile(r"(?m)^(join[\w-]*) +([\d,]+)  ")
BROKEN = re.compile(
    r"(?m)^(?:\d+ +)?((?:[a-z][a-z-]+(?:, )?)+|) {2,}(join[\w-]*) {2,}(\w[\w ]*?) {2,}(\d+)$"
)


def test_a_world_has_as_many_states_as_the_page_says() -> None:
    shown = {name: int(states.replace(",", "")) for name, states in WORLD.findall(TEXT)}

    assert len(shown) > 30
    assert shown == {name: PINNED[name][0] for name in shown}


def test_without_a_rule_a_world_breaks_the_claim_in_the_steps_of_the_page() -> None:
    """A line without a rule is about the rule of the line above it."""
    rules: list[str] = []
    checked = 0
    for named, world, claim, steps in BROKEN.findall(TEXT):
        rules = named.split(", ") if named else rules
        for rule in rules:
            either = {FAILS[world, rule], (claim, HARM.get((rule, claim)))}
            assert (claim, int(steps)) in either, rule
            checked += 1

    assert checked > 55
