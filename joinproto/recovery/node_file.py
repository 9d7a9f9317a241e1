"""The part of node.toml that `verify` needs: the node's member, and where to ask the node.

The reader of the whole file needs the extra `run`, and an operator may have the base install only.
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
    """The settings that `verify` uses; paths are relative to the file's directory."""

    member: Annotated[Shown, "the member's name"]
    cluster: Annotated[Shown, "the cluster's name"]
    data: Annotated[Shown, "the data directory"]
    electors: Annotated[tuple[str, ...], "members that choose views"]
    control: Annotated[Shown | None, Absent(), "the control socket"] = None


@frozen(kw_only=True)
class NodeFile:
    """The settings with whole paths.  `file`: the file's path as given.  `electors`: sorted."""

    file: str
    member: str
    cluster: str
    data: Path
    control: Path
    electors: tuple[str, ...]


def read_node_file(path: Path) -> NodeFile:
    """Return the file's settings; raises `UsageProblem` with the place of the error in it."""
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
