"""Asking a node on this machine what it is doing: one line to its control socket, one back.

It is what `joinproto status` asks.  Nothing is changed by it, and nobody but the node hears it:
a greeting at the port of the members would speak as a member, and could end a connection.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

from attrs import frozen

SECONDS = 5.0
ANSWER_BYTES_MAX = 1 << 20
ADDRESS_BYTES_MAX = 107
"""A longer path is no address of a socket, whatever lies there."""


@frozen(kw_only=True)
class LiveView:
    """A view as a node tells of it; `kind` in lower case, `members` sorted."""

    id: str
    number: int
    kind: str
    members: tuple[str, ...]


@frozen(kw_only=True)
class Live:
    """What a running member says of itself.

    `initial`: the initial signature, "" if it has none yet.  `committed`: number of the last
    frame that it knows to be committed.  `waiting`: what it waits for, "" for nothing.
    """

    member: str
    store_id: str
    cluster_name: str
    initial: str
    phase: str
    serves: bool
    view: LiveView | None
    seq: int
    committed: int
    peers: tuple[str, ...]
    waiting: str = ""


def ask(path: Path) -> Live | str:
    """Return what the node at this control socket says, or why it does not."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return "is not a socket"
        if len(os.fsencode(path)) > ADDRESS_BYTES_MAX:
            return f"a path of more than {ADDRESS_BYTES_MAX} bytes is too long for a socket"
        return _said(_asked(path))
    except FileNotFoundError:
        return "is not there: no node runs, or another file is its configuration"
    except ConnectionRefusedError:
        return "nobody answers: the node has ended, and left its socket behind"
    except TimeoutError:
        return f"no answer within {SECONDS:g} s: the node hangs, or is stopped"
    except PermissionError:
        return "may only be asked by the user that the node runs as"
    except OSError as error:
        return f"cannot be asked: {error.strerror or error}"
    except (KeyError, TypeError, ValueError, RecursionError):
        return "answers what no node says: something else listens, or another version"


def _asked(path: Path) -> bytes:
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


def _said(line: bytes) -> Live:
    tree = json.loads(line)
    view, position, waiting = tree["view"], tree["position"], tree["waiting"]
    return Live(
        member=_text(tree["member"]),
        store_id=_text(tree["store_id"]),
        cluster_name=_text(tree["cluster"]),
        initial="" if tree["initial"] is None else _text(tree["initial"]),
        phase=_text(tree["phase"]),
        serves=tree["serves"] is True,
        view=None
        if view is None
        else LiveView(
            id=_text(view["id"]),
            number=int(view["number"]),
            kind=_text(view["kind"]),
            members=tuple(sorted(map(_text, view["members"]))),
        ),
        seq=0 if position is None else int(position["seq"]),
        committed=int(tree["committed"]),
        peers=tuple(sorted(map(_text, tree["peers"]))),
        waiting="" if waiting is None else f"{waiting['rule']}: {waiting['case']}",
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
