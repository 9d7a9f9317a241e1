"""What `--json` prints, as JSON Schema (draft 2020-12), and as docs/json.md made from it.

Keys are only ever added.  A program that reads these objects ignores keys it does not know;
that is why no schema here forbids any.  `python -m tools.docs` writes docs/json.md anew; tests
compare, and hold real output against these schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from joinproto.recovery.schema import RESULT

Schema = dict[str, Any]


def _of(kind: str | list[str], about: str, **more: Any) -> Schema:
    return {"type": kind, "description": about, **more}


def _text(about: str) -> Schema:
    return _of("string", about)


def _number(about: str) -> Schema:
    return _of("number", about, minimum=0)


def _count(about: str) -> Schema:
    return _of("integer", about, minimum=0)


def _maybe(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _one_of(about: str, *values: str) -> Schema:
    return _of("string", about, enum=list(values))


def _list(about: str, items: Schema) -> Schema:
    return _of("array", about, items=items)


def _map(about: str, values: Schema) -> Schema:
    return _of("object", about, additionalProperties=values)


def _object(
    about: str, properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()
) -> Schema:
    required = [name for name in properties if name not in optional]
    return _of("object", about, properties=dict(properties), required=required)


_MESSAGE = _object(
    "A message.",
    {
        "from": _text("who sent it"),
        "to": _maybe(_text("to whom; null: to every other member")),
        "content": _text("what it says"),
    },
)

_STATES = _map(
    "Member to attribute to text.  A durable attribute's name ends in `*`; a member that is down"
    ' has the attribute `""` with the text `down`.',
    _map("Attribute to text.", _text("the value")),
)

_STEP = _object(
    "One step of a run.",
    {
        "action": _text(
            "`receive`, `start`, `crash`, `lose`, `duplicate`, `split`, `heal`, or its own words"
        ),
        "member": _maybe(_text("who takes it; null: the network, or several members")),
        "message": {
            **_MESSAGE,
            "type": ["object", "null"],
            "description": "received, lost or doubled",
        },
        "sent": _list("messages that it sends", _MESSAGE),
        "states": {**_STATES, "description": "every member after the step, as in `initial`"},
        "rules": _list("cases of tables that it takes", _text("a label")),
        "detail": _text("a split's one side, a joint step's events, a crash's place"),
        "label": _text("the whole step in words, as `Replay.step` takes them"),
    },
)

_COVERAGE = _object(
    "What was exercised.",
    {
        "actions": _map("step, with who takes it, to times", _count("times")),
        "rules": _map("case of a table to times", _count("times")),
        "never": _list("what was never exercised", _text("in words")),
    },
)

_KIND = _one_of("", "always", "sometimes", "eventually", "always possible", "no deadlock")


def _property(results: tuple[str, ...], more: Mapping[str, Schema]) -> Schema:
    return _object(
        "One claim.",
        {
            "name": _text("as the world names it"),
            "kind": {**_KIND, "description": "what is claimed"},
            "result": _one_of("what was found", *results),
            "trace_length": _maybe(_count("steps of the shortest run that breaks or reaches it")),
            **more,
        },
    )


_RUN: dict[str, Schema] = {
    "property": _text("only with a run: the claim it breaks"),
    "initial": {
        **_STATES,
        "description": f"only with a run: where it begins.  {_STATES['description']}",
    },
    "trace": _list("only with a run: its steps", _STEP),
}

CHECK = _object(
    "`joinproto check WORLD --json`",
    {
        "world": _text("its name"),
        "result": _one_of("of all claims together", "holds", "violated", "incomplete"),
        "distinct": _count("distinct states"),
        "generated": _count(
            "steps found, those to known states included; the initial state is one"
        ),
        "depth": _count("states on the longest of the shortest runs"),
        "seconds": _number("of the clock, without compiling"),
        "cpu_seconds": _number("of the processor"),
        "peak_rss_bytes": _count(
            "the most memory it ever held; with Spark, all processes of it here together"
        ),
        "calls": _count("calls of members' code"),
        "engine": _one_of("where it was searched", "local", "spark"),
        "reductions": _list("such as symmetry; empty: every state was visited", _text("in words")),
        "properties": _list(
            "every claim",
            _property(
                ("holds", "reached", "violated", "not-reached", "unknown"),
                {
                    "premise_met": _of(
                        ["boolean", "null"],
                        "whether it was ever put to the test; null: it has no premise",
                    )
                },
            ),
        ),
        "coverage": _COVERAGE,
        "members": _count("members of the world, all kinds together"),
        "expected": _one_of("how the world must end", "holds", "violated"),
        "levels": _list("distinct states at each depth", _count("states")),
        "row_bits": _count("bits of what a state holds"),
        "bytes_per_state": _number("memory for a state: its row, and its place in what finds it"),
        "numbered_bytes": _count("bytes for what is numbered: tables, and values behind numbers"),
        "stopped_by": _text("the limit that ended it early, or empty"),
        "notes": _list("what else there is to know", _text("in words")),
        "compile_seconds": _number("spent in the compiler, the first time"),
        "options": _of("object", "the world's options that were given"),
        "not_exercised": _list(
            "`coverage.never`, premises never met, claims not reached", _text("in words")
        ),
        **_RUN,
        "loop_at": _maybe(
            _count("only with a run: the step after which its cycle begins; null: it has none")
        ),
        "fairness": _text("only with a run: why its cycle is a fair one"),
    },
    optional=("compile_seconds", *_RUN, "loop_at", "fairness"),
)

TIER = _object(
    "`joinproto check --tier quick --json`",
    {
        "tier": _one_of("which", "quick", "long"),
        "result": _one_of("of all", "as-expected", "not-as-expected", "incomplete"),
        "seconds": _number("of the clock"),
        "worlds": _list(
            "every world, each followed by its mutants",
            _object(
                "How one search ended.",
                {
                    "world": _text("its name"),
                    "mutant": _maybe(_text("the mistake built in; null: none")),
                    "members": _count("members of the world"),
                    "result": _one_of("found", "holds", "violated", "incomplete"),
                    "expected": _one_of("how it must end", "holds", "violated"),
                    "as_expected": _of("boolean", "whether it ended so, and after so many steps"),
                    "distinct": _count("distinct states"),
                    "generated": _count("steps found"),
                    "depth": _count("states on the longest of the shortest runs"),
                    "seconds": _number("of the clock"),
                    "property": _maybe(_text("the claim its run breaks")),
                    "trace_length": _maybe(_count("steps of that run")),
                    "trace_length_expected": _maybe(_count("steps it must have; null: not pinned")),
                    "stopped_by": _text("the limit that ended it early, or empty"),
                },
            ),
        ),
    },
)

MODELS = _object(
    "`joinproto models --json`",
    {
        "worlds": _list(
            "every world that ships",
            _object(
                "One world.",
                {
                    "name": _text("for `joinproto check`"),
                    "expected": _one_of("how its search must end", "holds", "violated"),
                    "members": _count("by default"),
                    "about": _text("what it shows"),
                    "members_least": _count("the fewest it can have"),
                    "members_most": _count("the most it can have"),
                    "tier": _one_of(
                        "`quick`: seconds; `long`: minutes; `deep`: for Spark",
                        "quick",
                        "long",
                        "deep",
                    ),
                    "steps": _maybe(_count("of the shortest run that breaks it; null: not pinned")),
                    "mutants": _list("mistakes it can have built in", _text("for `--mutant`")),
                    "options": _of("object", "other options it takes, with their defaults"),
                },
            ),
        )
    },
)

SIMULATE = _object(
    "`joinproto simulate WORLD --json`",
    {
        "world": _text("its name"),
        "result": _one_of("`not-violated` is no proof", "violated", "not-violated"),
        "seed": _count("the same seed gives the same runs"),
        "runs": _count("taken"),
        "runs_wanted": _count("asked for"),
        "steps_max": _count("of one run, at most"),
        "steps": _count("of all runs together"),
        "longest": _count("steps of the longest run"),
        "rested": _count("runs that ended because nothing could change any more"),
        "distinct": _count("distinct states met"),
        "calls": _count("calls of members' code"),
        "seconds": _number("of the clock"),
        "members": _count("members of the world, all kinds together"),
        "properties": _list(
            "every claim",
            _property(
                ("violated", "not-violated", "untested", "reached", "not-reached", "not-judged"),
                {
                    "runs": _count("in which it was broken (`always`, `no deadlock`) or came true"),
                    "premise_runs": _maybe(
                        _count("that put it to the test; null: it has no premise")
                    ),
                },
            ),
        ),
        "coverage": _COVERAGE,
        "stopped_by": _text("the limit that ended it early, or empty"),
        "notes": _list("what a simulation does not say", _text("in words")),
        "options": _of("object", "the world's options that were given"),
        **_RUN,
    },
    optional=tuple(_RUN),
)

SWARM = _object(
    "`joinproto simulate join --swarm --json`",
    {
        "world": _text("the target: `join`, or FILE.py::NAME"),
        "result": _one_of("`not-violated` is no proof", "violated", "not-violated"),
        "seed": _count("of the first run; each run is made of its seed alone"),
        "jobs": _count("cores"),
        "runs": _count("played"),
        "events": _count("of all runs together"),
        "violations": _count("runs that broke a claim of safety"),
        "stuck": _count("runs in which a cluster did not serve, rest or end as it must"),
        "configurations": _count("distinct ones among the runs"),
        "opened": _count("times that a member began to serve"),
        "acknowledged": _count("frames that a client was told are committed"),
        "seconds": _number("of the clock"),
        "interrupted": _of("boolean", "whether Ctrl-C ended it"),
        "claims": _list(
            "every claim",
            _object(
                "One claim.",
                {
                    "name": _text("its name"),
                    "means": _text("in words"),
                    "broken": _count("runs that broke it"),
                },
            ),
        ),
        "failures": _list(
            "every claim that was broken",
            _object(
                "The first run that broke it, and the same, shrunk.",
                {
                    "claim": _text("its name"),
                    "what": _text("what was seen"),
                    "seed": _count("of the first run that broke it"),
                    "events": _count("up to there"),
                    "seeds": _list("those that broke it, at most 20", _count("a seed")),
                    "again": _text("the command that plays the run again"),
                    "shrunk": _object(
                        "What is left of the run.",
                        {
                            "what": _text("what was seen"),
                            "events": _count("up to there"),
                            "deeds": _count("that were needed"),
                            "configuration": _list("the configuration", _text("a line")),
                            "story": _list("what happened", _text("a line")),
                        },
                    ),
                },
            ),
        ),
        "notes": _list("what a simulation does not say", _text("in words")),
    },
)

_FACTS = _text("a fact, in words")

PROVE = _object(
    "`joinproto prove --json`",
    {
        "result": _one_of("of all obligations together", "proved", "fails"),
        "claim": _maybe(_text("the one asked for; null: all")),
        "without": _maybe(_text("the conjunct left out; null: none")),
        "solver": _text("its name and version"),
        "cpu_seconds": _number("of the processor"),
        "proved": _count("obligations"),
        "failed": _count("obligations that fail, or of which nothing is known"),
        "obligations": _list(
            "in the order in which they are proved",
            _object(
                "One obligation.",
                {
                    "layer": _text("the relation it is about"),
                    "obligation": _text("in words"),
                    "kind": _text("what is to be shown"),
                    "step": _maybe(_text("the step it is about; null: a state")),
                    "subject": _maybe(_text("the conjunct or the claim; null: none")),
                    "result": _one_of("what the solver says", "proved", "fails", "unknown"),
                    "seconds": _number("of the processor, for the query"),
                    "against": {
                        **_object(
                            "A state that speaks against it.",
                            {
                                "step": _maybe(_text("the step taken; null: the state alone")),
                                "params": _map("the step's parameters", _text("a value")),
                                "before": _list("what matters of the state before", _FACTS),
                                "changed": _list("what the step changes", _FACTS),
                                "broken_by": _map("for which things it breaks", _text("a value")),
                                "confirmed": _of(
                                    "boolean", "whether the second, independent reader agrees"
                                ),
                            },
                        ),
                        "type": ["object", "null"],
                        "description": "a state against it: of the first that fails",
                    },
                    "example": _text("of a table: what shows it, and why it is so, or empty"),
                },
                optional=("example",),
            ),
        ),
        "assumptions": _list("what is taken for granted, and not proved", _text("in words")),
        "link": _list(
            "with --link: each world in the words of each layer",
            _object(
                "One world in one layer's words.",
                {
                    "world": _text("its name"),
                    "layer": _text("the relation it is held against"),
                    "result": _one_of("of its steps", "accepted", "rejected"),
                    "steps": _count("distinct steps of the shipped code"),
                    "pictures": _count("different steps in the layer's words"),
                    "used": _map("step of the relation to times", _count("times")),
                    "unused": _list("steps of the relation never taken", _text("its name")),
                    "seconds": _number("of the processor"),
                    "rejected": {
                        **_object(
                            "The step.",
                            {
                                "level": _count("how many steps lead there, itself included"),
                                "action": _text("in the world's words"),
                                "member": _maybe(_text("who takes it")),
                                "message": _text("what is received, or empty"),
                                "changes": _list("what it changes", _FACTS),
                            },
                        ),
                        "type": ["object", "null"],
                        "description": "the first step that the relation does not make",
                    },
                },
            ),
        ),
        "lookup": _list(
            "with --link, where an obligation fails: whether its state occurs",
            _object(
                "The state before the step.",
                {
                    "world": _maybe(_text("where it is reachable; null: nowhere")),
                    "level": _maybe(_count("after how many steps")),
                    "states": _count("looked at"),
                    "lemmas": _list(
                        "what would exclude it",
                        _object(
                            "Facts that hold together in no state looked at.",
                            {
                                "never": _list("the facts", _FACTS),
                                "settles": _of("boolean", "with it, the obligation is proved"),
                            },
                        ),
                    ),
                },
            ),
        ),
        "search": _list(
            "with --search: runs from the beginning, a rule left out",
            _object(
                "One bounded search.",
                {
                    "world": _text("its name"),
                    "about": _text("what is left out"),
                    "claim": _text("what is to break"),
                    "is_as_expected": _of("boolean", "it broke after so many steps, or not at all"),
                    "steps": _maybe(_count("of the shortest run; null: none was found")),
                    "seconds": _number("of the processor"),
                    "run": _list(
                        "its steps",
                        _object(
                            "One step.",
                            {
                                "step": _text("its name"),
                                "params": _map("parameter to value", _text("a value")),
                            },
                        ),
                    ),
                },
            ),
        ),
    },
    optional=("link", "lookup", "search"),
)

_ANY = ["string", "integer", "number", "boolean", "null"]

QUERY = _object(
    "`joinproto query DIR SQL --json`",
    {
        "sql": _text("the query, also of a question that is ready"),
        "columns": _list("names, in their order", _text("a name")),
        "rows": _list(
            "found",
            _list("a row: a value for each column", _of(_ANY, "a value")),
        ),
        "more": _of("boolean", "whether there are more rows than were asked for"),
        "seconds": _number("of the clock, Spark's start included"),
    },
)

DATASET = _object(
    "`joinproto query DIR --json`",
    {
        "world": _text("its name"),
        "members": _list("of the world", _text("a name")),
        "states": _count("rows of the table `states`"),
        "columns": _list(
            "of the table `states`",
            _object(
                "One column.",
                {
                    "name": _text("as SQL takes it"),
                    "type": _text("`bool`, `int32`, `int64` or `string`"),
                    "about": _text("what it says, or empty"),
                },
            ),
        ),
        "questions": _list(
            "that are ready",
            _object("One.", {"name": _text("for `--ask`"), "about": _text("what it asks")}),
        ),
    },
)

_SIGNATURE = _of(["string", "null"], "of the cluster, whole; null: there is none")

STATUS = _object(
    "`joinproto status --config FILE --json`, and `shutdown`",
    {
        "version": _text("of joinproto"),
        "member": _text("its name"),
        "store_id": _text("of its store"),
        "cluster": _text("the cluster's name"),
        "phase": _text("where it is between its start and its end"),
        "serves": _of("boolean", "whether it serves clients now"),
        "is_sequencer": _of("boolean", "whether it orders the frames"),
        "outcome": _maybe(_one_of("how it became active", "founded", "joined", "restored")),
        "store": _one_of("what its store is", "none", "empty", "clean", "dirty"),
        "initial": {**_SIGNATURE, "description": "the initial signature"},
        "final": {**_SIGNATURE, "description": "the final signature, if it is closed"},
        "view": _maybe(
            _object(
                "the newest view it knows",
                {
                    "id": _text("its id"),
                    "number": _count("how many views there have been"),
                    "kind": _one_of("what it is for", "found", "change", "close", "restart"),
                    "members": _list("who takes part", _text("a name")),
                    "electors": _list("who chooses the next one", _text("a name")),
                },
            )
        ),
        "position": _maybe(
            _object(
                "the last frame on its disk",
                {"view": _text("the id of its view"), "seq": _count("its number")},
            )
        ),
        "committed": _count("number of the last frame that it knows to be committed"),
        "pending": _count("frames of its clients that wait to be committed"),
        "peers": _list("to whom it has a connection", _text("a name")),
        "waiting": _maybe(
            _object(
                "why the next view is not chosen; of the last time that it tried",
                {
                    "rule": _text("label of the rule"),
                    "case": _text("case of its table"),
                    "reason": _of(["string", "null"], "as `decide` names it"),
                    "next": _text("what helps"),
                },
            )
        ),
    },
)

NODE = _object(
    "`joinproto node --config FILE --json`, at its end",
    {
        "member": _text("its name"),
        "ended": _one_of("how", "in order", "not started"),
        "warnings": _list("of --check: what is risky", _text("a sentence")),
    },
    optional=("warnings",),
)

VALIDATE = _object(
    "`joinproto validate LOG... --json`",
    {
        "result": _one_of("of all together", "holds", "violated"),
        "runs": _count("processes, one log each"),
        "lines": _count("events in them that were replayed"),
        "members": _list("whose logs there are", _text("a name")),
        "views": _count("views that they learned"),
        "committed": _count("frames that every member of their view had on its disk"),
        "properties": _list(
            "every claim",
            _object(
                "One claim.",
                {
                    "name": _text("as in docs/protocol.md"),
                    "result": _one_of("what was found", "holds", "violated"),
                    "found": _list("what breaks it", _text("in words")),
                },
            ),
        ),
        "mismatch": _maybe(
            _object(
                "the first line that the member would not have written",
                {
                    "log": _text("the file"),
                    "matching_lines": _count("lines before it, which match"),
                    "field": _text("which part differs"),
                    "seen": _text("what stands there, as JSON"),
                    "allowed": _text("what may stand there, as JSON"),
                },
            )
        ),
        "notes": _list("what was not judged, and why", _text("a note")),
    },
)

ERROR = _object(
    "Any command with `--json` that fails",
    {
        "error": _object(
            "What went wrong.",
            {
                "code": _count("the exit code"),
                "message": _text("what was found, and what was expected; file:line for a model"),
                "next": _text("what to do now, or empty"),
            },
        )
    },
)

SCHEMAS = {
    "check": CHECK,
    "tier": TIER,
    "models": MODELS,
    "simulate": SIMULATE,
    "swarm": SWARM,
    "prove": PROVE,
    "query": QUERY,
    "dataset": DATASET,
    "status": STATUS,
    "node": NODE,
    "validate": VALIDATE,
    "recover": {**RESULT, "description": "`joinproto recover COMMAND ... --json`"},
    "error": ERROR,
}


# -- as a document ---------------------------------------------------------------------


def document(names: str) -> str:
    """Return the part of docs/json.md about these commands, each of `SCHEMAS`."""
    parts = []
    for schema in map(SCHEMAS.__getitem__, names.split()):
        parts.append(f"## {schema['description']}\n")
        parts.append("\n".join(_rows(schema, 0)) + "\n")
    return "\n".join(parts).rstrip()


def _rows(schema: Schema, depth: int) -> Iterator[str]:
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        about = inner["description"]
        absent = "" if name in required or "only with a run" in about else "; may be absent"
        yield f"{'  ' * depth}* `{name}` ({_type(inner)}): {about}{absent}"
        yield from _rows(_innermost(inner), depth + 1)


def _innermost(schema: Schema) -> Schema:
    return _innermost(schema["items"]) if "items" in schema else schema


def _type(schema: Schema) -> str:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "enum" in schema:
        words = " or ".join(f"`{value}`" for value in schema["enum"] if value is not None)
        return f"{words} or null" if "null" in kinds else words
    return " or ".join(kinds)
