"""Questions about configs alone: `clusterer.read` and `clusterer.compare`.

Source: Clusterer, U1 and U2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.question import Answer, Question, question
from joinproto.clusterer.config import Age, Held, compare
from joinproto.clusterer.reading import Form, NotConfig, Release, of_json, read
from joinproto.clusterer.writing import as_json
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit

CONFIG = (
    'a config: {"version": 1, "nodes": {"a": "disc", "b": "ram"}, "gospel": {"node": "a"} or'
    ' "reset", "shutdown_timeout": 30 or "infinity"}; it may have `node_ids` (node to identity)'
)
RELEASE = Annotated[Release, "seed: shutdown_timeout is required; head: it has no meaning"]
ONE = {
    "version": 1,
    "nodes": {"a": "disc", "b": "ram"},
    "gospel": {"node": "a"},
    "shutdown_timeout": 30,
}


def config_at(place: str, value: Mapping[str, Any], release: Release) -> Held:
    """Return the config of a question; raises `DoesNotFit` with the path of the field at fault."""
    try:
        return of_json(value, release)
    except NotConfig as error:
        path = f"{place}.{error.place}" if error.place else place
        raise DoesNotFit(path, error.found, next=f"write {error.write}") from None


def config_or_none(place: str, value: Mapping[str, Any] | None, release: Release) -> Held | None:
    """Return the config of a question, None for None; raises `DoesNotFit`, like `config_at`."""
    return None if value is None else config_at(place, value, release)


@frozen(kw_only=True)
class Fault:
    """The first error of a config file, in the documented order of checks."""

    line: Annotated[int, AtLeast(1), "the line of the error"]
    key: Annotated[str, "the key at fault, with the element's number; empty: the whole config"]
    found: Annotated[str, "the text or value that was found there"]
    write: Annotated[str, "the text or value to write instead"]


@frozen(kw_only=True)
class ReadAnswer(Answer):
    """The config that was read from a file, or the file's first error."""

    config: Annotated[Mapping[str, Any] | None, "the config as JSON; null: the file is not valid"]
    node_ids: Annotated[Mapping[str, str], "the nodes' identities, which a stored config has"]
    error: Annotated[Fault | None, "the first error; null: the file is valid"]
    note: Annotated[
        str | None, "what the real Clusterer would refuse or ignore; null: it would read all of it"
    ]


@question(
    "clusterer.read",
    "A config file.",
    text='[{version, 1}, {nodes, ["a"]}, {gospel, reset}, {shutdown_timeout, 0}].',
)
def answer_read(
    *,
    text: Annotated[str, "the content of the file"],
    form: Annotated[Form | None, "the form of the text; null: guessed from the text"] = None,
    release: RELEASE = Release.SEED,
) -> ReadAnswer:
    """A config file, Erlang terms or TOML, as JSON; or its first error."""
    try:
        found = read(text, form, release)
    except NotConfig as error:
        fault = Fault(line=error.line, key=error.place, found=error.found, write=error.write)
        return ReadAnswer(
            config=None, node_ids={}, error=fault, note=None, rule="U2", why=str(error)
        )
    return ReadAnswer(
        config=as_json(found.held.config),
        node_ids=dict(found.held.ids.pairs),
        error=None,
        note=found.note or None,
        rule="U2",
        why=f"a valid config: {found.held.config}",
    )


@frozen(kw_only=True)
class CompareAnswer(Answer):
    """How config `a` compares with config `b`."""

    result: Annotated[Age, "the age of `a`, compared with `b`"]
    differs: Annotated[tuple[str, ...], "the keys in which the configs differ"]


@question(
    "clusterer.compare", "Two configs; identities do not count.", a={**ONE, "version": 2}, b=ONE
)
def answer_compare(
    *,
    a: Annotated[Mapping[str, Any], CONFIG],
    b: Annotated[Mapping[str, Any], "another config, in the same form"],
    release: RELEASE = Release.SEED,
) -> CompareAnswer:
    """Whether one config is younger than another, older, coeval, or contradicts it."""
    one = config_at("a", a, release).config
    other = config_at("b", b, release).config
    return compared(one, other)


def compared(one: Any, other: Any) -> CompareAnswer:
    """Return how one config compares with another, with the reason."""
    shown, others = as_json(one), as_json(other)
    differs = tuple(key for key in shown if shown[key] != others.get(key))
    age = compare(one, other)
    why = {
        Age.COEVAL: "the content is the same",
        Age.YOUNGER: f"version {one.version} is higher than {other.version}",
        Age.OLDER: f"version {one.version} is lower than {other.version}",
        Age.INVALID: f"both configs have version {one.version}, but {' and '.join(differs)}"
        f" {'differs' if len(differs) == 1 else 'differ'}",
    }
    return CompareAnswer(result=age, differs=differs, rule="U1", why=why[age])


CONFIG_QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_read,
    answer_compare,
)
