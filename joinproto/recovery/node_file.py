"""node.toml, as far as `verify` needs it: whose node it is, and where it is asked.

The rest of the file is the node's own business, and the reader of all of it needs the extra
`run`; an operator may have the base install only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from joinproto.codec.toml_file import read_toml
from joinproto.errors import UsageProblem

CONTROL = "control.sock"


@frozen(kw_only=True)
class NodeFile:
    """`file`: as it was given.  `electors`: names, sorted."""

    file: str
    member: str
    cluster: str
    data: Path
    control: Path
    electors: tuple[str, ...]


def read_node_file(path: Path) -> NodeFile:
    """Return the file's settings; raises `UsageProblem` that names the place in it."""
    tree = read_toml(path)
    top = path.resolve().parent
    data = top / _text(path, tree, "data")
    electors = tree.get("electors")
    if not isinstance(electors, list) or not all(isinstance(name, str) for name in electors):
        raise _wrong(path, "electors", electors, "a list of names")
    control = _text(path, tree, "control") if "control" in tree else ""
    return NodeFile(
        file=str(path),
        member=_text(path, tree, "member"),
        cluster=_text(path, tree, "cluster"),
        data=data,
        control=top / control if control else data / CONTROL,
        electors=tuple(sorted(electors)),
    )


def _text(path: Path, tree: Mapping[str, Any], key: str) -> str:
    value = tree.get(key)
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise _wrong(path, key, value, "a text")
    return value


def _wrong(path: Path, key: str, value: object, expected: str) -> UsageProblem:
    found = "is not there" if value is None else f"is {value!r}"
    return UsageProblem(
        f"{path}: {key} {found}, expected {expected}",
        next="give the file that joinproto node --config was started with",
    )
