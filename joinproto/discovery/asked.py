"""A flow played with answers that are given: what is requested, and what follows.

Source: discovery, D1.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, TypeVar

from attrs import frozen

from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.contract import Done, Held
from joinproto.discovery.exchange import Broken, Flow, Request, Response, Wait

R = TypeVar("R")


@frozen(kw_only=True)
class Served:
    """What came of one request."""

    status: Annotated[int | None, AtLeast(100), "of a whole answer; null: none came"] = 200
    body: Annotated[str, "of the answer"] = ""
    broken: Annotated[str | None, "why none came, where status is null"] = None
    took: Annotated[float, AtLeast(0), "seconds"] = 0.0

    @property
    def value(self) -> Response | Broken:
        if self.status is None:
            return Broken(why=self.broken or "no answer", took=self.took)
        return Response(status=self.status, body=self.body, took=self.took)


class Outcome(Enum):
    """What an exchange ends with."""

    ASKS = "asks"  # the last request is not answered yet
    NODES = "nodes"
    NODE = "node"
    DONE = "done"
    HELD = "held"
    ERROR = "error"


@frozen(kw_only=True)
class Exchanged:
    """What is requested, and what follows from the answers."""

    requests: Annotated[tuple[Request, ...], "in their order; each takes one answer"]
    waits: Annotated[tuple[float, ...], "seconds between requests, in their order"]
    outcome: Annotated[Outcome, "asks: one more answer is needed; error: never an empty list"]
    nodes: Annotated[tuple[str, ...] | None, "who is there; null: not known"] = None
    error: Annotated[str | None, "why it failed; null: it did not"] = None
    again: Annotated[bool, "a lost record was written again"] = False
    lock: Annotated[str | None, "what unlocks: the key that is held"] = None
    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]


def played(flow: Flow[R], answers: tuple[Served, ...], rule: str) -> Exchanged:
    """Return what a flow requests and ends with; raises `DoesNotFit` for an answer too many."""
    requests: list[Request] = []
    waits: list[float] = []
    left = list(answers)
    try:
        step = next(flow)
        while True:
            if isinstance(step, Wait):
                waits.append(step.seconds)
                step = flow.send(None)
                continue
            requests.append(step)
            if not left:
                flow.close()
                return _told(None, requests, waits, rule)
            step = flow.send(left.pop(0).value)
    except StopIteration as end:
        if left:
            path = f"answers[{len(answers) - len(left)}]"
            raise DoesNotFit(path, "nothing asks for it", next="leave it out") from None
        return _told(end.value, requests, waits, rule)


def _told(result: object, requests: list[Request], waits: list[float], rule: str) -> Exchanged:
    more: dict[str, object] = {}
    match result:
        case Listed(nodes):
            outcome, why = Outcome.NODES, "the answers say who is there"
            more["nodes"] = nodes
        case Selected(node):
            outcome, why = Outcome.NODE, "the backend selects one node for all"
            more["nodes"] = (node,)
        case Failed(error):
            outcome, why = Outcome.ERROR, "what was asked for is not known, so it is not a list"
            more["error"] = error
        case Held():
            outcome, why = Outcome.HELD, "nobody else holds the lock"
            more["lock"] = result.key
        case Done():
            outcome, why = Outcome.DONE, "the server took it" if requests else "nothing is asked"
            more["again"] = result.again
        case _:
            outcome, why = Outcome.ASKS, "the last request is not answered yet"
    return Exchanged(
        requests=tuple(requests),
        waits=tuple(waits),
        outcome=outcome,
        rule=rule,
        why=why,
        **more,  # type: ignore[arg-type]
    )
