"""Ask a node on this machine for its status: send a line to its control socket, and read a line.

`joinproto status` sends the same request, which changes nothing.  The port of the members is not
used, because a greeting there looks like a member's greeting, and could end a connection.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import Key, read
from joinproto.codec.json_text import parsed
from joinproto.codec.malformed import Malformed

SECONDS = 5.0
ANSWER_BYTES_MAX = 1 << 20
ADDRESS_BYTES_MAX = 107
"""A longer path cannot be the address of a socket."""


@frozen(kw_only=True)
class LiveView:
    """A view in a node's status; `kind` is in lower case."""

    id: Annotated[str, "the view's id"]
    number: Annotated[int, "how many views there have been"]
    kind: Annotated[str, "the view's kind"]
    members: Annotated[tuple[str, ...], "the members of the view"]


@frozen(kw_only=True)
class LiveFrame:
    """The last frame on a node's disk."""

    seq: Annotated[int, "the frame's number"]


@frozen(kw_only=True)
class LiveWait:
    """Why there is no next view."""

    rule: Annotated[str, "label of the rule"]
    case: Annotated[str, "case of its table"]

    def __str__(self) -> str:
        return f"{self.rule}: {self.case}"


@frozen(kw_only=True)
class Live:
    """The parts of a running member's status that `verify` uses; see `joinproto status`."""

    member: Annotated[str, "the member's name"]
    cluster_name: Annotated[str, Key("cluster"), "the cluster's name"]
    initial: Annotated[str | None, "the initial signature; null: it has none yet"]
    phase: Annotated[str, "the member's phase"]
    serves: Annotated[bool, "whether it serves clients now"]
    view: Annotated[LiveView | None, "the newest view it knows"]
    position: Annotated[LiveFrame | None, "the last frame on its disk"]
    peers: Annotated[tuple[str, ...], "the members that it has a connection to"]
    waiting: Annotated[LiveWait | None, "why the next view is not chosen"]

    @property
    def seq(self) -> int:
        return 0 if self.position is None else self.position.seq


def ask(path: Path) -> Live | str:
    """Return the status of the node at this control socket, or why it gives none.

    The node has `SECONDS` for each step of the answer.
    """
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return "is not a socket"
        if len(os.fsencode(path)) > ADDRESS_BYTES_MAX:
            return f"a path of more than {ADDRESS_BYTES_MAX} bytes is too long for a socket"
        return _decoded(_answer_of(path))
    except FileNotFoundError:
        return "is not there: no node runs, or the node has another configuration file"
    except ConnectionRefusedError:
        return "no process answers: the node has ended, and left its socket behind"
    except TimeoutError:
        return f"no answer within {SECONDS:g} s: the node hangs, or is stopped"
    except PermissionError:
        return "may only be asked by the user that the node runs as"
    except OSError as error:
        return f"cannot be asked: {error.strerror or error}"
    except Malformed:
        return "gives an answer that no node gives: another program or version listens there"


def _answer_of(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        link.connect(os.fspath(path))
        link.sendall(b"status\n")
        said = b""
        while not said.endswith(b"\n") and len(said) < ANSWER_BYTES_MAX:
            more = link.recv(1 << 16)
            if not more:
                break
            said += more
        return said


def _decoded(line: bytes) -> Live:
    live: Live = read(Live, parsed(line))
    return live
