"""`--json`: the commands print the keys that docs/json.md describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joinproto.check import catalogue
from joinproto_worlds import entries
from tests.cli.running import model, run_here
from tests.cli.schemas import faults, unexplained
from tools import json_schema as schema

REAL = {
    "holds": (schema.CHECK, ("check", "two-phase-commit")),
    "violated": (schema.CHECK, ("check", "two-phase-commit", "--mutant", "one-vote-short")),
    "with joint steps": (schema.CHECK, ("check", "note-partition")),
    "with symmetry": (schema.CHECK, ("check", "two-phase-commit", "--symmetry")),
    "incomplete": (schema.CHECK, ("check", "two-phase-commit", "--max-states", "9")),
    "models": (schema.MODELS, ("models",)),
    "walks": (schema.SIMULATE, ("simulate", "note-restart", "--runs", "50")),
    "a swarm": (schema.SWARM, ("simulate", "join", "--swarm", "--runs", "2", "--seed", "2")),
    "a chance": (schema.CHANCE, ("chance", "note-lone-restart", "--weight", "crash=0.5")),
    "runs that cover": (schema.COVERED, ("cover", "note-restart", "--goal", "pairs")),
    "no chance": (schema.CHANCE, ("chance", "note-restart", "--max-states", "9")),
    "a violated walk": (schema.SIMULATE, ("simulate", "note-partition")),
    "a decision": (schema.DECIDE, ("decide", "docs/examples/members.json", "--rules", "qpid")),
    "drawings": (schema.DRAWINGS, ("draw",)),
    "a drawing": (schema.DRAWN, ("draw", "note-joining")),
    "an unknown world": (schema.ERROR, ("check", "nothing")),
    "a limit": (schema.ERROR, ("check", "two-phase-commit", "--max-memory", "1k")),
    "no such command": (schema.ERROR, ("chek",)),
}


@pytest.mark.parametrize(("expected", "words"), REAL.values(), ids=REAL.keys())
def test_real_output_fits_its_schema(
    capsys: pytest.CaptureFixture[str], expected: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Every required key is there with its type, and every printed key is documented."""
    found = run_here(capsys, *words, "--json").object

    assert [] == list(faults(found, expected))
    assert [] == list(unexplained(found, expected))


def test_the_output_of_a_tier_fits_its_schema(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [catalogue.entry(name) for name in ("note-partition", "note-options")]
    monkeypatch.setattr(entries, "ENTRIES", tuple(some))
    found = run_here(capsys, "check", "--tier", "quick", "--json").object

    assert [] == list(faults(found, schema.TIER))
    assert [] == list(unexplained(found, schema.TIER))


def test_a_run_without_end_fits_its_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A lasso says where its cycle begins."""
    never = "eventually('never', lambda view: False)"
    path = model(tmp_path, replace=('sometimes("three", three)', never))
    text = Path(path).read_text().replace("always, sometimes", "always, eventually, sometimes")
    Path(path).write_text(text)

    found = run_here(capsys, "check", path, "--json").object

    assert [] == list(faults(found, schema.CHECK))
    assert isinstance(found["loop_at"], int)


def test_the_promised_keys_are_required() -> None:
    """`check --json` and `models --json` promise these keys."""
    promised = {
        "world", "result", "distinct", "generated", "depth", "seconds", "cpu_seconds",
        "peak_rss_bytes", "calls", "engine", "reductions", "properties", "coverage",
    }  # fmt: skip

    assert promised <= set(schema.CHECK["required"])
    assert "trace" in schema.CHECK["properties"]
    assert {"name", "expected", "members", "about"} <= set(
        schema.MODELS["properties"]["worlds"]["items"]["required"]
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "$: 'error' is missing"),
        ({"error": None}, "$.error: None is not of type object"),
        (
            {"error": {"code": True, "message": "", "next": ""}},
            "$.error.code: True is not of type integer",
        ),
        ({"error": {"code": -1, "message": "", "next": ""}}, "$.error.code: -1 is less than 0"),
        ({"error": {"code": 2, "message": ""}}, "$.error: 'next' is missing"),
    ],
)
def test_output_that_does_not_fit_its_schema_is_found(value: Any, reason: str) -> None:
    """Otherwise the tests above could not fail."""
    assert [reason] == list(faults(value, schema.ERROR))
