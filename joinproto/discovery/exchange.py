"""Requests to a server and its answers, as values; a flow is an exchange in steps.

A flow is a generator: it yields an effect (a request, a wait, or a look-up in DNS) and gets the
outcome; its return value is its result.  It decides everything and performs nothing: clients
perform the effects, and a test or a question plays the server.  Source: discovery, D1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from enum import Enum
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from attrs import frozen

from joinproto.discovery.answers import Failed

P = ParamSpec("P")
R = TypeVar("R")
Scheme = Literal["http", "https"]
SECONDS = 5.0
"""The usual limit of one exchange, from the connection to the last byte."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def escaped(text: str, also: str = "") -> str:
    """Return the text in percent-encoding (RFC 3986); `also`: further characters that stay."""
    plain = _PLAIN | frozenset(also.encode())
    return "".join(chr(one) if one in plain else f"%{one:02X}" for one in text.encode())


@frozen
class Argument:
    """One argument of a request, before it is encoded."""

    name: Annotated[str, "its name"]
    value: Annotated[str | None, "its value; null: the name stands alone"] = None


@frozen
class Header:
    """One header."""

    name: Annotated[str, "its name"]
    value: Annotated[str, "its value"]


@frozen(kw_only=True)
class Signing:
    """The keys with which a request to AWS is signed when it is sent."""

    access_key: str
    secret_key: str
    region: str
    service: str
    token: str | None = None


@frozen(kw_only=True)
class Request:
    """One request.  `path` is encoded already."""

    method: Annotated[str, "GET, PUT, POST or DELETE"]
    scheme: Annotated[str, "http or https"]
    host: Annotated[str, "the server"]
    port: Annotated[int, "its port"]
    path: Annotated[str, "encoded, with its first slash"]
    arguments: Annotated[tuple[Argument, ...], "in their order, not encoded"] = ()
    headers: Annotated[tuple[Header, ...], "besides Host and Content-Length, in their order"] = ()
    body: Annotated[str, "what is sent; empty: nothing"] = ""
    seconds: Annotated[float, "after which the exchange is given up"] = SECONDS
    signing: Signing | None = None

    @property
    def query(self) -> str:
        """Return the encoded arguments."""
        return "&".join(
            escaped(one.name) + ("" if one.value is None else f"={escaped(one.value)}")
            for one in self.arguments
        )

    @property
    def target(self) -> Annotated[str, "path and arguments as they are sent"]:
        return self.path + (f"?{self.query}" if self.arguments else "")

    def __str__(self) -> str:
        return f"{self.method} {self.scheme}://{netloc(self.host, self.port)}{self.target}"


def request_to(settings: Any, method: str, path: str, **more: Any) -> Request:
    """Return a request to the server of these settings: their scheme, host and port."""
    at = {"scheme": settings.scheme, "host": settings.host, "port": settings.port}
    return Request(method=method, path=path, **at, **more)


@frozen(kw_only=True)
class Response:
    """A complete answer.  `took`: seconds from the beginning of the exchange."""

    status: int
    body: str = ""
    took: float = 0.0


@frozen(kw_only=True)
class Broken:
    """No answer came, or an incomplete one."""

    why: str
    took: float = 0.0


@frozen
class Wait:
    """Go on after this many seconds."""

    seconds: Annotated[float, "until the next request"]


class Kind(Enum):
    """The kind of record to look up."""

    A = "A"
    AAAA = "AAAA"
    PTR = "PTR"


@frozen
class Lookup:
    """One look-up.  `name`: of a PTR the address itself."""

    kind: Annotated[Kind, "A, AAAA, or PTR for the name of an address"]
    name: Annotated[str, "the name; of PTR: the address"]


@frozen
class LookedUp:
    """The result of a look-up.  `error`: the reason of a failure; None if `values` is complete."""

    values: Annotated[tuple[str, ...], "in the order of the answer"] = ()
    error: Annotated[str | None, "why nothing is known; null: these are all"] = None
    no_such_name: Annotated[bool, "the server knows no such name, of any kind"] = False


Effect = Request | Wait | Lookup
Event = Response | Broken | LookedUp | None
Flow = Generator[Effect, Event, R]


class Refused(Exception):
    """An exchange failed; `status`: of the answer, None if none came or it was incomplete."""

    def __init__(self, why: str, status: int | None = None, body: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.body = body


def netloc(host: str, port: int) -> str:
    """Return host and port in the form of an address, an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def arguments(*pairs: tuple[str, str | None]) -> tuple[Argument, ...]:
    """Return arguments in this order."""
    return tuple(Argument(name, value) for name, value in pairs)


def asked(request: Request, *, ok: Iterable[int] = (200,)) -> Flow[Response]:
    """Yield one request, and return its answer; raises `Refused` unless its status is `ok`."""
    got = yield request
    if isinstance(got, Broken):
        raise Refused(f"{request}: {got.why}")
    assert isinstance(got, Response), got
    if got.status not in ok:
        raise Refused(f"{request}: status {got.status}", got.status, got.body)
    return got


def looked_up(lookup: Lookup) -> Flow[LookedUp]:
    """Yield one look-up, and return its result."""
    got = yield lookup
    assert isinstance(got, LookedUp), got
    return got


def failing(flow: Callable[P, Flow[R]]) -> Callable[P, Flow[R | Failed]]:
    """Return a flow that returns `Failed` when `flow` raises `Refused`."""

    @wraps(flow)
    def whole(*args: P.args, **more: P.kwargs) -> Flow[R | Failed]:
        try:
            return (yield from flow(*args, **more))
        except Refused as refused:
            return Failed(refused.why)

    return whole


# -- reading answers ---------------------------------------------------------------------


def parsed(text: str, kind: type[R], what: str) -> R:
    """Return the value of a JSON text, which must be of this kind; raises `Refused` otherwise."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(f"{what}: the answer is not JSON") from None
    return fitting(tree, kind, what)


def fitting(value: Any, kind: type[R], what: str) -> R:
    """Return the value if it is of this kind; raises `Refused` otherwise."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Refused(f"{what}: expected {_KINDS.get(kind, kind.__name__)} in the answer")
    return value


_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


@frozen
class Tree:
    """A JSON object in an answer; `what`: the answer, in words.

    All methods raise `Refused` for a field of another kind than they expect.
    """

    what: str
    fields: dict[str, Any]

    @classmethod
    def read(cls, text: str, what: str) -> Tree:
        """Return the object that an answer consists of."""
        return cls(what, parsed(text, dict, what))

    @classmethod
    def read_list(cls, text: str, what: str) -> list[Tree]:
        """Return the objects of an answer that is a list of them."""
        return [cls(what, fitting(one, dict, what)) for one in parsed(text, list, what)]

    def get(self, name: str, kind: type[R]) -> R | None:
        """Return a field of this kind, None where it is absent or null."""
        value = self.fields.get(name)
        return None if value is None else fitting(value, kind, f"{self.what}: {name}")

    def need(self, name: str, kind: type[R]) -> R:
        """Return a field of this kind; raises `Refused` if it is absent, null or an empty text."""
        found = self.get(name, kind)
        if found is None or found == "":
            raise Refused(f"{self.what}: an answer without {name}")
        return found

    def below(self, name: str) -> Tree:
        """Return the object in a field, an object without fields if it is absent."""
        return Tree(self.what, self.get(name, dict) or {})

    def each(self, name: str) -> list[Tree]:
        """Return the objects of the list in a field, none if the field is absent."""
        found = self.get(name, list) or []
        return [Tree(self.what, fitting(one, dict, self.what)) for one in found]


def compact(tree: Any) -> str:
    """Return JSON without blanks; keys in their order."""
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
