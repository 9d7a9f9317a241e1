"""What `lint` says of a configuration, against the RabbitMQ that is installed here."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from joinproto.discovery.lint import Given, lint
from tests.discovery.installed import OWNERS, accepted, drawn, installed

pytestmark = [
    pytest.mark.landing,
    pytest.mark.skipif(installed() is None, reason="no RabbitMQ is installed"),
]
DRAWN = int(os.environ.get("DRAWN_CONFIGURATIONS", "200"))


def test_configurations_drawn_at_random_are_accepted_exactly_as_lint_says(tmp_path: Path) -> None:
    """Settings of all releases, so of its neighbours, too; the release's own reader decides."""
    at = installed()
    assert at is not None
    random = Random(20)
    texts = [drawn(random) for _ in range(DRAWN)]

    theirs = accepted(texts, tmp_path)

    ours = [lint(text, Given(release=at, plugins=OWNERS)).accepted for text in texts]
    differ = [text for text, one, other in zip(texts, ours, theirs, strict=True) if one != other]
    assert [] == differ
    assert {True, False} == set(theirs)
