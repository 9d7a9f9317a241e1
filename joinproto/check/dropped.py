"""Mistakes in a model that no state would show, so they are refused.

Each of them could make a claim true for a reason that its author did not intend.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from joinproto.check.events import EFFECTS, NOT_ENABLED, Persist, Record
from joinproto.check.shared import names_in

if TYPE_CHECKING:
    from joinproto.check.member_objects import MemberObjects
    from joinproto.check.problems import ModelProblem


ITEMS_MAX = 100_000
"""A step with more effects, or a state with more choices, is taken for an endless loop."""

_EFFECTS_OR_MORE = (*EFFECTS, GeneratorType)


def with_return(answer: Iterable[Any], last: list[Any]) -> Iterator[Any]:
    """Yield the items of `answer`; then `last` holds a generator's return value, or None."""
    returned: Any = None
    if isinstance(answer, Generator):
        returned = yield from answer
    else:
        yield from answer
    last.append(returned)


def are_effects(value: Any) -> bool:
    """Return whether a value is an effect, or holds some."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, EFFECTS) for item in value)
    return isinstance(value, _EFFECTS_OR_MORE)


def is_taken(objects: MemberObjects, last: list[Any], done: Sequence[Any], what: str) -> bool:
    """Return whether the step is possible; `last`: holds the return value of a generator.

    `done`: the effects that it yielded.  Raises `ModelProblem` if it returns effects, which would
    be ignored, or NOT_ENABLED after effects.
    """
    value = last[0] if last else None
    if value is None:
        return True
    # A generator that another one uses by `yield from` may return any value.
    if value is not NOT_ENABLED and not are_effects(value):
        return True
    if value is NOT_ENABLED and not done:
        return False
    found, wanted = f"{what} yields, and then returns {value!r}", "yield it, or `yield from` it"
    if value is NOT_ENABLED:
        found = f"{what} yields effects, and then returns NOT_ENABLED"
        wanted = "return NOT_ENABLED before the first effect, or not at all"
    raise objects.problem(found, next=wanted, method=what)


def require_effects(objects: MemberObjects, answer: Any, what: str) -> None:
    """Raise `ModelProblem` for a value that `receive` or `start` must not return."""
    if type(answer) in (GeneratorType, list, tuple):
        return
    refuse_text(objects, answer, what)
    if isinstance(answer, Coroutine):
        answer.close()
        raise objects.problem(
            f"{what} is an async function", next="write def without async", method=what
        )
    if not isinstance(answer, Iterable):
        raise objects.problem(
            f"{what} returned {answer!r}",
            next="return effects, None or NOT_ENABLED; one effect in a list",
            method=what,
            place=_place_of_return(objects, answer, what),
        )


def refuse_text(objects: MemberObjects, answer: Any, what: str) -> None:
    """Raise `ModelProblem` for a text where effects are expected."""
    # A text is iterable: it would be read letter by letter.
    if isinstance(answer, (str, bytes)):
        raise objects.problem(
            f"{what} returned the text {answer!r}",
            next="return effects, None or NOT_ENABLED: [Broadcast(...)] sends it",
            method=what,
            place=_place_of_return(objects, answer, what),
        )


def _place_of_return(objects: MemberObjects, answer: Any, what: str) -> str:
    """Return file:line of the only `return` that looks like `answer`; "" if none or several do."""
    method = getattr(getattr(objects, "kind", None), what.removesuffix("()"), None)
    with suppress(OSError, TypeError, SyntaxError):
        assert method is not None
        lines, first = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        found = [
            first + node.lineno - 1
            for node in ast.walk(tree)
            if isinstance(node, ast.Return) and _is_written_as(node.value, answer)
        ]
        if len(found) == 1:
            return f"{inspect.getfile(method)}:{found[0]}"
    return ""


def _is_written_as(code: ast.expr | None, answer: Any) -> bool:
    match code:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return bool(name == type(answer).__name__)
        case ast.Constant(value=value):
            return bool(value == answer)
    return False


def too_many(objects: MemberObjects, what: str, of: str) -> ModelProblem:
    """Return the problem of a loop that yields too many items; `of`: the kind of the items."""
    wanted = "let the loop end: bound the values that it iterates over"
    return objects.problem(f"{what} yields more than {ITEMS_MAX:,} {of}", next=wanted, method=what)


def wrong_effect(effect: Any) -> tuple[str, str]:
    """Return the error of a value that cannot be performed, and the advice."""
    match effect:
        case Persist():
            return (
                "Persist() has no effect: the member has no durable attribute",
                'name the attributes that survive a crash in its class: persistent = ("term",)',
            )
        case Record():
            return (
                f"{effect!r} has no receiver: the world has no monitor",
                "give it one, World(monitor=...), or leave Record out",
            )
    if isinstance(effect, type) and issubclass(effect, EFFECTS):
        return f"{effect.__name__} is a class, not an effect", f"write {effect.__name__}(...)"
    return f"{effect!r} is not an effect", "yield Send, Broadcast, Persist, Record or Rule"


def misspelt_name(kind: type, wanted: Iterable[str]) -> tuple[str, str] | None:
    """Return a misspelt name in a member's class, and the name of `wanted` that is meant, or None.

    Methods that the class itself uses are not reported.
    """
    own = {
        name: value
        for base in kind.__mro__
        if base is not object
        for name, value in vars(base).items()
        if not name.startswith("_")
    }
    used: set[str] | None = None
    for name, value in own.items():
        for other in wanted:
            is_method = inspect.isfunction(value)
            if other in own or is_method is (other == "persistent") or not _is_near(name, other):
                continue
            if is_method and used is None:
                used = set(_used_in(own.values()))
            if not is_method or name not in (used or ()):
                return name, other
    return None


def _is_near(name: str, other: str) -> bool:
    # Their letters rule out most names, without loading the library.
    if abs(len(name) - len(other)) > 2 or len(set(name) ^ set(other)) > 2:
        return False
    from difflib import SequenceMatcher  # here, because it is rarely needed and slow to load

    return SequenceMatcher(None, name, other).ratio() >= 0.85


def _used_in(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if inspect.isfunction(inner):
            yield from names_in(inner.__code__)
