"""A mutation: a name, and the functions, methods and tables that are replaced while it is applied.

The product has no code for this.  A table loses a case, or a pure function gives another answer,
in every module that holds it.  When the block ends, all originals are set again:

    with applied(mutation):
        ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

from attrs import define, evolve, field, frozen

from joinproto.check.packages import is_model_code
from joinproto.errors import JoinprotoError, MisuseError
from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS

O = TypeVar("O", bound=Enum)

_MISSING = object()


@define(eq=False)
class Patch:
    """The replacement of one attribute of `module`.

    `path`: the name of a function or table of the module, or CLASS.METHOD.  `make`: makes the
    replacement from the original.
    """

    module: str
    path: str
    make: Callable[[Any], Any]
    # Caches: the original with its replacement, and the modules that hold the original.  A search
    # applies a patch again for each call of a member.
    _made: tuple[Any, Any] | None = field(default=None, init=False, repr=False)
    _held: tuple[Any, int, list[Any]] | None = field(default=None, init=False, repr=False)

    @property
    def target(self) -> str:
        return f"{self.module}.{self.path}"

    def replace(self) -> Iterator[tuple[Any, str, Any]]:
        """Replace the original in every module or class that holds it.

        Yields the holder, the name and the original before each replacement.

        Raises `MisuseError` if the module has no such attribute.
        """
        owner: Any = import_module(self.module)
        *classes, name = self.path.split(".")
        for one in classes:
            owner = getattr(owner, one, None)
        # `vars` returns a property itself, and does not look into base classes.
        original = _MISSING if owner is None else vars(owner).get(name, _MISSING)
        if original is _MISSING:
            raise MisuseError(
                f"there is no {self.target} to be replaced",
                next="use the name that the code has now, or remove the mutation with its rule",
            )
        if self._made is None or self._made[0] is not original:
            self._made = original, self.make(original)
        for holder in [owner] if classes else self._holders(name, original):
            yield holder, name, original
            setattr(holder, name, self._made[1])

    def _holders(self, name: str, original: Any) -> list[Any]:
        """Return the modules that hold the original by its name: its own and all importers."""
        count = len(sys.modules)
        if self._held is None or self._held[:2] != (original, count):
            ours = (one for title, one in list(sys.modules.items()) if is_model_code(title))
            self._held = (
                original,
                count,
                [one for one in ours if vars(one).get(name) is original],
            )
        return self._held[2]


@frozen(eq=False)
class Mutation:
    """The patches that leave one rule out.  `name`: its name for `--mutant`."""

    name: str
    patches: tuple[Patch, ...]

    @classmethod
    def of(cls, name: str, module: str, path: str, make: Callable[[Any], Any]) -> Mutation:
        """Return a mutation of one patch."""
        return cls(name, (Patch(module, path, make),))

    def apply(self) -> list[tuple[Any, str, Any]]:
        """Apply all patches, and return the originals for `restore`."""
        done: list[tuple[Any, str, Any]] = []
        try:
            for patch in self.patches:
                done.extend(patch.replace())
        except JoinprotoError as error:
            restore(done)
            raise MisuseError(f"mutation {self.name}: {error.message}", next=error.next) from error
        except BaseException:
            restore(done)
            raise
        return done


def restore(done: list[tuple[Any, str, Any]]) -> None:
    for holder, name, original in reversed(done):
        setattr(holder, name, original)


_applied: list[Mutation] = []


@contextmanager
def applied(mutation: Mutation | None) -> Iterator[None]:
    """Leave the rule out in the whole process while the block runs.

    None leaves no rule out, and a block inside a block of the same mutation has no effect.
    """
    if mutation is None or mutation in _applied:
        yield
        return
    done = mutation.apply()
    _applied.append(mutation)
    try:
        yield
    finally:
        _applied.remove(mutation)
        restore(done)


def inside(mutation: Callable[[Any], Mutation | None]) -> Callable[[Any], Any]:
    """Return a decorator: a method, and each step of the iterator that it returns, runs mutated.

    `mutation`: returns the mutation of the method's object, or None.  The rule is left out only
    during a call or a step, because a search calls members with different mutations in turn.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(self: Any, *args: Any, **more: Any) -> Any:
            left_out = mutation(self)
            if left_out is None:
                return method(self, *args, **more)
            with applied(left_out):
                found = method(self, *args, **more)
            return _stepwise(left_out, found) if isinstance(found, Iterator) else found

        return call

    return decorate


def _stepwise(mutation: Mutation, found: Iterator[Any]) -> Iterator[Any]:
    while True:
        with applied(mutation):
            one = next(found, _MISSING)
        if one is _MISSING:
            return
        yield one


# -- functions ---------------------------------------------------------------------------------


def instead(replacement: Any) -> Callable[[object], Any]:
    """Return a function that replaces any original by `replacement`."""
    return lambda _original: replacement


def around(wrapper: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a function that replaces a function by `wrapper`, which gets the original first, and
    then the arguments of the call.
    """

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **more: Any) -> Any:
            return wrapper(original, *args, **more)

        return call

    return make


# -- tables ------------------------------------------------------------------------------------


def without(table: Table[O], *names: str) -> Table[O]:
    """Return the table without the cases of these names."""
    for name in names:
        _require(table, name)
    return evolve(table, cases=tuple(case for case in table.cases if case.name not in names))


def dropping(*names: str, of: object = None) -> Callable[[Any], Any]:
    """Return a function that removes these cases from a table.

    `of`: the key of the table, if the original is a mapping of several tables.
    """

    def make(original: Any) -> Any:
        if of is None:
            return without(original, *names)
        return {**original, of: without(original[of], *names)}

    return make


def with_arrows(
    machine: StateMachine[O], change: Callable[[Arrow[O]], Table[O]]
) -> StateMachine[O]:
    """Return the machine in which `change` gives each arrow its table."""
    arrows = tuple(evolve(arrow, table=change(arrow)) for arrow in machine.arrows)
    return StateMachine(machine.name, machine.phases, arrows)


def without_rule(table: Table[O], label: str) -> Table[O]:
    """Return the table without the cases of this rule; the last remaining case then always holds.

    A table whose cases are all of this rule, or none of them, stays as it is.
    """
    kept = tuple(case for case in table.cases if case.label != label)
    if len(kept) in (0, len(table.cases)):
        return table
    return evolve(table, cases=(*kept[:-1], evolve(kept[-1], condition=ALWAYS)))


def changing(table: Table[O], name: str, **changes: Any) -> Table[O]:
    """Return the table with these fields of the case of this name changed."""
    _require(table, name)
    cases: tuple[Case[O], ...] = tuple(
        evolve(case, **changes) if case.name == name else case for case in table.cases
    )
    return evolve(table, cases=cases)


def _require(table: Table[Any], name: str) -> None:
    if name not in {case.name for case in table.cases}:
        raise MisuseError(
            f"table {table.name} has no case {name!r}", next="use the name of a case of the table"
        )
