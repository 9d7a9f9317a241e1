"""The page's server: for this machine only, with one token, and one session in one thread.

It refuses requests with another address than loopback's in `Host` (a stranger's name may point
here), requests of other pages (`Origin`), wrong tokens in the address, and files outside the
folder.  The served pages may run no script but ours (`policy`).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import queue
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import uvicorn
from attrs import Factory, define, frozen
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from joinproto.explore.graph import Json
from joinproto.explore.listening import TakenPort
from joinproto.explore.page import STATIC, document, embedded

GRAPH_STYLE = "sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8="
"""The only style that Cytoscape.js writes into the page: it positions its container."""


def policy(*, style: str = "", script: str = "") -> str:
    """Return a page's Content-Security-Policy; `style`, `script`: hashes of its contents."""
    return (
        f"default-src 'none'; script-src 'self'{_quoted(script)};"
        f" style-src 'self' '{GRAPH_STYLE}'{_quoted(style)}; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _quoted(value: str) -> str:
    return f" '{value}'" if value else ""


HEADERS = {
    "Content-Security-Policy": policy(),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""The endings of the page's files, with their media types; no other file is served."""

_NAME = re.compile(r"[\w./-]+")

BODY_MAX = 1 << 20

BEGIN_SECONDS = 1.0
"""How long the server waits for the first state; then the page is sent without it, and asks."""

Answer = Callable[[str, Mapping[str, Any]], Json]


@define
class _Page:
    """The page that the server delivers.  `names`: the accepted values of `Host`."""

    answer: Answer
    token: str
    names: frozenset[str]
    _waiting: queue.SimpleQueue[tuple[Future[bytes], str, Json]] = Factory(queue.SimpleQueue)

    def __attrs_post_init__(self) -> None:
        # A daemon thread, because an expression that never ends must not keep the process alive.
        threading.Thread(target=self._answer_all, name="explore", daemon=True).start()

    def refusal(self, request: Request) -> Response | None:
        """Return the response that refuses a request; None if the request is allowed."""
        if request.headers.get("host", "") not in self.names:
            return _refused(403, "this page is for this machine alone: open http://127.0.0.1:...")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{name}" for name in self.names}:
            return _refused(
                403, "another page asked for this; joinproto explore answers its own page"
            )
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            navigates = request.headers.get("sec-fetch-mode") == "navigate"
            if not (navigates and request.method == "GET"):
                return _refused(403, "another page asked for this")
        given = request.path_params["token"]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return _refused(403, "the token is wrong: open the address that the command printed")
        return None

    def guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Any:
        """Return a handler that refuses a request, or answers it."""

        async def handler(request: Request) -> Response:
            return self.refusal(request) or await answer(request)

        return handler

    async def page(self, request: Request) -> Response:
        """Answer with the page, and with the answers to its first questions."""
        asked = self._ask("world", {}), self._ask("state", {"id": 0})
        begin = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_SECONDS):
                world, first = await asyncio.gather(*asked)
                begin = {"world": json.loads(world), "first": json.loads(first)}
        found = document("main", embedded(begin), kind="application/json")
        allowed = policy(style=found.style, script=found.script)
        headers = {**HEADERS, "Content-Security-Policy": allowed}
        return Response(found.text, media_type="text/html; charset=utf-8", headers=headers)

    async def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not _NAME.fullmatch(name):
            return _refused(404, "there is no such file in the page")
        file = (STATIC / name).resolve()
        if STATIC.resolve() not in file.parents or file.suffix not in KINDS or not file.is_file():
            return _refused(404, "there is no such file in the page")
        return Response(file.read_bytes(), media_type=KINDS[file.suffix], headers=HEADERS)

    async def ask(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _refused(415, "ask with JSON")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_MAX:
                return _refused(413, f"a question has {BODY_MAX} bytes at most")
        try:
            asked = json.loads(body)
            verb, arguments = str(asked["verb"]), dict(asked.get("arguments") or {})
        except (ValueError, TypeError, KeyError, RecursionError):
            return _refused(400, 'a question is {"verb": ..., "arguments": {...}}')
        try:
            found = await self._ask(verb, arguments)
        except asyncio.CancelledError:
            return _refused(503, "joinproto explore was ended before it could answer")
        return Response(found, media_type="application/json", headers=HEADERS)

    def _ask(self, verb: str, arguments: Json) -> asyncio.Future[bytes]:
        answer: Future[bytes] = Future()
        self._waiting.put((answer, verb, arguments))
        return asyncio.wrap_future(answer)

    def _answer_all(self) -> None:
        """Answer one question after another; a cancelled question is left out."""
        while True:
            answer, verb, arguments = self._waiting.get()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(json.dumps(self.answer(verb, arguments)).encode())
            except BaseException as error:  # noqa: BLE001  the request that waits must get it
                answer.set_exception(error)


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(why + "\n", status, headers=HEADERS)


@frozen
class PageServer:
    """A server with its socket.  `address`: the address for a browser, without the fragment."""

    address: str
    _server: uvicorn.Server
    _socket: socket.socket

    def run(self) -> None:
        """Serve until Ctrl-C, or until `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True


def listen(answer: Answer, *, token: str, at: TakenPort) -> PageServer:
    """Return the page's server, which listens on the port `at`."""
    page = _Page(answer, token, at.names)
    app = Starlette(
        routes=[
            Route("/{token}/ask", page.guarded(page.ask), methods=["POST"]),
            Route("/{token}/", page.guarded(page.page)),
            Route("/{token}/{name:path}", page.guarded(page.file)),
            Route("/{token}", page.guarded(page.page)),
        ]
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            loop="asyncio",
            http="h11",
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )
    return PageServer(at.address(token), server, at.socket)
