"""What `joinproto recover ... --json` prints, as JSON Schema (draft 2020-12).

Keys are only ever added; a program that reads these objects ignores keys it does not know.
A failure is {"error": {"code", "message", "next"}}, as with every command of joinproto.
"""

from __future__ import annotations

from typing import Any

from joinproto.core.pick.table import Verdict
from joinproto.recovery.found import Format, State

Schema = dict[str, Any]


def _text(about: str, *, or_null: bool = False) -> Schema:
    return {"type": ["string", "null"] if or_null else "string", "description": about}


def _list(about: str, items: Schema) -> Schema:
    return {"type": "array", "description": about, "items": items}


def _object(about: str, properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _count(about: str) -> Schema:
    return {"type": ["integer", "null"], "description": about, "minimum": 0}


STORE = _object(
    "One store that was looked at.",
    {
        "name": _text("`host:path`; what `groups`, `latest` and the evidence call it"),
        "path": _text("the directory, as an absolute path on its host"),
        "host": _text("the machine it was read on"),
        "format": {
            **_text("who wrote it; null: nobody known", or_null=True),
            "enum": [*(each.value for each in Format), None],
        },
        "member": _text("whose it is; null: it does not say", or_null=True),
        "cluster": _text(
            "its initial signature (of RabbitMQ, which has none, the first of its nodes); null:"
            " none, or it does not say",
            or_null=True,
        ),
        "state": {**_text("what it is"), "enum": [each.value for each in State]},
        "lineage_length": _count("views of its chain; null: it keeps none"),
        "view": _text("the newest view it knows of", or_null=True),
        "seq": _count("its last frame, counted from the founding; null: none, or not known"),
        "problems": _list("what is wrong with it, the worst first", _text("one sentence")),
    },
)

RESULT = _object(
    "The one object that every command prints with --json.",
    {
        "stores": _list("in the order in which they were given", STORE),
        "groups": _list(
            "by cluster, the largest first",
            _object(
                "The stores of one cluster.",
                {
                    "cluster": _text("its initial signature; null: of none", or_null=True),
                    "paths": _list("names of the stores", _text("`host:path`")),
                },
            ),
        ),
        "verdict": {
            **_text(
                "null: nothing was judged (inspect, collect), or it runs (verify)", or_null=True
            ),
            "enum": [*(each.value for each in Verdict), None],
        },
        "latest": _list("the latest stores; several have the same data", _text("`host:path`")),
        "evidence": _list("the verdict in a sentence, then what it rests on", _text("a sentence")),
        "missing": _list(
            "stores that are still needed for a proof",
            _object(
                "A store that was not supplied, or cannot be read.",
                {
                    "member": _text("whose it is"),
                    "store_id": _text("which of its stores; null: not known", or_null=True),
                    "could_change_the_answer": {
                        "type": "boolean",
                        "description": "whether this one store could",
                    },
                    "why": _text("what it could tell"),
                },
            ),
        ),
        "next": _text("the next command to type, or the next thing to do"),
        "plan": _object(
            "Only of plan, apply and mark-clean.",
            {
                "path": _text("the plan's file; null: there is none", or_null=True),
                "hash": _text("what --plan-hash takes"),
            },
        ),
        "members": _list(
            "only of verify: those that were asked",
            _object(
                "A running member, or one that does not answer.",
                {
                    "member": _text("its name"),
                    "answers": {"type": "boolean", "description": "whether it does"},
                    "problem": _text("why it does not answer", or_null=True),
                    "phase": _text("its phase; null: it does not answer", or_null=True),
                    "serves": {"type": "boolean", "description": "whether it serves clients"},
                    "view": _text("the newest view it knows of", or_null=True),
                    "seq": _count("its last frame; null: it does not answer"),
                    "peers": _list("members it is connected to", _text("a name")),
                },
            ),
        ),
        "rehearsal": _list(
            "only of rehearse: one for each choice",
            _object(
                "What can follow from one choice.",
                {
                    "choice": _text("what is done before the start"),
                    "marks": _list("whose stores get a mark", _text("a name")),
                    "starts": _list(
                        "the next views that can be chosen",
                        _object(
                            "A view.",
                            {
                                "kind": _text("`restart`, `change`"),
                                "members": _list("who is in it", _text("a name")),
                                "seq": _count("the last frame before it; null: where all begin"),
                                "is_served": {
                                    "type": "boolean",
                                    "description": "whether clients are served in it, in some run",
                                },
                            },
                        ),
                    ),
                    "waits": _list("what members wait for", _text("a case of a table")),
                    "aborts": _list("who may stop for good", _text("a name")),
                    "loses": {
                        "type": "boolean",
                        "description": "whether a frame that may be acknowledged can be lost",
                    },
                    "is_whole": {
                        "type": "boolean",
                        "description": "whether every order of events was searched",
                    },
                    "states": _count("how many were searched"),
                },
            ),
        ),
        "outcome": _text("only of apply, undo and mark-clean: what was done"),
        "backup": _text("only of those: where the former metadata is", or_null=True),
    },
    optional=("plan", "members", "rehearsal", "outcome", "backup"),
)
