"""The lists that the page shows before Python is loaded: worlds, and example models."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from joinproto import __version__
from joinproto.check import catalogue
from joinproto.check.entry import Entry
from joinproto.check.options import said_kind
from joinproto_worlds.entries import ENTRIES, FAMILIES, family_of, mistake

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"

MODELS = ("my_first_try", "my_model", "first_model", "my_lock", "my_window", "my_lease")
"""Examples to begin a model with; the first is the tutorial's."""


def listing() -> dict[str, Any]:
    """Return the content of `worlds.json`."""
    quick = [item for item in ENTRIES if item.tier == "quick"]
    return {
        "version": __version__,
        "families": [{"name": name, "about": about} for name, about in FAMILIES.items()],
        "worlds": [_described(item) for item in quick],
        "larger": len(ENTRIES) - len(quick),
        "examples": [_example(name) for name in MODELS],
    }


def _described(item: Entry) -> dict[str, Any]:
    """Return the page's description of one world, and the world's options."""
    least, most = item.members
    world, made = catalogue.load_world(item.name), catalogue.builder(item)
    others = [name for name in catalogue.parameters(item) if name not in ("members", "mutant")]
    return {
        "name": item.name,
        "family": family_of(item),
        "about": item.about,
        "words": f"{item.name} {item.about} {item.happened}".lower(),
        "expected": item.expected,
        "steps": item.steps,
        "happened": item.happened,
        "link": item.link,
        "members": {"least": least, "most": most, "usual": item.usual, "names": [*world.members]},
        "mutants": [{"name": name, "about": mistake(name)} for name in item.mutants],
        "options": [
            {"name": name, "kind": said_kind(name, made), "usual": _usual(item, name)}
            for name in others
        ],
        "claims": [{"name": one.name, "kind": one.kind} for one in world.properties],
    }


def _usual(item: Entry, name: str) -> str:
    """Return the default of an option as a user would type it."""
    value = item.given.get(name, catalogue.parameters(item)[name].default)
    if value is inspect.Parameter.empty:
        return ""
    return value if isinstance(value, str) else str(getattr(value, "name", value)).lower()


def _example(name: str) -> dict[str, str]:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(text)) or name
    return {"name": name, "about": about.splitlines()[0], "text": text}
