"""Reading a config from Erlang terms, TOML or JSON values, with errors in their documented order.

All three forms become terms (`joinproto/codec/erlang_terms.py`) first, so that one set of checks
reads them.  An error names the line, the value found there, and a valid value.

Source: Clusterer, U2; the order of checks of the real Clusterer: the form, missing keys, version,
nodes, gospel, shutdown_timeout, node_ids.  Last, only in ours, come unknown keys, then elements
that are no pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from attrs import frozen

from joinproto.clusterer.config import INFINITY, Config, Held, Notes
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

KINDS = {"disc": "disc", "disk": "disc", "ram": "ram"}


class Release(Enum):
    """The release of the Clusterer: only `seed` has shutdown_timeout and the status pending."""

    SEED = "seed"
    HEAD = "head"


class Form(Enum):
    """The written form of a config."""

    ERLANG = "erlang"
    TOML = "toml"


KEYS = {
    Release.SEED: ("version", "nodes", "gospel", "shutdown_timeout"),
    Release.HEAD: ("version", "nodes", "gospel"),
}


ALL_KEYS = (*KEYS[Release.SEED], "node_ids", "node_id", "since")
"""All known keys; the last three are in stored configs."""
NAME_MAX = 255
"""A name has at most this many characters, like an Erlang atom."""


class NotConfig(Exception):
    """A config is not valid.

    `found`: the value in the line; `write`: the value to write instead; `place`: the key, with the
    element's number.
    """

    def __init__(self, line: int, found: str, write: str, place: str = "") -> None:
        super().__init__(f"line {line}: {found}; write {write}")
        self.line, self.found, self.write, self.place = line, found, write, place


@frozen
class Read:
    """A config that was read.

    `own`: the identity of the node that stored it, or None; `note`: warnings, or "".
    """

    held: Held
    own: str | None = None
    note: str = ""


def read(text: str, form: Form | None = None, release: Release = Release.SEED) -> Read:
    """Return the config of a file; raises `NotConfig`.  `form` None: guess the form."""
    if (form or guessed(text)) is Form.TOML:
        return checked(_toml(text), release)
    try:
        found = read_terms(text)
    except NotTerms as error:
        raise NotConfig(error.line, error.found, error.write) from None
    if len(found.all) != 1:
        at = found.all[1].line if found.all else 1
        many = f"{len(found.all)} terms" if found.all else "nothing"
        raise NotConfig(at, many, "one list of {key, value} tuples, then a full stop")
    note = "" if found.ended else f"line {found.line}: write a full stop after the last bracket"
    return checked(found.all[0], release, note)


def guessed(text: str) -> Form:
    """Return the form of a text: TOML begins with a key and `=`, or with a table's name alone."""
    stripped = re.sub(r"\A(?:\s+|[%#][^\n]*)*", "", text)
    toml = re.match(r"""(?:[\w-]+|"[^"\n]*")(?:\s*\.\s*[\w-]+)*\s*=|\[\s*["\w.-]+\s*\]\s*$""",
                    stripped, re.MULTILINE)  # fmt: skip
    return Form.TOML if toml else Form.ERLANG


def of_json(value: Any, release: Release = Release.SEED) -> Held:
    """Return the config of JSON values, with its `node_ids`; raises `NotConfig`."""
    return checked(_term(value, lambda _: 1), release).held


def checked(term: Term, release: Release, note: str = "") -> Read:
    """Return the config that a term describes; raises `NotConfig` for the first error."""
    if not isinstance(term, List):
        raise NotConfig(term.line, str(term), "a list: [{version, 1}, {nodes, [...]}, ...]")
    there: dict[str, Term] = {}
    notes, others = [note] if note else [], list[Term]()
    for item in term.items:
        match item:
            case Tuple((Atom(key), found)) if key not in there:
                there[key] = found
            case Tuple((Atom(key), _)):
                notes.append(
                    f"line {item.line}: {Atom(key)} is here once more; the first one counts"
                )
            case _:
                others.append(item)
    missing = [key for key in KEYS[release] if key not in there]
    if missing:
        example = {"version": "{version, 1}", "nodes": "{nodes, [rabbit@hostA]}",
                   "gospel": "{gospel, {node, rabbit@hostA}}",
                   "shutdown_timeout": "{shutdown_timeout, infinity}"}  # fmt: skip
        more = ", ".join(example[key] for key in missing)
        raise NotConfig(term.line, f"no {', '.join(missing)}", more, missing[0])
    version = _version(there["version"])
    disc, ram = _nodes(there["nodes"])
    gospel = _gospel(there["gospel"], disc | ram)
    timeout = _timeout(there["shutdown_timeout"]) if release is Release.SEED else None
    ids = _ids(there.get("node_ids"))
    own = there.get("node_id")
    for name, found in there.items():
        if name not in ALL_KEYS:
            known = ", ".join(KEYS[release])
            raise NotConfig(found.line, f"unknown key {Atom(name)}", f"one of {known}", name)
    for item in others:
        raise NotConfig(
            item.line,
            f"{item}, which is no {{key, value}}",
            "a tuple {key, value}, or remove the element",
        )
    if "shutdown_timeout" in there and release is Release.HEAD:
        line = there["shutdown_timeout"].line
        notes.append(f"line {line}: shutdown_timeout is ignored, this release does not have it")
    return Read(
        Held(Config(version, disc, ram, gospel, timeout), ids, _since(there.get("since"))),
        own.text if isinstance(own, Binary | Text) else None,
        "\n  ".join(notes),
    )


def _version(found: Term) -> int:
    if isinstance(found, Number) and isinstance(found.value, int) and found.value >= 0:
        return found.value
    raise NotConfig(
        found.line, f"version is {found}", "an integer from 1 on (a blank node has 0)", "version"
    )


def _nodes(found: Term) -> tuple[frozenset[str], frozenset[str]]:
    if not isinstance(found, List):
        raise NotConfig(
            found.line, f"nodes is {found}", "a list: [rabbit@hostA, {rabbit@hostB, ram}]", "nodes"
        )
    names: list[str] = []
    kinds: list[str] = []
    for at, item in enumerate(found.items):
        match item:
            case Atom(name):
                names.append(name)
                kinds.append("disc")
            case Tuple((Atom(name), Atom(kind))) if kind in KINDS:
                names.append(name)
                kinds.append(KINDS[kind])
            case _:
                raise NotConfig(item.line, f"nodes has {item}", _for_node(item), f"nodes[{at}]")
        if len(names[-1]) > NAME_MAX:
            raise NotConfig(
                item.line, f"nodes has a name of {len(names[-1])} characters",
                f"at most {NAME_MAX}", f"nodes[{at}]",
            )  # fmt: skip
    if "disc" in kinds:
        seen = set[str]()
        for at, name in enumerate(names):
            if name in seen:
                line, shown = found.items[at].line, Atom(name)
                raise NotConfig(
                    line, f"nodes has {shown} more than once", f"{shown} once", f"nodes[{at}]"
                )
            seen.add(name)
    elif names:
        first = Atom(names[0])
        raise NotConfig(
            found.line, f"nodes has ram nodes only: {found}",
            f"at least one disc node, such as {first} or {{{first}, disc}}", "nodes",
        )  # fmt: skip
    of = dict(zip(names, kinds, strict=True))
    return (
        frozenset(name for name, kind in of.items() if kind == "disc"),
        frozenset(name for name, kind in of.items() if kind == "ram"),
    )


def _for_node(item: Term) -> str:
    """Return the text to write instead of an element of `nodes` that is no node."""
    match item:
        case Text(text) if text:
            return f"the name without double quotes: {Atom(text)}"
        case Tuple((Text(text), Atom(kind))) if kind in KINDS:
            return f"the name without double quotes: {{{Atom(text)}, {kind}}}"
        case Tuple((Atom(name), Atom(kind))) if "@" not in kind:
            return f"{{{Atom(name)}, disc}} or {{{Atom(name)}, ram}}"
        case List(items) | Tuple(items) if len(items) > 1 and all(map(_is_node, items)):
            flat = ", ".join(map(str, items))
            return f"its nodes as elements of the outer list, without inner brackets: [{flat}]"
        case Tuple((Atom(name), *_)):
            return f"{Atom(name)}, {{{Atom(name)}, disc}} or {{{Atom(name)}, ram}}"
    return "a name, {name, disc} or {name, ram}"


def _is_node(item: Term) -> bool:
    match item:
        case Atom() | Tuple((Atom(), Atom("disc" | "disk" | "ram"))):
            return True
    return False


def _gospel(found: Term, nodes: frozenset[str]) -> str | None:
    match found:
        case Atom("reset"):
            return None
        case Tuple((Atom("node"), Atom(name))) if name in nodes:
            return name
        case Tuple((Atom("node"), Text(name))) if name in nodes:
            raise NotConfig(
                found.line, f"gospel names {Text(name)}, a text",
                f"the name without double quotes: {Atom(name)}", "gospel",
            )  # fmt: skip
        case Tuple((Atom("node"), named)):
            known = ", ".join(str(Atom(name)) for name in sorted(nodes))
            write = f"one of the nodes: {known}" if known else "reset, because there are no nodes"
            text = f"gospel names {named}, which is not among nodes"
            raise NotConfig(found.line, text, write, "gospel")
    raise NotConfig(found.line, f"gospel is {found}", "reset or {node, NAME}", "gospel")


def _timeout(found: Term) -> int | str:
    match found:
        case Atom("infinity"):
            return INFINITY
        case Number(value) if isinstance(value, int) and value >= 0:
            return value
    raise NotConfig(
        found.line, f"shutdown_timeout is {found}", "infinity, or seconds as an integer from 0 on",
        "shutdown_timeout",
    )  # fmt: skip


def _ids(found: Term | None) -> Notes[str]:
    if found is None:
        return Notes()
    if not isinstance(found, List):
        raise NotConfig(found.line, f"node_ids is {found}", "a list, or remove the key", "node_ids")
    known: dict[str, str] = {}
    for item in found.items:
        match item:
            case Tuple((Atom(name), Binary(text) | Text(text) | Atom(text))):
                known[name] = text
    return Notes.of(known)


def _since(found: Term | None) -> Notes[int]:
    """Return the versions since which nodes are members, which only our nodes store."""
    known: dict[str, int] = {}
    for item in found.items if isinstance(found, List) else ():
        match item:
            case Tuple((Atom(name), Number(version))) if isinstance(version, int):
                known[name] = version
    return Notes.of(known)


# -- TOML and JSON, as terms ---------------------------------------------------------------


def _toml(text: str) -> Term:
    import tomllib  # inside: a world of nodes reads no file

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        line = re.search(r"line (\d+)", said)
        last = text.rstrip().count("\n") + 1
        raise NotConfig(
            int(line[1]) if line else last, f"not a TOML file: {said}", "key = value"
        ) from None
    except RecursionError:
        raise NotConfig(1, "brackets are nested too deeply", "fewer levels of brackets") from None
    except ValueError:
        raise NotConfig(1, "a number has thousands of digits", "a smaller number") from None
    lines = text.splitlines()

    def line_of(word: str) -> int:
        named = re.compile(rf"""^\s*\[?\s*["']?{re.escape(word)}["']?\s*[\]=.]""")
        return next((at for at, line in enumerate(lines, 1) if named.match(line)), 1)

    return _term(found, line_of)


def _term(value: Any, line_of: Callable[[str], int]) -> Term:
    """Return the term of a config in TOML or JSON values.  `line_of`: the line of a key."""
    if not isinstance(value, Mapping):
        return _plain(value, 1)
    return List(tuple(_pairs(value, line_of)))


def _pairs(value: Mapping[str, Any], line_of: Callable[[str], int]) -> Iterator[Term]:
    for key, given in value.items():
        line = line_of(key)
        if key in ("nodes", "node_ids") and isinstance(given, Mapping):
            inner: Term = List(
                tuple(
                    Tuple((Atom(name), _plain(kind, line_of(name))), line=line_of(name))
                    for name, kind in given.items()
                ),
                line=line,
            )
        elif key == "gospel" and isinstance(given, Mapping) and set(given) == {"node"}:
            inner = Tuple((Atom("node"), _plain(given["node"], line)), line=line)
        elif key == "nodes" and isinstance(given, list):
            inner = List(tuple(_node(one, line) for one in given), line=line)
        else:
            inner = _plain(given, line)
        yield Tuple((Atom(key, line=line), inner), line=line)


def _node(given: Any, line: int) -> Term:
    if isinstance(given, list) and len(given) == 2:
        return Tuple(tuple(_plain(one, line) for one in given), line=line)
    return _plain(given, line)


def _plain(given: Any, line: int) -> Term:
    match given:
        case bool() | None:
            return Atom("null" if given is None else str(given).lower(), line=line)
        case int() | float():
            return Number(given, line=line)
        case str():
            return Atom(given, line=line)
        case list():
            return List(tuple(_plain(one, line) for one in given), line=line)
        case Mapping():
            pairs = (Tuple((Atom(key), _plain(one, line)), line=line) for key, one in given.items())
            return List(tuple(pairs), line=line)
    return Text(str(given), line=line)
