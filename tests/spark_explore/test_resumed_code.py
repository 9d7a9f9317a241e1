"""A run is not resumed with other code, or if members answer differently."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from joinproto.check import NOT_ENABLED, Broadcast, World, sometimes_one
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables.numbering import TablesNumbering
from joinproto.check.engine.tables.search_code import take_numbering
from joinproto.check.sources import sources_of
from joinproto.errors import UsageProblem

DATA = {"limit": 1}
"""The data stand for a file or the environment, which are not part of the source."""


class Node:
    def __init__(self) -> None:
        self.votes = 0

    def choices(self) -> Any:
        return [] if self.votes else ["vote"]

    def receive(self, event: Any) -> Any:
        if self.votes >= 3 or (event == "vote" and self.votes):
            return NOT_ENABLED
        self.votes += DATA["limit"]
        return [Broadcast(self.votes)] if event == "vote" else None


def search() -> Search:
    claims = [sometimes_one("three", lambda shown: shown.votes >= 3)]
    return Search(World(name="votes", members=dict.fromkeys("abc", Node), properties=claims))


def test_a_run_whose_members_answer_differently_is_not_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source is the same, but the data are not."""
    first = search()
    first.run()
    kept = TablesNumbering(first.tables).content()

    take_numbering(TablesNumbering(search().tables), kept, kept="run", next="")
    monkeypatch.setitem(DATA, "limit", 2)

    with pytest.raises(UsageProblem, match="members answer otherwise"):
        take_numbering(TablesNumbering(search().tables), kept, kept="run", next="")


def test_the_source_of_a_model_includes_the_modules_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports in a function or of an imported module count; the standard library does not."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "model_of_a_test.py").write_text("import json\nfrom near_of_a_test import x\n")
    (tmp_path / "near_of_a_test.py").write_text(
        "x = 1\ndef f():\n    import far_of_a_test\n    return far_of_a_test\n"
    )
    (tmp_path / "far_of_a_test.py").write_text("y = 1\n")
    (tmp_path / "stranger_of_a_test.py").write_text("z = 1\n")
    names = ("far_of_a_test", "near_of_a_test", "model_of_a_test", "stranger_of_a_test")
    modules = {name: importlib.import_module(name) for name in names}

    try:
        found = sources_of([modules["model_of_a_test"], None])
    finally:
        for name in names:
            del sys.modules[name]

    assert {f"{name}.py" for name in names[:3]} == {path.name for path in found}
