"""The table of settings that are unsafe together: a row with an unknown word would never apply.

Source: discovery, D6.
"""

from __future__ import annotations

import re

import pytest

from joinproto.discovery.keys import SETTINGS
from joinproto.discovery.risks import FACTS, RISKS, Risk
from joinproto.discovery.rules import RULES

KEYS = {one.short for one in SETTINGS}


def is_known(word: str) -> bool:
    """Return whether a word is a setting, the first part of settings, a rule or a fact."""
    is_below = word.endswith((".", ".*")) and any(key.startswith(word.rstrip("*")) for key in KEYS)
    return is_below or re.split("[?=<>]", word)[0] in KEYS | FACTS.keys() | RULES.keys()


@pytest.mark.parametrize("risk", RISKS, ids=lambda one: f"{one.key}: {' '.join(one.when)}")
def test_each_word_of_a_row_is_known(risk: Risk) -> None:
    words = [one.lstrip("!") for word in risk.when for one in word.split("|")]
    words += [one for one in risk.key.split("|") if "{" not in one]
    named = set(re.findall(r"{(\w+)", f"{risk.key} {risk.why} {risk.next}"))

    assert [] == [word for word in words if not is_known(word)]
    assert named <= FACTS.keys() | {"value"}


def test_a_misspelt_word_of_a_row_is_not_known() -> None:
    assert not is_known("consul.svc_tll<16")
