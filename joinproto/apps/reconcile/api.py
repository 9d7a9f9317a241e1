"""The management API of a broker.  One look at the broker needs the answers to two requests."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from attrs import field, frozen

from joinproto.errors import PeerError, UsageProblem
from joinproto.reconcile.reading import COLUMNS, Facts, HalfAnswer, facts_of

BYTES_MAX = 256 * 2**20
"""The most bytes of one answer; 100,000 queues take a ninth of that."""
WHOLE = 6.0
"""A complete answer may take this many times as long as a server may be silent."""


class NoAnswer(PeerError):
    """No node of the broker gave a complete answer."""


class Refused(UsageProblem):
    """The broker does not know the user, or the user may not see nodes and queues."""


@frozen
class Api:
    """A client of the management API.

    `urls`: the addresses of nodes, such as `http://localhost:15672`, asked in turn until one
    answers.  `timeout`: seconds that a server may be silent.  `target`, `zones`: for `facts_of`.
    """

    urls: Sequence[str]
    user: str
    password: str = field(repr=False)
    timeout: float = 10.0
    target: int | None = None
    zones: Mapping[str, str] = field(factory=dict)

    def read(self) -> Facts:
        """Return the facts of one complete look at the broker; raises `Refused` or `NoAnswer`."""
        reasons = []
        for url in self.urls:
            try:
                with httpx.Client(
                    base_url=url, auth=(self.user, self.password), timeout=self.timeout
                ) as client:
                    nodes = _get(client, "/api/nodes")
                    queues = _get(client, f"/api/queues?columns={COLUMNS}")
                return facts_of(nodes, queues, self.target, self.zones)
            except httpx.HTTPError as error:
                reasons.append(f"{url}: {str(error) or type(error).__name__}")
            except HalfAnswer as error:
                reasons.append(f"{url}: {error.message}")
        raise NoAnswer(
            "; ".join(reasons), next="check that the management plugin runs on these nodes"
        )


def _get(client: httpx.Client, path: str) -> Any:
    with client.stream("GET", path) as answer:
        place = str(answer.url.copy_with(query=None))
        if answer.status_code in (401, 403):
            raise Refused(
                f"{place}: {answer.status_code}, the user is not known or may not see this",
                next="use a user with the tag monitoring, and its password in --password-file",
            )
        if answer.status_code != 200:
            raise HalfAnswer(f"{place}: {answer.status_code}", next="ask again")
        body = _whole(answer, place, WHOLE * (client.timeout.read or 1.0))
    try:
        return json.loads(body, object_pairs_hook=_both)
    except (ValueError, RecursionError):
        raise HalfAnswer(f"{place}: not JSON", next="ask again") from None


def _whole(answer: httpx.Response, place: str, seconds: float) -> bytes:
    """Return the body, with limits, because a server might send small pieces without end."""
    body, end = bytearray(), time.monotonic() + seconds
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > BYTES_MAX:
            raise HalfAnswer(f"{place}: more than {BYTES_MAX} bytes", next="ask again")
        if time.monotonic() > end:
            raise HalfAnswer(f"{place}: no whole answer within {seconds:g} s", next="ask again")
    return bytes(body)


def _both(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; if a key has two lists, its value has the elements of both.

    RabbitMQ 3.10 returns `members` twice while its two registers of members differ, for example
    just after a node was forgotten.  The leader is asked for its members before any change.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        before: Any = found.get(name)
        is_twice = isinstance(before, list) and isinstance(value, list)
        found[name] = [*before, *value] if is_twice else value
    return found
