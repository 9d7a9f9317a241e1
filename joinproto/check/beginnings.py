"""The initial states of runs.  A run begins in one of them, without a step.

A beginning sets some attributes of some members when they are made; all other attributes are as
`World.members` makes them.  Then the members start, if the world begins with its members up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from joinproto.check.problems import ModelProblem

Beginning = Mapping[str, Mapping[str, Any]]
"""Member to attribute to value."""

BEGINNINGS_MAX = 1_000_000
"""More beginnings are taken for a mistake: Python makes each of them."""


def any_of(choices: Mapping[str, Mapping[str, Any]]) -> tuple[Beginning, ...]:
    """Return one beginning for each choice of a value for each attribute.

    `choices`: member to attribute to its values: `any_of({"p1": {"x": range(3)}})` returns three
    beginnings.  Raises `ModelProblem` for an argument of another form, and for more beginnings
    than a million.
    """
    places: list[tuple[str, str]] = []
    values: list[tuple[Any, ...]] = []
    count = 1
    for member, attributes in choices.items():
        if not isinstance(attributes, Mapping):
            raise ModelProblem(
                f"any_of() has {attributes!r} for {member!r}",
                next='expected a dict of attribute to values: {"x": range(3)}',
            )
        for name, offered in attributes.items():
            if isinstance(offered, (str, bytes)) or not hasattr(offered, "__iter__"):
                raise ModelProblem(
                    f"any_of() has {offered!r} for {member}.{name}",
                    next=f"give a list of its values: [{offered!r}]",
                )
            places.append((member, name))
            values.append(tuple(offered))
            count *= len(values[-1])
    if count > BEGINNINGS_MAX:
        raise ModelProblem(
            f"any_of() has {count:,} beginnings", next=f"give at most {BEGINNINGS_MAX:,}"
        )
    found = []
    for chosen in product(*values):
        beginning: dict[str, dict[str, Any]] = {}
        for (member, name), value in zip(places, chosen, strict=True):
            beginning.setdefault(member, {})[name] = value
        found.append(beginning)
    return tuple(found)


def unsound_beginnings(beginnings: Any, members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pairs of text: a value of the wrong kind, and the expected one."""
    if not isinstance(beginnings, (list, tuple)):
        yield f"beginnings is {beginnings!r}", "a list of beginnings, or any_of(...)"
        return
    wanted = 'a dict of member to attribute to value: {"p1": {"x": 0}}'
    if not beginnings:
        yield "beginnings is empty", "at least one beginning, or a world without `beginnings`"
    for one in beginnings:
        if not isinstance(one, Mapping):
            yield f"a beginning is {one!r}", wanted
            return
        for name, attributes in one.items():
            if name not in members:
                yield f"a beginning names {name!r}, which is not a member", wanted
                return
            if not isinstance(attributes, Mapping):
                yield f"a beginning has {attributes!r} for {name}", wanted
                return
