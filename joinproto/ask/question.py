"""A question: its name, its input, its output, and the function that answers.

The input has the function's parameters, and the output is the function's return value, often a
value of the system itself:

    @question("reconcile.target", argument=3)
    def answer_target(target: Target, *, variant: WHOSE = Variant.OURS) -> Wanted:

A parameter with a description is one key.  A parameter without a description is an attrs class,
whose keys stand next to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, Generic, NoReturn, ParamSpec, TypeVar, get_origin, get_type_hints

import attrs
from attrs import frozen

from joinproto.codec.json_form import Last, Written
from joinproto.codec.strict import DoesNotFit

P = ParamSpec("P")
A = TypeVar("A")
C = TypeVar("C")

Rule = Annotated[str, Last(7), "the rule that decided"]
Why = Annotated[str, Last(9), "the reason, in a sentence"]


def _name(value: Any) -> str | None:
    return None if value is None else str(value.name)


def _refuse_to_read(name: str) -> NoReturn:
    raise ValueError(f"{name}: this field is only written, and cannot be read")


NAME = Written(str | None, _name, _refuse_to_read)
"""Mark of a field that is written as its value's `name`; null if there is no value."""
Named = Annotated[C, Written(str, _name, _refuse_to_read), Last(8)]
"""A case of a table, which is written as its name, after the rule."""


@frozen(kw_only=True)
class Answer:
    """An answer with the rule that decided and the reason; they stand last."""

    rule: Rule
    why: Why


class ByCase:
    """A value with the field `case`, the case of a table, whose label is the rule that decided."""

    __slots__ = ()
    case: Any

    @property
    def rule(self) -> Rule:
        """Return the label of the case."""
        return str(self.case.label)


@frozen(kw_only=True)
class Question(Generic[P, A]):
    """A named question.  `asks` and `answers`: the attrs classes of its input and its answer.

    `about`: its line in the list of questions.  `answer`: takes a value of `asks`, and returns a
    value of `answers`.  `example`: an input, as JSON.  Calling the question calls `function`.
    """

    name: str
    about: str
    asks: type[Any]
    answers: type[A]
    answer: Callable[[Any], A]
    function: Callable[P, A]
    example: Mapping[str, Any]

    def __call__(self, *args: P.args, **fields: P.kwargs) -> A:
        return self.function(*args, **fields)


def question(
    name: str, asks: str = "", /, **example: Any
) -> Callable[[Callable[P, A]], Question[P, A]]:
    """Return a decorator that makes a question of the function that answers it.

    The function's docstring is the question's line in the list.  `asks`: the input in words; empty
    if the only parameter is the input, whose class has a docstring.
    """

    def decorate(function: Callable[P, A]) -> Question[P, A]:
        hints = get_type_hints(function, include_extras=True)
        answers = hints.pop("return")
        answer: Callable[..., A] = function
        kind = next(iter(hints.values()))
        if asks:
            kind, answer = _class_of(function, hints)
            kind.__doc__ = asks
        return Question(
            name=name,
            about=function.__doc__ or "",
            asks=kind,
            answers=answers,
            answer=answer,
            function=function,
            example=example,
        )

    return decorate


def _class_of(
    function: Callable[..., A], hints: Mapping[str, Any]
) -> tuple[type[Any], Callable[[Any], A]]:
    """Return a class with a function's parameters, and a function of one value of that class."""
    defaults = {one.name: one.default for one in signature(function).parameters.values()}
    bases = {name: hint for name, hint in hints.items() if get_origin(hint) is not Annotated}
    own = {name: hint for name, hint in hints.items() if name not in bases}
    fields = {
        name: attrs.field(type=hint)
        if defaults[name] is Parameter.empty
        else attrs.field(type=hint, default=defaults[name])
        for name, hint in own.items()
    }
    kind = attrs.make_class(
        function.__name__, fields, bases=(*bases.values(),) or (object,), frozen=True, kw_only=True
    )

    def answer(value: Any) -> A:
        parts = {name: _base_value(base, value) for name, base in bases.items()}
        return function(**parts, **{name: getattr(value, name) for name in own})

    return kind, answer


def _base_value(base: type[Any], value: Any) -> Any:
    """Return the fields of `value` that `base` has, as a value of `base`."""
    names = [one for one in attrs.fields(base) if one.init]
    return base(**{one.alias: getattr(value, one.name) for one in names})


def refuse_twice(
    place: str, names: list[str], what: str = "is there twice", next: str = "name each once"
) -> None:
    """Raise `DoesNotFit` if `names`, the list at `place` in the input, has a name twice.

    `what`, `next`: the words of the error after the name, and the next step.
    """
    for at, name in enumerate(names):
        if name in names[:at]:
            raise DoesNotFit(f"{place}[{at}]", f"{name!r} {what}", next=next)
