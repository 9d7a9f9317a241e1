"""Signatures of requests to AWS, version 4.

There are two sets of headers: the shipped plugin signs the time in `date`, and AWS's own examples
sign the time in `x-amz-date`.  Source: AWS, "Create a signed AWS API request"; the tests compare
with AWS's published vectors and its own signer.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Annotated

from attrs import evolve, frozen

from joinproto.codec.json_form import Key
from joinproto.discovery.exchange import Argument, Header, Request, Signing, escaped

ALGORITHM = "AWS4-HMAC-SHA256"
TIME = re.compile(r"[0-9]{8}T[0-9]{6}Z")


@frozen(kw_only=True)
class Signed:
    """A signature, and the texts from which it was computed."""

    canonical: Annotated[str, Key("canonical_request"), "the text that is hashed first"]
    to_sign: Annotated[str, Key("string_to_sign"), "the text that is signed"]
    signed_headers: Annotated[str, "the names of the signed headers, sorted"]
    signature: Annotated[str, "the signature, in hexadecimal"]
    authorization: Annotated[str, "the value of the header Authorization"]
    headers: Annotated[
        tuple[Header, ...], "all headers that are sent, in their order, Authorization last"
    ]


def host_header(request: Request) -> str:
    """Return the value of the Host header, with the port unless it is the scheme's own."""
    usual = {"http": 80, "https": 443}.get(request.scheme)
    host = f"[{request.host}]" if ":" in request.host else request.host
    return host if request.port == usual else f"{host}:{request.port}"


def shipped(request: Request, time: str, token: str | None) -> tuple[Header, ...]:
    """Return the headers that the plugin signs."""
    body = request.body.encode()
    return (
        Header("content-length", str(len(body))),
        Header("date", time),
        Header("host", host_header(request)),
        Header("x-amz-content-sha256", hashlib.sha256(body).hexdigest()),
        *((Header("x-amz-security-token", token),) if token else ()),
    )


def usual(request: Request, time: str, token: str | None) -> tuple[Header, ...]:
    """Return the headers that AWS's examples sign."""
    return (
        Header("host", host_header(request)),
        Header("x-amz-date", time),
        *((Header("x-amz-security-token", token),) if token else ()),
    )


def sign(request: Request, by: Signing, time: str, headers: tuple[Header, ...]) -> Signed:
    """Return the signature of a request with these headers and its own.

    `time`: in UTC, such as 20150830T123600Z.
    """
    together = (*headers, *request.headers)
    values: dict[str, list[str]] = {}
    for header in together:
        values.setdefault(header.name.lower(), []).append(" ".join(header.value.split()))
    names = sorted(values)
    signed_headers = ";".join(names)
    canonical = "\n".join(
        (
            request.method,
            _path(request.path),
            _query(request.arguments),
            *(f"{name}:{','.join(values[name])}" for name in names),
            "",
            signed_headers,
            hashlib.sha256(request.body.encode()).hexdigest(),
        )
    )
    scope = f"{time[:8]}/{by.region}/{by.service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"{ALGORITHM}\n{time}\n{scope}\n{digest}"
    signature = _mac(_key(by, time[:8]), to_sign).hex()
    authorization = (
        f"{ALGORITHM} Credential={by.access_key}/{scope},"
        f" SignedHeaders={signed_headers}, Signature={signature}"
    )
    return Signed(
        canonical=canonical,
        to_sign=to_sign,
        signed_headers=signed_headers,
        signature=signature,
        authorization=authorization,
        headers=(*together, Header("Authorization", authorization)),
    )


def signed(request: Request, time: str) -> Request:
    """Return the request as it is sent: with the plugin's headers, and its signature."""
    if request.signing is None:
        return request
    done = sign(request, request.signing, time, shipped(request, time, request.signing.token))
    return evolve(request, headers=done.headers, signing=None)


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _key(by: Signing, day: str) -> bytes:
    key = f"AWS4{by.secret_key}".encode()
    for text in (day, by.region, by.service, "aws4_request"):
        key = _mac(key, text)
    return key


def _query(arguments: tuple[Argument, ...]) -> str:
    pairs = sorted((escaped(one.name), escaped(one.value or "")) for one in arguments)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _path(path: str) -> str:
    """Return the path without dot segments and double slashes, encoded once more."""
    parts: list[str] = []
    for one in path.split("/"):
        if one == "..":
            del parts[-1:]
        elif one not in ("", "."):
            parts.append(one)
    whole = "/" + "/".join(parts)
    return escaped(whole + ("/" if path.endswith("/") and len(whole) > 1 else ""), "/")


DOMAINS: Mapping[str, str] = {"cn": "amazonaws.com.cn"}


def domain(region: str) -> str:
    """Return the domain of a region's services."""
    return DOMAINS.get(region.partition("-")[0], "amazonaws.com")
