"""Evaluation of claims on observations: an error in a claim is reported with its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from itertools import permutations
from typing import Any

from joinproto.check.freeze import freeze
from joinproto.check.hints import CLAIMS, is_about_arguments
from joinproto.check.problems import ModelProblem, place_of, raised_at
from joinproto.check.properties import Property
from joinproto.check.view import DOWN, NoMember, View
from joinproto.check.watchdog import WATCH

_OF_STATES = "return an answer for every state; stopped members show DOWN (see view.up)"
_OF_STEPS = (
    "return an answer for every step: the claim takes the view before, the step (its action,"
    " member and event) and the view after; stopped members show DOWN (see view.up)"
)

_NO_MONITOR = (
    "view.monitor is None: the world has no monitor, or its monitor shows None;"
    " give the world one, World(monitor=...), or let its shows() return a value"
)


ASKED_TWICE = 50
"""How many of the first questions to each function of a claim are put twice."""

_question_counts: dict[tuple[str, int], tuple[Any, int]] = {}


def _is_due(item: Property, call: Callable[..., Any]) -> bool:
    """Count a question, and return whether it is put twice."""
    func = getattr(call, "__func__", call)
    known, count = _question_counts.get((item.name, id(func)), (None, 0))
    if known is not func:
        count = 0
        if len(_question_counts) >= 1_000:
            _question_counts.clear()
    if count < ASKED_TWICE:
        _question_counts[item.name, id(func)] = func, count + 1
    return count < ASKED_TWICE


def _refuse_two_answers(item: Property, call: Callable[..., Any]) -> None:
    raise ModelProblem(
        f"property {item.name!r} gives two answers to one question",
        next="compute the answer from the arguments alone: no memory, no clock, no randomness",
        place=place_of(call),
    )


def ask(item: Property, call: Callable[..., Any], *shown: Any) -> bool:
    """Return the answer of `call`, which is the claim or a part of it, such as its premise."""
    what = f"property {item.name!r}"
    hint = _OF_STEPS if item.scope == "step" else _OF_STATES
    # A part of a claim always takes the view.
    takes = CLAIMS[item.scope if call is item.holds else "world"]
    answer = guard(what, lambda: call(*shown), hint=hint, takes=takes)
    found = answer if type(answer) is bool else bool_answer(what, call, answer)
    if _is_due(item, call) and bool(guard(what, lambda: call(*shown), hint=hint)) is not found:
        _refuse_two_answers(item, call)
    return found


def part_of(item: Property, part: Callable[[Any], Any], shown: Any) -> Hashable:
    """Return the part of an observation that a claim is about, frozen."""
    what = f"property {item.name!r}, the part that it is about,"
    found: Hashable = guard(what, lambda: freeze(part(shown)))
    return found


def ask_each(
    item: Property,
    call: Callable[..., Any],
    shown: Iterable[tuple[Any, ...]],
    *,
    until: bool | None = None,
) -> list[bool]:
    """Return the answer of `call`, a claim or its function of parts, to each item of `shown`.

    An item of `shown` is a tuple of arguments.  Stops after the first answer `until`.
    """
    what, answers = f"property {item.name!r}", []

    def ask_all() -> None:
        is_due = True
        for one in shown:
            WATCH.go_on()
            answer = call(*one)
            answers.append(answer if type(answer) is bool else bool_answer(what, call, answer))
            is_due = is_due and _is_due(item, call)
            if is_due and bool(call(*one)) is not answers[-1]:
                _refuse_two_answers(item, call)
            if answers[-1] is until:
                break

    guard(what, ask_all, takes=CLAIMS[item.scope])
    return answers


def asked_of(item: Property, view: View) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Yield the questions to a claim about states in one view: the members, and the arguments."""
    if item.scope == "world":
        yield (), (view,)
    elif item.scope == "monitor":
        yield (), (view.monitor,)
    else:
        here = [name for name in item.among or view if view[name] is not DOWN]
        beside = (view.monitor,) if item.scope == "beside" else ()
        for names in permutations(here, 2 if item.scope == "pair" else 1):
            yield names, (*(view[name] for name in names), *beside)


def ask_of_view(item: Property, view: View) -> bool:
    """Return the verdict of a claim about states on one view."""
    until = item.kind == "sometimes"
    shown = (arguments for _, arguments in asked_of(item, view))
    return (until in ask_each(item, item.holds, shown, until=until)) is until


def is_within(within: Callable[[View], Any], view: View) -> bool:
    """Return the answer of a world's `within`."""
    return bool_answer("within(view)", within, guard("within(view)", lambda: within(view)))


def bool_answer(what: str, call: Callable[..., Any], answer: Any) -> bool:
    """Return a claim's answer as a bool; raises `ModelProblem` if it is likely a mistake."""
    match answer:
        case None:
            found = "answered None, which is neither yes nor no"
            wanted = "return True or False in every case; a function without `return` returns None"
        case str():
            found = f"answered with the text {answer!r}, which is neither yes nor no"
            wanted = 'compare the text; for two texts write x in ("a", "b"), not x == "a" or "b"'
        case _ if callable(answer) or isinstance(answer, (Iterator, Awaitable)):
            found = f"answered with {answer!r}, which is always true"
            wanted = "return True or False: call it, or use all(...) or any(...) of its items"
        case bool(), str():
            found = f"answered with the pair {answer!r}, which is always true"
            wanted = "return the first item alone; the claim's name is its message"
        case _:
            return bool(answer)
    raise ModelProblem(f"{what} {found}", next=wanted, place=place_of(call))


def guard(what: str, call: Callable[[], Any], *, hint: str = _OF_STATES, takes: str = "") -> Any:
    """Return the result of `call`; its exceptions become a `ModelProblem` with a hint.

    `takes`: the hint for a function that does not take the arguments of the call.
    """
    try:
        return WATCH.run(what, call)
    except ModelProblem:
        raise
    except Exception as error:
        message = f"{what} raised {type(error).__name__}: {error}"
        if isinstance(error, NoMember):
            message, hint = f"{what} asks for {error.name!r}, which is not a member", error.next
        elif "NoneType" in str(error) and "monitor" in _names_used_by(error):
            hint = _NO_MONITOR
        elif takes and is_about_arguments(error):
            hint = takes
        elif isinstance(error, AttributeError) and error.name and isinstance(error.obj, View):
            hint = f"a member's observation is an item of the view: view[{error.name!r}]"
        elif isinstance(error, TypeError) and "'ShownAttributes'" in str(error):
            hint = "a member without shows() shows an object with its attributes: write shown.NAME"
        elif isinstance(error, AttributeError) and error.name and error.obj is not DOWN:
            kind = type(error.obj).__name__
            hint = f"a {kind} has no {error.name!r}: let shows() return an object that has it"
        raise ModelProblem(message, next=hint, place=raised_at(error)) from error


def _names_used_by(error: Exception) -> tuple[str, ...]:
    """Return the names of attributes and globals used in the function that raised `error`."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return () if at is None else at.tb_frame.f_code.co_names
