"""Kinds of settings' values: the texts that the schema accepts, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from attrs import frozen


@frozen
class Kind:
    """A kind of value.

    `about`: the accepted texts, in words.  `read`: returns the value of an accepted text; raises
    `ValueError` or `KeyError` for any other text.
    """

    about: str
    read: Callable[[str], Any]


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise ValueError
    return int(text)


def whole(about: str, least: int, most: int | None = None) -> Kind:
    """Return the kind of whole numbers from `least` to `most`, both included."""

    def read(text: str) -> int:
        number = _integer(text)
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    return Kind(about, read)


def one_of(*words: str, means: dict[str, str] | None = None) -> Kind:
    """Return the kind of a choice among words; `means`: the values that some of them become."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return (means or {}).get(text, text)

    return Kind(" or ".join(words), read)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _retries(text: str) -> int | str:
    number = text if text == "unlimited" else _integer(text)
    if isinstance(number, int) and number <= 0:
        raise ValueError
    return number


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


CLASSIC, DNS = "rabbit_peer_discovery_classic_config", "rabbit_peer_discovery_dns"
AWS, K8S = "rabbit_peer_discovery_aws", "rabbit_peer_discovery_k8s"
CONSUL, ETCD = "rabbit_peer_discovery_consul", "rabbit_peer_discovery_etcd"
ALIASES = {
    "classic_config": CLASSIC,
    "classic": CLASSIC,
    "config": CLASSIC,
    "dns": DNS,
    "aws": AWS,
    "consul": CONSUL,
    "etcd": ETCD,
    "kubernetes": K8S,
    "k8s": K8S,
}

SECRET = Kind("a secret", str)
KINDS = {
    "string": Kind("a text", str),
    "atom": Kind("a text", str),
    "secret": SECRET,
    "file": Kind("the path of a file that the node can read", str),
    "pem": Kind("the path of a PEM file", str),
    "boolean": Kind("true or false", _boolean),
    "integer": Kind("a whole number", _integer),
    "positive": whole("a whole number above 0", 1),
    "non_negative": whole("a whole number from 0 on", 0),
    "byte": whole("a whole number from 0 to 255", 0, 255),
    "short": whole("a whole number from 1 to 65535", 1, 65_535),
    "port": whole("a port from 1 to 65534 (the schema takes none above)", 1, 65_534),
    "retries": Kind("unlimited, or a whole number above 0", _retries),
    "words": Kind("words with commas between them", _list),
    "backend": Kind("the name of a backend, or of a module", lambda text: ALIASES.get(text, text)),
}
"""The datatypes of the schemas, by their names in `settings.tsv`."""


@cache
def kind_of(datatype: str) -> Kind:
    """Return the kind of values of a datatype: one of `KINDS`, or `enum:WORD,WORD`."""
    if not datatype.startswith("enum:"):
        return KINDS[datatype]
    words = datatype.removeprefix("enum:").split(",")
    return one_of(*words, means={"disk": "disc"} if "disk" in words else None)
