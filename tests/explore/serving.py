"""The page's server in a thread of the tests."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from joinproto.explore.listening import take_port
from joinproto.explore.server import listen
from joinproto.explore.session import Session

TOKEN = "a-token-of-the-tests"


@contextmanager
def serving(session: Session) -> Iterator[str]:
    """Yield the address of the page of `session`."""
    listening = listen(session.answer, token=TOKEN, at=take_port())
    thread = threading.Thread(target=listening.run, daemon=True)
    thread.start()
    try:
        yield listening.address
    finally:
        listening.stop()
        thread.join(30)


def request(
    address: str,
    path: str,
    *,
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, str, Mapping[str, str]]:
    """Send one request with the path unchanged; return status, text and headers."""
    place = urlsplit(address)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()
