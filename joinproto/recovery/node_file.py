"""node.toml, as far as `verify` needs it: whose node it is, and where it is asked.

The rest of the file is the node's own business, and the reader of all of it needs the extra
`run`; an operator may have the base install only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import Absent, read
from joinproto.codec.malformed import Malformed
from joinproto.codec.toml_file import read_toml
from joinproto.errors import UsageProblem
from joinproto.recovery.words import Shown

CONTROL = "control.sock"


@frozen(kw_only=True)
class NodeSettings:
    """The settings that are used here; paths are relative to the file's directory."""

    member: Annotated[Shown, "its name"]
    cluster: Annotated[Shown, "the cluster's name"]
    data: Annotated[Shown, "its data directory"]
    electors: Annotated[tuple[str, ...], "members that choose views"]
    control: Annotated[Shown | None, Absent(), "its control socket"] = None


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
    try:
        found: NodeSettings = read(NodeSettings, read_toml(path))
    except Malformed as error:
        raise UsageProblem(
            f"{path}: {error}",
            next="give the file that joinproto node --config was started with",
        ) from None
    top = path.resolve().parent
    data = top / found.data
    return NodeFile(
        file=str(path),
        member=found.member,
        cluster=found.cluster,
        data=data,
        control=data / CONTROL if found.control is None else top / found.control,
        electors=tuple(sorted(found.electors)),
    )
