"""JSON Schema (draft 2020-12) of the `--json` outputs, from the types of the printed values.

`python -m tools.docs` writes docs/json.md from it; tests validate real output with the schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from attrs import frozen

from joinproto.apps.discovery.conformance import Conformance
from joinproto.apps.discovery.listing import Listing
from joinproto.apps.node.status import Status
from joinproto.check.chance import Chance
from joinproto.check.cover import Covered
from joinproto.cli.at_scale.many import ManyRuns
from joinproto.cli.at_scale.results import Compared
from joinproto.cli.commands.check import Checked
from joinproto.cli.commands.clusterer import Stories, Validated
from joinproto.cli.commands.clusterer_asking import StatusShown
from joinproto.cli.commands.clusterer_run import Applied
from joinproto.cli.commands.decide import Decided
from joinproto.cli.commands.diff import Differences
from joinproto.cli.commands.discovery import Booted
from joinproto.cli.commands.draw import Drawings, Drawn
from joinproto.cli.commands.export import ExportedWorld
from joinproto.cli.commands.models import Models
from joinproto.cli.commands.node import Ended
from joinproto.cli.commands.query import Described, Found, Reached
from joinproto.cli.commands.reconcile import Explained, Planned
from joinproto.cli.commands.simulate import Simulated
from joinproto.cli.commands.swarm import Swarm
from joinproto.cli.commands.sweep import Sweep
from joinproto.cli.commands.tier import Tier
from joinproto.cli.first_start import Split
from joinproto.cli.validate.foreign import Followed
from joinproto.cli.validate.judge import Verdict
from joinproto.cli.validate.standby import StandbyVerdict
from joinproto.clusterer.ask_config import CompareAnswer
from joinproto.clusterer.plan import Plan as ClustererPlan
from joinproto.clusterer.run import StoryRun
from joinproto.codec.json_form import Absent, Count, Schema, schema_of
from joinproto.discovery.lint import Linted
from joinproto.prove.printed import Proved
from joinproto.recovery.schema import RESULT


@frozen
class Problem:
    """The error."""

    code: Annotated[Count, "the exit code"]
    message: Annotated[str, "the problem, and what was expected; for a model with file:line"]
    next: Annotated[str, "the next step for the user, or empty"]
    run: Annotated[
        tuple[str, ...],
        Absent(),
        "a shortest run to the error of a member's code: each step in words, with its member",
    ] = ()


@frozen
class Failed:
    """Any command with `--json` that fails"""

    error: Annotated[Problem, "The problem."]


CHECK, TIER, MODELS = schema_of(Checked), schema_of(Tier), schema_of(Models)
SIMULATE, SWARM, PROVE = schema_of(Simulated), schema_of(Swarm), schema_of(Proved)
CHANCE, REACHED, COVERED = schema_of(Chance), schema_of(Reached), schema_of(Covered)
QUERY, DATASET, VALIDATE = schema_of(Found), schema_of(Described), schema_of(Verdict)
DECIDE, DRAWINGS, DRAWN = schema_of(Decided), schema_of(Drawings), schema_of(Drawn)
STATUS, NODE, ERROR = schema_of(Status), schema_of(Ended), schema_of(Failed)

SCHEMAS = {
    "check": CHECK,
    "sweep": schema_of(Sweep),
    "tier": TIER,
    "models": MODELS,
    "simulate": SIMULATE,
    "swarm": SWARM,
    "chance": CHANCE,
    "covered": COVERED,
    "prove": PROVE,
    "query": QUERY,
    "dataset": DATASET,
    "reached": REACHED,
    "decide": DECIDE,
    "drawings": DRAWINGS,
    "drawn": DRAWN,
    "differences": schema_of(Differences),
    "exported": schema_of(ExportedWorld),
    "clusterer-compare": schema_of(
        CompareAnswer, "`clusterer compare --json`: the order of configs A and B."
    ),
    "validated": schema_of(Validated),
    "clusterer-plan": schema_of(ClustererPlan),
    "played": schema_of(StoryRun),
    "stories": schema_of(Stories),
    "applied": schema_of(Applied),
    "clusterer-status": schema_of(StatusShown),
    "lint": schema_of(
        Linted,
        "`discovery lint --json`: each setting of discovery, and the file's problems.",
    ),
    "booted": schema_of(Booted),
    "listed": schema_of(Listing, "`discovery list --json`: the nodes that the backend lists."),
    "conforms": schema_of(
        Conformance, "`discovery conformance --json`: the behaviour of a server."
    ),
    "split": schema_of(Split),
    "explained": schema_of(Explained),
    "planned": schema_of(Planned),
    "compared": schema_of(Compared),
    "simulated": schema_of(ManyRuns),
    "status": STATUS,
    "node": NODE,
    "validate": VALIDATE,
    "validate-brokers": schema_of(StandbyVerdict),
    "followed": schema_of(Followed),
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
