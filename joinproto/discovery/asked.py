"""Playing a flow with given answers: its requests, and its result.

Source: discovery, D1.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, TypeVar

from attrs import define, field, frozen

from joinproto.ask.question import Answer, Rule
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import perform
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.contract import Done, Held
from joinproto.discovery.exchange import Broken, Flow, LookedUp, Lookup, Request, Response

R = TypeVar("R")


@frozen(kw_only=True)
class ListingAnswer(Answer):
    """An answer about the nodes that a backend lists."""

    rule: Rule = "D1"


@frozen(kw_only=True)
class ServerReply:
    """A server's answer to one request, or the failure of the request."""

    status: Annotated[
        int | None, AtLeast(100), "the status of the answer; null: no complete answer came"
    ] = 200
    body: Annotated[str, "the body of the answer"] = ""
    broken: Annotated[str | None, "why no answer came, if `status` is null"] = None
    took: Annotated[float, AtLeast(0), "how long the request took, in seconds"] = 0.0

    @property
    def value(self) -> Response | Broken:
        if self.status is None:
            return Broken(why=self.broken or "no answer", took=self.took)
        return Response(status=self.status, body=self.body, took=self.took)


class Outcome(Enum):
    """The result of an exchange."""

    ASKS = "asks"  # the last request is not answered yet
    NODES = "nodes"
    NODE = "node"
    DONE = "done"
    HELD = "held"
    ERROR = "error"


@frozen(kw_only=True)
class FlowResult(Answer):
    """The requests of an exchange, and its result."""

    requests: Annotated[tuple[Request, ...], "the requests in their order; each takes one answer"]
    waits: Annotated[tuple[float, ...], "the pauses between requests, in seconds"]
    outcome: Annotated[Outcome, "asks: one more answer is needed; error: never an empty list"]
    nodes: Annotated[
        tuple[str, ...] | None, "the nodes that the backend lists or selects; null: not known"
    ] = None
    error: Annotated[str | None, "why the exchange failed; null: it did not fail"] = None
    again: Annotated[bool, "whether a lost record was written again"] = False
    lock: Annotated[str | None, "the key of the held lock, with which it is unlocked"] = None


class _Unanswered(Exception):
    """The last effect is not answered yet."""


@define
class RecordedPorts:
    """Ports that record requests, and give prepared answers.  `left`: the answers still to give."""

    left: list[Any]
    asked: list[Any] = field(factory=list)
    waits: list[float] = field(factory=list)

    def _answer(self, effect: object) -> Any:
        self.asked.append(effect)
        if not self.left:
            raise _Unanswered
        return self.left.pop(0)

    def request(self, request: Request) -> Response | Broken:
        answer: ServerReply = self._answer(request)
        return answer.value

    def look(self, lookup: Lookup) -> LookedUp:
        answer: LookedUp = self._answer(lookup)
        return answer

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)


def played_with(flow: Flow[R], answers: Sequence[object]) -> tuple[R | None, RecordedPorts]:
    """Return a flow's result (None if it needs one more answer), and its requests.

    Raises `DoesNotFit` if there are more answers than requests.
    """
    given = RecordedPorts([*answers])
    try:
        result = perform.played(flow, given)
    except _Unanswered:
        return None, given
    finally:
        flow.close()
    if given.left:
        path = f"answers[{len(answers) - len(given.left)}]"
        raise DoesNotFit(path, "no request asks for this answer", next="leave it out")
    return result, given


def played(flow: Flow[R], answers: tuple[ServerReply, ...], rule: str) -> FlowResult:
    """Return a flow's requests and result; raises `DoesNotFit`, like `played_with`."""
    result, given = played_with(flow, answers)
    return _exchanged(result, given.asked, given.waits, rule)


def _exchanged(
    result: object, requests: list[Request], waits: list[float], rule: str
) -> FlowResult:
    more: dict[str, object] = {}
    match result:
        case Listed(nodes):
            outcome, why = Outcome.NODES, "the answers list the nodes"
            more["nodes"] = nodes
        case Selected(node):
            outcome, why = Outcome.NODE, "the backend selects one node for all"
            more["nodes"] = (node,)
        case Failed(error):
            outcome, why = Outcome.ERROR, "a request failed, and an error is not an empty list"
            more["error"] = error
        case Held():
            outcome, why = Outcome.HELD, "no other node holds the lock"
            more["lock"] = result.key
        case Done():
            why = "the server accepted it" if requests else "this operation needs no request"
            outcome = Outcome.DONE
            more["again"] = result.again
        case _:
            outcome, why = Outcome.ASKS, "the last request is not answered yet"
    return FlowResult(
        requests=tuple(requests),
        waits=tuple(waits),
        outcome=outcome,
        rule=rule,
        why=why,
        **more,  # type: ignore[arg-type]
    )
