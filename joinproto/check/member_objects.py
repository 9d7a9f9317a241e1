"""A member's objects: how they are made from values, how their values are read, and their errors.

Calls of a member's class go through `MemberObjects.guarded` or report exceptions by `raised`, so
that the modeller gets them with their place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NoReturn

from joinproto.check.attributes import attributes, is_in_dict, parts_getter
from joinproto.check.determinism import NEXT, between_values
from joinproto.check.freeze import freeze, freeze_all, thaw_all
from joinproto.check.hints import hint, is_about_arguments
from joinproto.check.local import DiskBecomes, LocalState, Outcome
from joinproto.check.problems import ModelProblem, raised_at
from joinproto.check.watchdog import WATCH

OPTIONAL = ("choices", "start", "shows", "story", "horizon", "offline")
"""Methods that a member need not have."""

_MAKING = "making the member"
_ANSWERS = "a member answers every event it can get; NOT_ENABLED where it has no such step"
_MADE = "its function takes no argument and returns a new object with receive(self, event)"
_SELF = "its parameters are: receive(self, event), offline(self, event), of all others self alone"
_A_FUNCTION = "hold a function of the module, or its name; __init__ makes a new function each time"
_IN_EVERY_STATE = "it must answer in every state; set every attribute in __init__"


class MemberObjects:
    """The class of the member `name`, as `make` makes it; `calls` counts calls of its methods.

    `names`: its attributes; `persistent`: the durable ones; `fresh`, `empty`: the values of all,
    and of the durable ones, in a new object; `shares_disk`: whether another attribute of a new
    object, or another new object, refers to the same object as a durable attribute.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.make = make
        self.calls = 0
        fresh = self.guarded(_MAKING, make)
        self.kind = type(fresh)
        if not callable(getattr(fresh, "receive", None)):
            raise self.problem(
                f"{self.kind.__qualname__} has no method receive(event)",
                next="write it: it changes the member and returns effects",
            )
        self.names = attributes(fresh)
        persistent = getattr(fresh, "persistent", ())
        if isinstance(persistent, str):
            raise self.problem(
                f"persistent is the text {persistent!r}", next=f"write ({persistent!r},)"
            )
        self.persistent = tuple(persistent)
        for item in self.persistent:
            if item not in self.names:
                raise self.problem(
                    f"persistent names {item!r}, which is not an attribute",
                    next=f"attributes are {', '.join(self.names) or 'none'}",
                )
        self.values_of, self._disk_of = parts_getter(self.names), parts_getter(self.persistent)
        for name in OPTIONAL:
            if isinstance(getattr(self.kind, name, None), property):
                raise self.problem(f"{name} is a property", next=f"make it a method: {name}()")
        self._methods = {name for name in OPTIONAL if callable(getattr(fresh, name, None))}
        self._plain = not hasattr(fresh, "__dict__")
        # The names of the attributes if all are in the object's __dict__, or else None.
        self._in_dict = frozenset(self.names) if is_in_dict(fresh, self.names) else None
        self.fresh = made = self.values(fresh)
        self.empty = self.disk(fresh)
        self._shared = self._make_again(fresh, made)
        self.shares_disk = bool(self.persistent) and (
            self.values(self.stopped(self.empty)) != made
            or any(self.names[at] in self.persistent for at in self._shared)
        )

    @property
    def shares_class(self) -> bool:
        """Whether new objects of the class, or attributes of one of them, share a container."""
        return bool(self._shared) or self.shares_disk

    def has(self, method: str) -> bool:
        """Return whether the member has this method of `OPTIONAL`."""
        return method in self._methods

    def _make_again(self, fresh: Any, made: tuple[Hashable, ...]) -> tuple[int, ...]:
        """Make another object; return the places of attributes with the same container in both."""
        again = self.guarded(_MAKING, self.make)
        if again is fresh:
            raise self.problem(
                "making it gives the same object each time",
                next=f"make a new one each time: lambda: {self.kind.__qualname__}(...)",
                method="__init__",
            )
        found = between_values(self.names, made, self.values(again))
        if found:
            raise self.problem(
                f"{self.kind.__qualname__} is made twice, and {found}",
                next=_A_FUNCTION if "<function " in found else NEXT,
                method="__init__",
            )
        held = [(getattr(fresh, name), getattr(again, name)) for name in self.names]
        return tuple(
            at
            for at, (one, other) in enumerate(held)
            if one is other and isinstance(one, (list, dict, set))
        )

    def refuse_shared(self, before: tuple[Hashable, ...], after: tuple[Hashable, ...]) -> None:
        """Raise `ModelProblem` for a step that changes state shared by all objects of the class."""
        for at in self._shared:
            if before[at] != after[at]:
                raise self.problem(
                    f"attribute {self.names[at]!r} is changed by a step, and is one and the same"
                    f" object in every {self.kind.__qualname__} that is made",
                    next="make it anew in __init__; a default argument is made only once",
                    method="__init__",
                )

    def refuse_change(
        self, member: Any, before: tuple[Hashable, ...], what: str, wanted: str, method: str
    ) -> None:
        """Raise `ModelProblem` if a question changed the member: no state would show the change."""
        after = self.values(member)
        if after != before:
            found = between_values(self.names, before, after, ("before", "after"))
            raise self.problem(f"{what} the member: {found}", next=wanted, method=method)

    def faulty_disk(self, local: LocalState, fault: DiskBecomes) -> tuple[Outcome] | None:
        """Return the outcome of a fault of a stopped member's disk, or None without a change."""
        for name in (*fault.keeps, *dict(fault.values)):
            if name not in self.persistent:
                raise self.problem(
                    f"a fault of the disk is about {name!r}, which is not durable",
                    next=f"durable attributes are {', '.join(self.persistent) or 'none'}",
                )
        held = dict(zip(self.persistent, local.disk, strict=True))
        if fault.blank:
            first = zip(self.persistent, self.empty, strict=True)
            held |= {name: value for name, value in first if name not in fault.keeps}
        held |= {name: freeze(value) for name, value in fault.values}
        after = tuple(held.values())
        if after == local.disk:
            return None
        return (Outcome(LocalState(False, (), after, local.ended)),)

    # -- objects and values ------------------------------------------------------------

    def values(self, member: Any) -> tuple[Hashable, ...]:
        """Return the attributes of an object, frozen, in the order of `names`."""
        if not self._plain and (self._in_dict is None or member.__dict__.keys() != self._in_dict):
            extra = set(attributes(member)) ^ set(self.names)
            if extra:
                raise self._comes_or_goes(min(extra))
        return self._frozen(member, self.names, self.values_of)

    def disk(self, member: Any) -> tuple[Hashable, ...]:
        """Return the durable attributes of an object, frozen, in the order of `persistent`."""
        return self._frozen(member, self.persistent, self._disk_of)

    def _frozen(
        self, member: Any, names: tuple[str, ...], values_of: Callable[[Any], tuple[Any, ...]]
    ) -> tuple[Hashable, ...]:
        try:
            return freeze_all(values_of(member))
        except (AttributeError, ModelProblem, RecursionError):
            for name in names:
                self._refuse_attribute(member, name)
            raise

    def _refuse_attribute(self, member: Any, name: str) -> None:
        try:
            freeze(getattr(member, name))
        except AttributeError as error:
            raise self._comes_or_goes(name) from error
        except ModelProblem as problem:
            raise self.problem(
                f"attribute {name!r}: {problem.message}", next=problem.next
            ) from problem
        except RecursionError as error:
            raise self.problem(
                f"attribute {name!r} holds itself, or is nested too deeply",
                next="hold flat values",
            ) from error

    def running(self, values: tuple[Hashable, ...], *, backwards: bool = False) -> Any:
        """Return an object with these attributes."""
        member = object.__new__(self.kind)
        held = zip(self.names, thaw_all(values, backwards=backwards), strict=True)
        if self._in_dict is not None:
            member.__dict__.update(held)
            return member
        put = object.__setattr__
        for name, value in held:
            put(member, name, value)
        return member

    def stopped(self, disk: tuple[Hashable, ...], *, backwards: bool = False) -> Any:
        """Return a new object with its durable attributes from `disk`."""
        member = self.guarded(_MAKING, self.make)
        values = thaw_all(disk, backwards=backwards)
        for name, value in zip(self.persistent, values, strict=True):
            object.__setattr__(member, name, value)
        return member

    # -- problems ----------------------------------------------------------------------

    def guarded(self, what: str, call: Callable[[], Any]) -> Any:
        """Return the result of `call`; any exception becomes a `ModelProblem`."""
        try:
            return WATCH.run(f"member {self.name}: {what}", call)
        except ModelProblem:
            raise
        except Exception as error:  # noqa: BLE001  reported to the modeller, with its place
            self.raised(error, what)

    def raised(self, error: Exception, what: str, event: str = "") -> NoReturn:
        """Raise the problem that the member's code raised `error` at `event`."""
        at = f" (event {event})" if event else ""
        place, otherwise = raised_at(error), _ANSWERS if event else _IN_EVERY_STATE
        if not place and is_about_arguments(error):
            otherwise = _MADE if what == _MAKING else _SELF
        raise ModelProblem(
            f"member {self.name}: {what} raised {type(error).__name__}: {error}{at}",
            next=hint(error, otherwise),
            place=place,
            member=self.name,
        ) from error

    def _comes_or_goes(self, name: str) -> ModelProblem:
        return self.problem(
            f"attribute {name!r} comes or goes while the member runs",
            next="set every attribute in __init__",
        )

    def value(
        self, value: Any, what: str, frozen_by: Callable[[Any], Hashable] = freeze
    ) -> Hashable:
        """Return `value` frozen; `what` names its origin."""
        try:
            return frozen_by(value)
        except ModelProblem as problem:
            raise self.problem(
                f"{what}: {problem.message}", next=problem.next, method=what
            ) from problem

    def problem(
        self, message: str, *, next: str = "", method: str = "receive", place: str = ""
    ) -> ModelProblem:
        """Return the member's problem at `place`, or else where `method` or `receive` begins."""
        kind = getattr(self, "kind", None)
        for name in (method.removesuffix("()"), "receive"):
            code = getattr(getattr(kind, name, None), "__code__", None)
            # A method that attrs generated is in no file.
            if code is not None and not place and not code.co_filename.startswith("<"):
                place = f"{code.co_filename}:{code.co_firstlineno}"
        return ModelProblem(
            f"member {self.name}: {message}", next=next, place=place, member=self.name
        )
