"""The findings of `lint`, compared with the RabbitMQ that is installed here."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from joinproto.discovery.lint import LintInput, lint
from tests.discovery.installed import OWNERS, accepted, drawn, installed, starts
from tests.reconcile.rabbit import home

pytestmark = pytest.mark.landing


def test_configurations_drawn_at_random_are_accepted_exactly_as_lint_says(tmp_path: Path) -> None:
    """The settings are those of all releases; the installed release's own reader decides."""
    at = installed()
    random = Random(20)
    texts = [drawn(random) for _ in range(200)]

    theirs = accepted(texts, tmp_path)

    ours = [lint(text, LintInput(release=at, plugins=OWNERS)).accepted for text in texts]
    differ = [text for text, one, other in zip(texts, ours, theirs, strict=True) if one != other]
    assert [] == differ
    assert {True, False} == set(theirs)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_server_starts_or_refuses_to_start_as_lint_says(seed: int, tmp_path: Path) -> None:
    """The server really starts with a file of each verdict."""
    at, random = installed(), Random(seed)
    found: dict[bool, str] = {}
    while len(found) < 2:
        text = drawn(random)
        found[lint(text, LintInput(release=at, plugins=OWNERS)).accepted] = text

    told = {one: starts(text, tmp_path / f"n{int(one)}", home()) for one, text in found.items()}

    assert {True: True, False: False} == told
