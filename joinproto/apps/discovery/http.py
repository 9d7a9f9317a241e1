"""One HTTP exchange: with or without a proxy and TLS, and with a time limit.

Each request is logged at debug level with method, address and status.  Headers and bodies are never
logged, because they may have secrets.
"""

from __future__ import annotations

import logging
import ssl
import time
from datetime import UTC, datetime

import anyio
import httpx
from attrs import define, evolve, field

from joinproto.discovery.exchange import (
    Broken,
    Header,
    Refused,
    Request,
    Response,
    netloc,
)
from joinproto.discovery.proxy import Proxies, route_of
from joinproto.discovery.sigv4 import signed

log = logging.getLogger(__name__)
BODY_MAX = 8 << 20
"""The most bytes of an answer; no backend's answer is longer."""


def utc() -> str:
    """Return the present time as AWS writes it."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


@define(eq=False)
class Http:
    """An HTTP client, used with `async with`.  `tls`: None means the system's CA certificates."""

    proxies: Proxies = field(factory=Proxies)
    tls: ssl.SSLContext | None = None
    clients: dict[tuple[str, str | None], httpx.AsyncClient] = field(factory=dict)

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self.clients.values():
            await client.aclose()
        self.clients.clear()

    async def exchange(self, request: Request) -> Response | Broken:
        """Return the whole answer within the request's seconds, or the reason why there is none."""
        began = time.monotonic()
        try:
            with anyio.fail_after(request.seconds):
                got: Response | Broken = await self._sent(request)
        except TimeoutError:
            got = Broken(why=f"no whole answer within {request.seconds:g} s")
        except Refused as refused:
            got = Broken(why=refused.why)
        except UnicodeDecodeError:
            got = Broken(why="the answer is not UTF-8")
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError):
            # These errors repeat the refused value, which may be a secret.
            got = Broken(
                why="not sent: its address or a header has a character that is not allowed"
            )
        except (httpx.HTTPError, OSError) as error:
            got = Broken(why=short(error))
        got = evolve(got, took=time.monotonic() - began)
        told = got.why if isinstance(got, Broken) else f"status {got.status}"
        log.debug("%s: %s", request, told)
        return got

    async def _sent(self, request: Request) -> Response:
        found = route_of(self.proxies, request.scheme, request.host)
        client = self._client(request.scheme, found.proxy)
        url = httpx.URL(f"{request.scheme}://{netloc(request.host, request.port)}")
        asked = signed(request, utc()) if request.signing else request
        whole = httpx.Request(
            asked.method,
            url.copy_with(raw_path=asked.target.encode("ascii")),
            headers=[(one.name, one.value) for one in _headers(asked)],
            content=asked.body.encode(),
        )
        got = await client.send(whole, stream=True)
        try:
            body = bytearray()
            async for part in got.aiter_bytes():
                body += part
                if len(body) > BODY_MAX:
                    raise Refused(f"the answer is longer than {BODY_MAX} bytes")
        finally:
            await got.aclose()
        return Response(status=got.status_code, body=body.decode())

    def _client(self, scheme: str, proxy: str | None) -> httpx.AsyncClient:
        if (scheme, proxy) not in self.clients:
            # CA certificates are read for HTTPS only, because that is half of a client's cost.
            is_https = scheme == "https"
            self.clients[scheme, proxy] = httpx.AsyncClient(
                proxy=proxy,
                verify=(self.tls or ssl.create_default_context()) if is_https else False,
                trust_env=False,
                timeout=None,
                # A pooled connection may be dead, and the request would fail.
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self.clients[scheme, proxy]


def _headers(request: Request) -> tuple[Header, ...]:
    # Besides these, only the host and the length are sent.
    return (*request.headers, Header("Connection", "close"))


def short(error: Exception) -> str:
    """Return an error as one line of at most 200 characters."""
    said = " ".join((str(error) or type(error).__name__).split())
    return said if len(said) <= 200 else f"{said[:197]}..."
