"""The older form of the configuration, in Erlang terms, as lines with the keys of rabbitmq.conf.

    [{rabbit, [{cluster_formation, [{peer_discovery_backend, rabbit_peer_discovery_consul},
                                    {peer_discovery_consul, [{consul_host, "consul.example"}]}]}]}].

`advanced.config` has this form, too.  No schema looks at it: what nobody reads is not refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joinproto.codec.erlang_terms import (
    Atom,
    Binary,
    List,
    NotTerms,
    Number,
    Term,
    Text,
    Tuple,
    read_terms,
)
from joinproto.discovery.conf import Line, NotRead

PREFIX = "cluster_formation"
APPLICATION = "rabbit"
_BLANK = re.compile(rb"(?:\s|%[^\n]*(?:\n|$))*")

NAMES = {
    "aws_autoscaling": "use_autoscaling_group",
    "aws_ec2_region": "region",
    "aws_access_key": "access_key_id",
    "aws_ec2_tags": "instance_tags",
    "etcd_prefix": "key_prefix",
    "cleanup_interval": "interval",
    "cleanup_only_log_warning": "only_log_warning",
}
"""Names of the terms that are not those of the keys with the backend before them."""


def is_classic(raw: bytes) -> bool:
    """Return whether a file begins as a list of Erlang: a key never begins with a bracket."""
    found = _BLANK.match(raw)
    return raw[found.end() if found else 0 :][:1] == b"["


def read(raw: bytes) -> tuple[list[Line], list[NotRead]]:
    """Return the settings of discovery as lines, and what is not as it must be."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        why = f"byte {error.start + 1} of the file is not UTF-8"
        return [], [NotRead(number, "", why, "save the file as UTF-8")]
    try:
        terms = read_terms(text)
    except (NotTerms, RecursionError) as error:
        line = error.line if isinstance(error, NotTerms) else 1
        found = error.found if isinstance(error, NotTerms) else "brackets in brackets"
        write = error.write if isinstance(error, NotTerms) else "fewer"
        return [], [NotRead(line, "", f"not Erlang terms: {found}", f"write {write}")]
    wrong: list[NotRead] = []
    if not terms.ended:
        wrong.append(
            NotRead(terms.line, "", "the last term has no full stop", "write . behind the last ]")
        )
    if len(terms.all) != 1 or not isinstance(terms.all[0], List):
        why = "the file is not one list of applications"
        wrong.append(
            NotRead(terms.all[0].line if terms.all else 1, "", why, "write [{rabbit, [...]}].")
        )
        return [], wrong
    lines = []
    for name, value, _ in _pairs(terms.all[0]):
        if name == APPLICATION:
            lines += list(_of_rabbit(value))
    return lines, wrong


def _of_rabbit(settings: Term) -> Iterator[Line]:
    for name, value, _ in _pairs(settings):
        if name == "cluster_nodes":
            nodes = value.items[0] if isinstance(value, Tuple) and value.items else value
            for at, one in enumerate(nodes.items if isinstance(nodes, List) else (), 1):
                yield _line(one.line, f"classic_config.nodes.{at}", _text(one))
        elif name == PREFIX:
            for inner, told, at in _pairs(value):
                yield from _setting(inner, told, at)


def _setting(name: str, value: Term, line: int) -> Iterator[Line]:
    backend = name.removeprefix("peer_discovery_")
    if name == "randomized_startup_delay_range" and isinstance(value, Tuple):
        for label, one in zip(("min", "max"), value.items, strict=False):
            yield _line(one.line, f"{name}.{label}", _text(one))
    elif isinstance(value, List) and (backend != name or name in ("node_cleanup", "proxy")):
        for inner, told, at in _pairs(value):
            short = NAMES.get(inner, inner.removeprefix(f"{backend}_"))
            yield from _of_backend(f"{backend}.{short}", told, at)
    else:
        yield _line(line, name, _text(value))


def _of_backend(key: str, value: Term, line: int) -> Iterator[Line]:
    if not isinstance(value, List):
        yield _line(line, key, _text(value))
        return
    pairs = list(_pairs(value))
    for label, told, at in pairs:
        yield _line(at, f"{key}.{_word(label)}", _text(told))
    if not pairs:
        for number, one in enumerate(value.items, 1):
            yield _line(one.line, f"{key}.{number}", _text(one))


def _pairs(term: Term) -> Iterator[tuple[str, Term, int]]:
    for one in term.items if isinstance(term, List) else ():
        if isinstance(one, Tuple) and len(one.items) == 2:
            yield _text(one.items[0]), one.items[1], one.line


def _word(label: str) -> str:
    return label.replace(".", r"\.")


def _line(number: int, key: str, value: str) -> Line:
    return Line(number, f"{PREFIX}.{key}", value, is_term=True)


def _text(term: Term) -> str:
    match term:
        case Atom(name):
            return name
        case Text(text) | Binary(text):
            return text
        case Number(value):
            return str(value)
    return str(term)
