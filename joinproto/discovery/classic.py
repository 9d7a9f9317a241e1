"""Reading the older form of the configuration, in Erlang terms, as lines of rabbitmq.conf.

    [{rabbit, [{cluster_formation, [{peer_discovery_backend, rabbit_peer_discovery_consul},
                                    {peer_discovery_consul, [{consul_host, "consul.example"}]}]}]}].

`advanced.config` has this form, too.  No schema checks this form: a name that the code does not
read is not refused, and a value reaches the code as it is written.  The code reads the names to
which the schema of rabbitmq.conf translates its keys.
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
from joinproto.discovery.keys import PREFIX, SETTINGS, Setting, setting_of
from joinproto.errors import nearest

APPLICATION = "rabbit"
ALONE = {"lock_acquisition_failure_mode"}
"""Names that the code reads and for which rabbitmq.conf has no key."""
_BLANK = re.compile(rb"(?:\s|%[^\n]*(?:\n|$))*")


def _names() -> dict[str, Setting]:
    """Return the settings by the names that the code reads, without the application's name."""
    found = {one.term.removeprefix(f"{APPLICATION}."): one for one in SETTINGS}
    # The schema writes this setting under two names; the code reads the second.
    one = found.pop(f"{PREFIX}.peer_discovery_consul.include_nodes_with_warnings")
    return found | {f"{PREFIX}.peer_discovery_consul.consul_include_nodes_with_warnings": one}


NAMES = _names()


def is_classic(raw: bytes) -> bool:
    """Return whether a file begins with an Erlang list; a key never begins with a bracket."""
    found = _BLANK.match(raw)
    return raw[found.end() if found else 0 :][:1] == b"["


def read(raw: bytes) -> tuple[list[Line], list[NotRead]]:
    """Return the settings of discovery as lines, and the errors."""
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
        found = error.found if isinstance(error, NotTerms) else "brackets are nested too deeply"
        write = error.write if isinstance(error, NotTerms) else "fewer levels of brackets"
        return [], [NotRead(line, "", f"not Erlang terms: {found}", f"write {write}")]
    wrong: list[NotRead] = []
    if not terms.ended:
        wrong.append(
            NotRead(terms.line, "", "the last term has no full stop", "write . after the last ]")
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
    for name, value, line in _pairs(settings):
        if name == "cluster_nodes":
            nodes = value.items[0] if isinstance(value, Tuple) and value.items else value
            for at, one in enumerate(nodes.items if isinstance(nodes, List) else (), 1):
                yield _line(one.line, f"{PREFIX}.classic_config.nodes.{at}", _text(one))
            if isinstance(value, Tuple) and len(value.items) == 2:
                kind = value.items[1]
                yield _line(kind.line, f"{PREFIX}.node_type", _text(kind))
        elif name == PREFIX or name in NAMES:
            yield from _below(name, value, line)


def _below(path: str, value: Term, line: int) -> Iterator[Line]:
    """Yield the settings at a name and below it."""
    name = path.removeprefix(f"{PREFIX}.")
    setting = NAMES.get(path)
    pairs = list(_pairs(value))
    if name == "randomized_startup_delay_range" and isinstance(value, Tuple):
        for label, one in zip(("min", "max"), value.items, strict=False):
            yield _line(one.line, f"{path}.{label}", _text(one))
    elif setting is not None and setting.key.endswith(".$") and isinstance(value, List):
        numbered = [(str(number), one, one.line) for number, one in enumerate(value.items, 1)]
        for label, one, at in pairs or numbered:
            yield _line(at, setting.key.removesuffix("$") + label.replace(".", r"\."), _text(one))
    elif setting is not None:
        yield _line(line, setting.key, _text(value))
    elif pairs and (path == PREFIX or any(known.startswith(f"{path}.") for known in NAMES)):
        for inner, told, at in pairs:
            yield from _below(f"{path}.{inner}", told, at)
    elif name not in ALONE and path != PREFIX:
        backend, _, last = name.removeprefix("peer_discovery_").rpartition(".")
        short = f"{backend}." * bool(backend) + last.removeprefix(f"{backend}_")
        # A key of rabbitmq.conf is not a name here, so it is reported as it is written.
        known = setting_of((PREFIX, *short.split("."))) is not None
        yield _line(line, path if known else f"{PREFIX}.{short}", _text(value))


def _pairs(term: Term) -> Iterator[tuple[str, Term, int]]:
    for one in term.items if isinstance(term, List) else ():
        if isinstance(one, Tuple) and len(one.items) == 2:
            yield _text(one.items[0]), one.items[1], one.line


def _line(number: int, key: str, value: str) -> Line:
    return Line(number, key, value, is_term=True)


def _text(term: Term) -> str:
    match term:
        case Atom(name):
            return name
        case Text(text) | Binary(text):
            return text
        case Number(value):
            return str(value)
    return str(term)


def nearest_term(key: str) -> str | None:
    """Return the nearest name that the code reads, or None if no name is near.

    Lists of backends are `peer_discovery_NAME`, and most of their members `NAME_MEMBER`.
    """
    path = key.removeprefix(f"{PREFIX}.")
    backend, _, last = path.removeprefix("peer_discovery_").partition(".")
    names = {name.removeprefix(f"{PREFIX}."): one for name, one in NAMES.items()}
    inside = f"peer_discovery_{backend}."
    members = {name.removeprefix(inside): one for name, one in names.items() if inside in name}
    if not members:
        return nearest(path, tuple(names), cutoff=0.8)
    if not last:
        one = next((name for name in members if "host" in name), next(iter(members)))
        return f"{inside[:-1]}, with {one} and so on in it"
    last = last.removeprefix(f"{backend}_")
    by_key = {one.short.removeprefix(f"{backend}."): name for name, one in members.items()}
    found = by_key.get(last) or nearest(f"{backend}_{last}", tuple(members), cutoff=0.8)
    return f"{found} in {inside[:-1]}" if found else None
