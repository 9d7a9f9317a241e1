"""The codec: values as trees and back, by the types of their classes.

A *tree* is what `json` or `tomllib` return: None, booleans, numbers, texts, lists and dicts (called
objects below).  A program's tree may also have bytes.

    Codec(arrays=True).put(Ballot(3, "s1")) == [3, "s1"]
    Codec(arrays=True).take(Ballot, [3, "s1"]) == Ballot(3, "s1")

| type of a field                         | in the tree                                         |
|-----------------------------------------|-----------------------------------------------------|
| None, bool, int, float, str, bytes, Any | the value                                           |
| an enum, a `Literal`                    | its value                                           |
| tuple, list, frozenset (sorted)         | a list                                              |
| a mapping                               | an object                                           |
| `A | B`                                 | the form of A, or that of B                         |
| an attrs class                          | `arrays`: a list of its fields; else an object      |

Marks next to a type (`marks.py`) add conditions that the type cannot express.  `Codec.give` sets
the functions of a type by hand.  Otherwise they are made once, when the type is first used.

Reading converts no types except an integer to a float: the text "5" is not a number, nor is True.
It raises `Malformed` with the path to the faulty value.  A part of type `Any` has at most
`DEPTH_MAX` levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial, reduce
from itertools import pairwise
from operator import attrgetter, le, lt, or_
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from attrs import Factory, define, field, frozen

from joinproto.codec.class_form import (
    put_array,
    put_object,
    take_array,
    take_object,
)
from joinproto.codec.functions import (
    Put,
    Take,
    built,
    chained,
    conditional,
    converted,
    rounded,
    same,
    sized,
    take_any,
    take_float,
    take_int,
    take_plain,
)
from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.codec.marks import (
    AtLeast,
    Condition,
    Digits,
    MoreThan,
    Part,
    Sized,
    Written,
    arguments_of,
    mark_in,
    parts_of,
    stripped,
)

ITEMS_MAX = 1_000_000

PROGRAMS: Mapping[Any, str] = {
    **{kind: kind.__name__ for kind in (str, int, float, bool, bytes, list)},
    dict: "an object",
    None: "None",
}
"""The names of types in errors, for input that programs write and errors that developers read."""

PEOPLE: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bytes: "bytes",
    list: "a list",
    dict: "an object",
    None: "null",
}
"""The names of types in errors, for input that people write."""


@frozen
class Form:
    """The functions of a type in both directions: value to tree, and tree to value."""

    put: Put
    take: Take


@define(eq=False)
class Codec:
    """One form of values as trees.

    `arrays`: a class is a list of its fields, and a list that is read into a set must be sorted.
    `described`: a class has only its described parts (`parts_of`), with properties; otherwise all
    its fields, in the order of `orders` or of the class.  `people`: people write the trees.  Then
    an unknown key is an error, fields with a default may be left out, and all faults of an object
    are raised together.  `words`: the names of tree types in errors.  `items_max`: the most items
    of a list or object.  `int_max`: the largest absolute value of an integer; None: no limit.
    """

    arrays: bool = False
    described: bool = False
    people: bool = False
    items_max: int = ITEMS_MAX
    int_max: int | None = None
    orders: Mapping[type, Sequence[str]] = field(factory=dict)
    words: Mapping[Any, str] = Factory(
        lambda self: PEOPLE if self.people else PROGRAMS, takes_self=True
    )
    _puts: dict[Any, Put] = field(factory=dict, init=False)
    _takes: dict[Any, Take] = field(factory=dict, init=False)
    _given: set[Any] = field(factory=set, init=False)

    def put(self, value: Any) -> Any:
        """Return the tree of a value."""
        return self.put_of(type(value))(value)

    def take(self, kind: Any, tree: Any) -> Any:
        """Return the value of type `kind`; raises `Malformed` if the tree does not fit."""
        return self.take_of(kind)(tree)

    def give(self, kind: Any, put: Put = same, take: Take = same) -> None:
        """Set the functions of a type, or of one field, written as `(class, name)`."""
        self._puts[kind], self._takes[kind] = put, take
        self._given.add(kind)

    def form_of(self, kind: Any) -> Form:
        return Form(self.put_of(kind), self.take_of(kind))

    def put_of(self, kind: Any) -> Put:
        return self._puts.get(kind) or built(self._puts, kind, self._put)

    def take_of(self, kind: Any) -> Take:
        return self._takes.get(kind) or built(self._takes, kind, self._take)

    # -- value to tree ---------------------------------------------------------------------------

    def _put(self, hint: Any) -> Put:
        kind, marks = stripped(hint)
        if not marks:
            return self._put_bare(kind)
        if written := mark_in(marks, Written):
            return chained(written.put, self.put_of(written.kind))
        digits = mark_in(marks, Digits)
        return rounded(digits.digits) if digits else self.put_of(kind)

    def _put_bare(self, kind: Any) -> Put:
        origin, args = get_origin(kind) or kind, get_args(kind)
        if origin in (Union, UnionType):
            return self._put_union(args)
        if origin is Literal:
            return same
        if origin in (Any, object) or not isinstance(origin, type):
            return self.put  # Any or a type variable: by the value's own class
        if issubclass(origin, Enum):
            return attrgetter("value")
        if issubclass(origin, str | int | float | bytes | NoneType):
            return same
        if attrs.has(origin):
            return self._put_class(origin)
        if issubclass(origin, Mapping):
            return self._put_mapping(*args or (Any, Any))
        if issubclass(origin, Iterable):
            return self._put_list(args or (Any, ...), is_set=issubclass(origin, frozenset | set))
        raise TypeError(f"{kind} has no place in a tree: give it a class, or a plain type")

    def _put_union(self, args: Sequence[Any]) -> Put:
        if NoneType not in args:
            return self.put
        put = self.put_of(_without_none(args))
        return put if put is same else lambda value: None if value is None else put(value)

    def _put_list(self, args: Sequence[Any], *, is_set: bool) -> Put:
        if len(args) > 1 and args[1] is not ...:
            puts = [self.put_of(one) for one in args]
            return lambda values: [put(one) for put, one in zip(puts, values, strict=True)]
        put = self.put_of(args[0])
        if is_set:
            return lambda values: sorted(map(put, values))
        return list if put is same else lambda values: [put(one) for one in values]

    def _put_mapping(self, key: Any, item: Any) -> Put:
        put_key, put = self.put_of(key), self.put_of(item)
        if put_key is put is same:
            return dict
        return lambda values: {put_key(name): put(one) for name, one in values.items()}

    def _put_class(self, cls: type) -> Put:
        def part_of(part: Part) -> Put:
            return self._puts.get((cls, part.name)) or self.put_of(part.hint)

        parts = self._parts(cls)
        return (
            put_array(parts, part_of) if self.arrays else put_object(cls, parts, part_of, self.put)
        )

    def _parts(self, cls: type) -> Sequence[Part]:
        return parts_of(cls) if self.described else arguments_of(cls, self.orders.get(cls))

    # -- tree to value ---------------------------------------------------------------------------

    def _take(self, hint: Any) -> Take:
        kind, marks = stripped(hint)
        if not marks:
            return self._take_bare(kind)
        if written := mark_in(marks, Written):
            return converted(self.take_of(written.kind), written.take)
        take = self.take_of(kind)
        for mark in marks:
            match mark:
                case AtLeast(least):
                    take = conditional(take, partial(le, least), self._range(least))
                case MoreThan(bound):
                    take = conditional(take, partial(lt, bound), f"more than {bound}")
                case Condition(holds, expected):
                    take = conditional(take, holds, expected)
                case Sized(least, most):
                    take = sized(take, least, most)
        return take

    def _take_bare(self, kind: Any) -> Take:
        origin, args = get_origin(kind) or kind, get_args(kind)
        if origin in (Union, UnionType):
            return self._take_union(args)
        if origin is Literal:
            return self._take_word({one: one for one in args})
        if origin in (Any, object):
            return take_any
        if not isinstance(origin, type):
            raise TypeError(f"{kind} cannot be read: give it a class, or a plain type")
        if origin is NoneType:
            return self._take_word({None: None})
        if issubclass(origin, Enum):
            return self._take_word({one.value: one for one in origin})
        if origin in self.words and not args:
            return self._take_plain(origin)
        if attrs.has(origin):
            return self._take_class(origin)
        if issubclass(origin, Mapping):
            return self._take_mapping(*args or (Any, Any))
        if issubclass(origin, Iterable):
            return self._take_list(origin, args or (Any, ...))
        raise TypeError(f"{kind} has no place in a tree: give it a class, or a plain type")

    def _take_plain(self, kind: type) -> Take:
        word, most = self.words[kind], self.int_max
        if kind is int and most is not None:
            return take_int(word, -most, most, self._range(-most))
        return take_float(word) if kind is float else take_plain(kind, word)

    def _range(self, least: int) -> str:
        if self.people:
            return f"a number from {least} on"
        return f"at least {least}" + (f", at most {self.int_max}" if self.int_max else "")

    def _take_word(self, words: Mapping[Any, Any]) -> Take:
        kinds = {type(word) for word in words}
        shown = (
            f'"{word}"' if self.people and isinstance(word, str) else f"{word}" for word in words
        )
        expected = ("one of " if self.people else "") + ", ".join(shown)

        def take(found: Any) -> Any:
            if type(found) not in kinds or found not in words:
                raise Malformed("", found, expected)
            return words[found]

        return take

    def _take_union(self, args: Sequence[Any]) -> Take:
        if NoneType not in args:
            return self._take_either(args)
        take = self.take_of(_without_none(args))
        or_none = f" or {self.words[None]}"

        def optional(found: Any) -> Any:
            if found is None:
                return None
            try:
                return take(found)
            except Malformed as error:
                if not error.what:
                    error.expected += or_none
                raise

        return optional

    def _take_either(self, kinds: Sequence[Any]) -> Take:
        takes = {form: self.take_of(one) for one in kinds for form in self._trees_of(one)}
        expected = " or ".join(dict.fromkeys(self.words[form] for form in takes))

        def either(found: Any) -> Any:
            take = takes.get(type(found))
            if take is None:
                raise Malformed("", found, expected)
            return take(found)

        return either

    def _trees_of(self, hint: Any) -> tuple[type, ...]:
        """Return the types of the trees of `hint`; a union's types must have different ones."""
        kind, marks = stripped(hint)
        if written := mark_in(marks, Written):
            return self._trees_of(written.kind)
        origin = get_origin(kind) or kind
        if origin is Literal:
            return tuple({type(one) for one in get_args(kind)})
        if issubclass(origin, Enum):
            return tuple({type(one.value) for one in origin})
        if origin in self.words:
            return (float, int) if origin is float else (origin,)
        is_object = issubclass(origin, Mapping) or (attrs.has(origin) and not self.arrays)
        return (dict,) if is_object else (list,)

    def _take_list(self, origin: type, args: Sequence[Any]) -> Take:
        word, most, is_set = self.words[list], self.items_max, issubclass(origin, frozenset | set)
        made: Callable[[list[Any]], Any] = origin if origin in (list, frozenset, set) else tuple
        fixed = len(args) > 1 and args[1] is not ...
        takes = [self.take_of(one) for one in (args if fixed else args[:1])]
        is_sorted = is_set and self.arrays

        def take(found: Any) -> Any:
            if not isinstance(found, list | tuple):
                raise Malformed("", found, word)
            if fixed and len(found) != len(takes):
                raise Malformed("", Verbatim(f"{len(found)} items"), f"{len(takes)} items")
            if len(found) > most:
                raise Malformed("", Verbatim(f"{len(found)} items"), f"at most {most} items")
            values = []
            try:
                for one, inner in zip(found, takes if fixed else takes * len(found), strict=True):
                    values.append(inner(one))
            except Malformed as error:
                error.within(f"[{len(values)}]")
                raise
            if is_sorted and not all(one < other for one, other in pairwise(found)):
                said = Verbatim("unsorted or repeated items")
                raise Malformed("", said, "each item once, sorted")
            return made(values)

        return take

    def _take_mapping(self, key: Any, item: Any) -> Take:
        word, most = self.words[dict], self.items_max
        take_key, take_item = self.take_of(key), self.take_of(item)
        is_text = key is str and str not in self._given  # every key of a tree is a text

        def take(found: Any) -> dict[Any, Any]:
            if not isinstance(found, dict):
                raise Malformed("", found, word)
            if len(found) > most:
                raise Malformed("", Verbatim(f"{len(found)} keys"), f"at most {most} keys")
            values = {}
            for name, one in found.items():
                try:
                    values[name if is_text else take_key(name)] = take_item(one)
                except Malformed as error:
                    error.within(str(name))
                    raise
            return values

        return take

    def _take_class(self, cls: type) -> Take:
        def part_of(part: Part) -> Take:
            return self._takes.get((cls, part.name)) or self.take_of(part.hint)

        parts = [part for part in self._parts(cls) if part.argument]
        if self.arrays:
            return take_array(cls, parts, part_of, word=self.words[list])
        return take_object(cls, parts, part_of, people=self.people)


def _without_none(kinds: Sequence[Any]) -> Any:
    return reduce(or_, [one for one in kinds if one is not NoneType])
