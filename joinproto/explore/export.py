"""One file that works without a server: the page, with all states of a world as data.

States, their parts and their steps are numbered.  Repeated texts are written once, and the columns
are compressed; the page's channel reads them (`static/datachannel.js`).  The file needs no network.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from attrs import Factory, define

from joinproto.errors import EnvironmentProblem, LimitReached
from joinproto.explore import seeing
from joinproto.explore.graph import Json
from joinproto.explore.page import document
from joinproto.explore.session import Session

STATES_MAX = 100_000
VERBS = ("world", "state", "walk", "follow", "nearest", "levels", "search", "questions", "cover")
"""The questions that the exported file can answer without a server, besides `graph` and `way`."""


@define
class _Numbered:
    """Values, each kept once, with their numbers."""

    values: list[Any] = Factory(list)
    _number: dict[str, int] = Factory(dict)

    def of(self, value: Any) -> int:
        known = json.dumps(value, sort_keys=True)
        found = self._number.get(known)
        if found is None:
            found = self._number[known] = len(self.values)
            self.values.append(value)
        return found


def export(session: Session, file: Path) -> Json:
    """Write the page with the world's states; return their number, and the file's size in bytes.

    Raises `LimitReached` for more than `STATES_MAX` states, `EnvironmentProblem` if the file
    cannot be written.
    """
    searching = session.now.searching
    while not searching.whole:
        searching.step()
        if len(searching.order) > STATES_MAX:
            raise LimitReached(
                f"the world has more than {STATES_MAX:,} states, which one file does not hold",
                next="export a smaller world (--members, --set), or explore it without --export",
            )
    text = page(data(session))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {file}: {error.strerror}", next="name another file with --export"
        ) from error
    return {"states": len(searching.order), "bytes": len(text.encode())}


def data(session: Session) -> Json:
    """Return the data of all answers, with states numbered in the order of the search."""
    now = session.now
    graph, searching, judging = now.graph, now.searching, now.judging
    place = {at: number for number, at in enumerate(searching.order)}
    names = ("locals", "networks", "messages", "claims", "steps", "pictures")
    kept = {name: _Numbered() for name in names}
    columns: dict[str, list[int]] = {
        name: [] for name in ("locals", "networks", "claims", "counts", "steps", "to", "pictures")
    }

    def put(name: str, value: Any) -> None:
        columns[name].append(kept[name].of(value))

    keys = []
    for number, at in enumerate(searching.order):
        state = graph.state_json(at)
        keys.append(state["key"])
        for member in state["members"]:
            put("locals", [member["up"], member["texts"]])
        if state["monitor"] is not None:
            put("locals", [True, state["monitor"]])
        network, messages = state["network"], kept["messages"]
        sent = [
            messages.of([one["from"], one["to"], one["content"]]) for one in network["under_way"]
        ]
        put("networks", [network["split"], network["left"], sent])
        put("claims", [[one["is"], one["says"]] for one in judging.claims(at)])
        put("pictures", state["picture"])
        onward = [step for step in graph.steps_json(at) if step["to"] in place]
        columns["counts"].append(len(onward))
        for step in onward:
            columns["to"].append(place[step["to"]] - number)
            put("steps", {k: v for k, v in step.items() if k not in ("index", "to")})
    world = session.world_json()
    return {
        "world": {
            **world,
            "verbs": [*VERBS, "graph", "way"],
            "firsts": [place[at] for at in graph.firsts if at in place],
            "file": None,
            "mistakes": {},
            "logs": False,
            "form": type(graph.world.network).__name__,
        },
        "levels": searching.counts(),
        **{name: one.values for name, one in kept.items()},
        "keys": "".join(keys),
        "columns": columns,
        "cover": seeing.cover(searching),
        "questions": {
            "questions": [
                one
                for one in seeing.questions(graph, searching.order)
                if "claim" in one["arguments"] or one["arguments"]["where"].startswith("count(")
            ],
            "attributes": seeing.attributes(graph, searching.order),
        },
    }


def page(found: Json) -> str:
    """Return the text of the whole file."""
    packed = gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0)
    head = (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:;'
        " style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'\">\n"
    )
    data = base64.b64encode(packed).decode()
    return document("exported", data, kind="application/octet-stream", head=head).text
