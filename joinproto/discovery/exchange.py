"""Requests to a server and its answers, as values; a flow is an exchange in steps.

A flow is a generator: it yields an effect (a request, a wait, or a look-up in DNS) and gets the
outcome; its return value is its result.  It makes all decisions and performs no effect: clients
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

    name: Annotated[str, "the name of the argument"]
    value: Annotated[str | None, "the value of the argument; null: it has only a name"] = None


@frozen
class Header:
    """One header of a request."""

    name: Annotated[str, "the name of the header"]
    value: Annotated[str, "the value of the header"]


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
    """One request to a server.  `signing`: the keys to sign it with, or None."""

    method: Annotated[str, "GET, PUT, POST or DELETE"]
    scheme: Annotated[str, "http or https"]
    host: Annotated[str, "the host of the server"]
    port: Annotated[int, "the port of the server"]
    path: Annotated[str, "the encoded path, with its first slash"]
    arguments: Annotated[tuple[Argument, ...], "the arguments in their order, not encoded"] = ()
    headers: Annotated[
        tuple[Header, ...], "the headers in their order, without Host and Content-Length"
    ] = ()
    body: Annotated[str, "the body; empty: none is sent"] = ""
    seconds: Annotated[float, "the exchange is given up after so many seconds"] = SECONDS
    signing: Signing | None = None

    @property
    def query(self) -> str:
        """Return the encoded arguments."""
        return "&".join(
            escaped(one.name) + ("" if one.value is None else f"={escaped(one.value)}")
            for one in self.arguments
        )

    @property
    def target(self) -> Annotated[str, "the path and the arguments, as they are sent"]:
        return self.path + (f"?{self.query}" if self.arguments else "")

    def __str__(self) -> str:
        return f"{self.method} {self.scheme}://{netloc(self.host, self.port)}{self.target}"


def request_to(settings: Any, method: str, path: str, **more: Any) -> Request:
    """Return a request to the server of these settings: their scheme, host and port."""
    at = {"scheme": settings.scheme, "host": settings.host, "port": settings.port}
    return Request(method=method, path=path, **at, **more)


@frozen(kw_only=True)
class Response:
    """A complete answer.  `took`: how long the exchange took, in seconds."""

    status: int
    body: str = ""
    took: float = 0.0


@frozen(kw_only=True)
class Broken:
    """An exchange without an answer, or with an incomplete answer."""

    why: str
    took: float = 0.0


@frozen
class Wait:
    """A pause between two requests."""

    seconds: Annotated[float, "the length of the pause, in seconds"]


class Kind(Enum):
    """The kind of record to look up."""

    A = "A"
    AAAA = "AAAA"
    PTR = "PTR"


@frozen
class Lookup:
    """One look-up in DNS."""

    kind: Annotated[Kind, "A, AAAA, or PTR for the name of an address"]
    name: Annotated[str, "the name; for PTR: the address"]


@frozen
class LookedUp:
    """The result of a look-up."""

    values: Annotated[tuple[str, ...], "the addresses or names, in the order of the answer"] = ()
    error: Annotated[
        str | None, "why the look-up failed; null: it did not, and `values` is complete"
    ] = None
    no_such_name: Annotated[bool, "whether the server has no record of any kind for the name"] = (
        False
    )


Effect = Request | Wait | Lookup
Event = Response | Broken | LookedUp | None
Flow = Generator[Effect, Event, R]


class Refused(Exception):
    """An exchange failed.

    `status`: the status of the answer, None if no answer came or it was incomplete.
    """

    def __init__(self, why: str, status: int | None = None, body: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.body = body


def netloc(host: str, port: int) -> str:
    """Return `host:port`, with an IPv6 host in brackets."""
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
        """Return the objects of an answer that is a list of objects."""
        return [cls(what, fitting(one, dict, what)) for one in parsed(text, list, what)]

    def get(self, name: str, kind: type[R]) -> R | None:
        """Return a field of this kind, or None if it is absent or null."""
        value = self.fields.get(name)
        return None if value is None else fitting(value, kind, f"{self.what}: {name}")

    def need(self, name: str, kind: type[R]) -> R:
        """Return a field of this kind; raises `Refused` if it is absent, null or an empty text."""
        found = self.get(name, kind)
        if found is None or found == "":
            raise Refused(f"{self.what}: the field {name} is missing or empty")
        return found

    def below(self, name: str) -> Tree:
        """Return the object in a field, or an object without fields if the field is absent."""
        return Tree(self.what, self.get(name, dict) or {})

    def each(self, name: str) -> list[Tree]:
        """Return the objects of the list in a field, or no objects if the field is absent."""
        found = self.get(name, list) or []
        return [Tree(self.what, fitting(one, dict, self.what)) for one in found]


def compact(tree: Any) -> str:
    """Return the value as JSON without blanks, with keys in their order."""
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
