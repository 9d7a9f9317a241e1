"""The code that a search runs: its source files, and the classes that a stored file may name."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinproto.check import packages
from joinproto.check.engine.tables.kept_values import Names
from joinproto.check.packages import is_model_code
from joinproto.check.problems import ModelProblem
from joinproto.check.sources import sources_of
from joinproto.errors import UsageProblem

if TYPE_CHECKING:
    from joinproto.check.engine.tables.numbering import TablesNumbering
    from joinproto.check.engine.tables.tables import Tables

SAMPLES = 1_000
"""Answers of each kind and member that are checked again when a search continues."""


def code_of(tables: Tables) -> str:
    """Return a hash of the source of joinproto, of members and claims, and of all that they import.

    Other installed packages are left out.
    """
    found = hashlib.sha256()
    files = {path for one in packages.MODELS for path in packages.folder(one).rglob("*.py")}
    files |= _sources(tables)
    for path in sorted(files):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def names_of(tables: Tables) -> Names:
    """Return the classes that a file may name: the classes of the model's modules."""
    files = _sources(tables)

    def is_own(name: str) -> bool:
        file = getattr(sys.modules.get(name), "__file__", None)
        return is_model_code(name) or (file is not None and Path(file).resolve() in files)

    return Names.of([*tables.codes.beginnings()], is_own)


def member_codes(tables: Tables) -> list[Any]:
    """Return the code of each member, and of the monitor if there is one."""
    codes = tables.codes
    return [*codes.members, *([codes.monitor] if codes.monitor else [])]


def take_numbering(
    numbering: TablesNumbering, content: dict[str, Any], *, kept: str, next: str
) -> None:
    """Use a stored numbering; raise `UsageProblem` if members answer otherwise now.

    `kept`: the message's word for the stored content; `next`: the message's advice.
    """
    try:
        are_same = all(numbering.samples(content, SAMPLES))
    except ModelProblem:
        are_same = False
    if not are_same:
        raise UsageProblem(
            f"the members answer otherwise than in the stored {kept}, though their source is the"
            " same: a data file, the environment or a package has changed",
            next=next,
        )
    numbering.take(content)


def _sources(tables: Tables) -> set[Path]:
    """Return the files of members' classes, of claims, and of all that they import.

    Files of installed packages are left out.
    """
    world = tables.world
    asked: list[Any] = [code.objects.kind for code in member_codes(tables)]
    for item in world.properties:
        asked += [item.holds, item.premise, item.meanwhile]
    asked += [world.within, world.same, world.together]
    names = {getattr(one, "__module__", None) for one in asked}
    return sources_of([sys.modules.get(name) for name in names if name is not None])
