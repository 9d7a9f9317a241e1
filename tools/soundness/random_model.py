"""Random models as Python source, with the kinds of values that people use.

Models have nested lists and dicts, two names of one object, enums, dataclasses, attrs objects,
floats next to ints and bools, default arguments, and shared tuples.  Their members persist, crash,
stay down, time out, send objects that they hold, and hold objects that they receive.
"""

from __future__ import annotations

import random

from attrs import frozen

HEAD = '''"""A random model: seed {seed}."""

import datetime
import enum
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import attrs

from joinproto.check import (
    NOT_ENABLED, Broadcast, Maybe, Message, Persist, Record, Send,
)


class Colour(enum.Enum):
    RED = 0


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    one: Any
    other: Any


@dataclass
class Box:
    n: Any


@dataclass(frozen=True)
class Key:
    n: Any


@attrs.frozen
class Point:
    x: Any


@attrs.define
class Job:
    n: Any


class Real(float):
    pass


class Private:
    __slots__ = ("__n",)

    def __init__(self, n):
        self.__n = n

    def __eq__(self, other):
        return type(other) is Private

    def __hash__(self):
        return 0


class Base:
    __slots__ = ("extra",)


@dataclass(slots=True, frozen=True)
class Derived(Base):
    x: int = 0


def derived(extra):
    made = Derived()
    object.__setattr__(made, "extra", extra)
    return made


class Monitor:
    persistent = ("heard",)

    def __init__(self):
        self.heard = []
        self.seen = self.heard

    def receive(self, event):
        if len(self.heard) > 1:
            return NOT_ENABLED
        self.heard.append(event)

    def shows(self):
        return len(self.heard), len(self.seen)
'''

PAIRS = [("Decimal('1.0')", "Decimal('1.00')"), ("Real(0.0)", "Real(-0.0)"),
         ("Private(0)", "Private(1)"), ("derived(0)", "derived(1)"),
         ("datetime.datetime(2020, 1, 1)", "datetime.datetime(2020, 1, 1, fold=1)")]  # fmt: skip

PLAIN = ["0", "1", "False", "True", "0.0", "1.0", "-0.0", "None", "'x'", "b'x'", "Colour.RED",
         "Level.LOW", "(0,)", "(False,)", "Key(1)", "Key(True)", "Point(0)", "Point(0.0)",
         "Pair(0, 1)", "(0, 1)", "frozenset({1})", "frozenset({True})",
         *[item for pair in PAIRS for item in pair]]  # fmt: skip

NUMBERS = ["0", "1", "False", "True", "0.0", "1.0", "-0.0"]

ON_RUNS = ("eventually", "leads to", "infinitely often", "eventually always", "until",
           "no deadlock", "always step")  # fmt: skip

NETWORKS = ("set", "set of each", "set of nobody", "bag", "fifo")


@frozen
class Model:
    """A model.

    `source`: a module with the class `Member`, `BEGINNINGS`, and `CLAIMS`.  Each claim is its kind
    and functions of a view: the claim, its premise, and the condition that must hold meanwhile.
    `budgets`: how often each fault may occur.  `fairness`: as in `Setting`.  `may_refuse`: whether
    the model has code that the checker may refuse.
    """

    seed: int
    source: str
    members: int
    network: str
    budgets: dict[str, int]
    restarts: bool
    begins_up: bool
    has_monitor: bool
    fairness: list[tuple[bool, tuple[str, ...], str | None]]
    may_refuse: bool


class _Writer:
    """Draws the parts of a model's source."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.may_refuse = False
        self.has_monitor = self.is_durable = False
        self.kinds: dict[str, str] = {}
        # Two values that are equal, or nearly so, and behave differently.
        self.pair = self.dice.choice(PAIRS) if self.chance(0.3) else ()

    def one(self, *items: str) -> str:
        return self.dice.choice(items)

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def lit(self) -> str:
        if self.pair and self.chance(0.5):
            return self.dice.choice(self.pair)
        return self.dice.choice(NUMBERS if self.chance(0.4) else PLAIN)

    def value(self) -> str:
        """Return an expression that makes a new value."""
        return self.one(
            self.lit(), self.lit(), f"[{self.lit()}]", f"{{'k': {self.lit()}}}",
            f"[{self.lit()}, [{self.lit()}]]", f"({self.lit()}, [{self.lit()}])", "{1, 2}",
            f"Box({self.lit()})", f"Job([{self.lit()}])", f"deque([{self.lit()}])",
            f"Point([{self.lit()}])",
        )  # fmt: skip

    def attributes(self) -> list[str]:
        lines = []
        for at in range(self.dice.randint(2, 4)):
            name = f"x{at}"
            kind = self.one(
                "plain", "list", "dict", "set", "box", "again", "again", "tuple", "deque"
            )
            lists = [n for n, k in self.kinds.items() if k == "list"]
            dicts = [n for n, k in self.kinds.items() if k == "dict"]
            match kind:
                case "again" if lists:
                    source, kind = f"self.{self.dice.choice(lists)}", "list"
                case "again" if dicts:
                    source, kind = f"self.{self.dice.choice(dicts)}['a']", "list"
                case "list":
                    source = self.one("[]", f"[{self.lit()}]")
                case "dict":
                    source = self.one("{'a': [], 'b': []}", "{'a': [0]}")
                case "set":
                    source = self.one("set()", "{1}")
                case "box":
                    source = self.one(f"Box({self.lit()})", f"Job({self.lit()})")
                case "deque":
                    source = self.one("deque()", "deque(maxlen=1)")
                case "tuple" if lists:
                    source = f"({self.lit()}, self.{self.dice.choice(lists)})"
                case _:
                    source, kind = self.lit(), "plain"
            self.kinds[name] = kind
            lines.append(f"self.{name} = {source}")
        return lines

    def action(self) -> str:
        """Return a statement that changes an attribute within bounds."""
        name = self.dice.choice(list(self.kinds))
        me, lit = f"self.{name}", self.lit()
        lists = [n for n, k in self.kinds.items() if k == "list"]
        dicts = [n for n, k in self.kinds.items() if k == "dict"]
        other = f"self.{self.dice.choice(lists)}" if lists else "[]"
        match self.kinds[name]:
            case "list":
                inner = f"self.{self.dice.choice(dicts)}['a']" if dicts else other
                return self.one(
                    f"if len({me}) < 2: {me}.append({lit})", f"{me}.clear()", f"{me} = [{lit}]",
                    f"{me} = list({me})", f"{me} = {other}", f"{me} = {inner}",
                    f"{me}[:1] = [{lit}]",
                )  # fmt: skip
            case "dict":
                return self.one(
                    f"{me}['a'] = [{lit}]", f"{me}['b'] = {me}['a']", f"{me}['a'] = {other}",
                    f"if len({me}['a']) < 2: {me}['a'].append({lit})", f"{me}.pop('b', None)",
                    f"{me} = dict({me})",
                )  # fmt: skip
            case "set":
                return self.one(
                    f"{me}.add({self.one('1', '2', 'True', '3.5')})", f"{me}.discard(1)"
                )
            case "box":
                return self.one(f"{me}.n = {lit}", f"{me}.n = {other}", f"{me} = Box({lit})")
            case "deque":
                return self.one(f"if len({me}) < 2: {me}.append({lit})", f"{me}.clear()")
            case "tuple":
                return self.one(f"{me} = ({lit}, {other})", f"{me}[1][:1] = [{lit}]")
        return self.one(f"{me} = {lit}", f"{me} = {lit}", f"{me} = ({lit}, {lit})")

    def content(self) -> str:
        held = f"self.{self.dice.choice(list(self.kinds))}"
        return self.one(self.value(), held, f"[{held}, {held}]", f"{{'v': {held}}}")

    def condition(self) -> str:
        name = self.dice.choice(list(self.kinds))
        me = f"self.{name}"
        test = f"bool({me})" if self.kinds[name] != "box" else f"{me}.n == {self.lit()}"
        return self.one("True", "True", test, f"not ({test})", f"{me} == {self.lit()}")

    def handler(self, indent: str) -> list[str]:
        """Return the body of a handler: actions and effects, as a list or as a generator."""
        steps: list[str] = []
        is_generator = self.chance(0.4)
        effects: list[str] = []
        for _ in range(self.dice.randint(1, 4)):
            may = ["persist"] * self.is_durable + ["record"] * self.has_monitor
            match self.one("action", "action", "send", "cast", *may):
                case "action":
                    steps.append(self.action())
                case "persist":
                    effects.append("Persist()")
                    steps += ["yield Persist()"] if is_generator else []
                case "record":
                    effects.append(f"Record({self.lit()})")
                    steps += [f"yield {effects[-1]}"] if is_generator else []
                case what:
                    to = self.one("self.others[0]", "self.others[-1]", "self.me")
                    made = f"Send({to}, {self.content()})"
                    if what == "cast":
                        made = f"Broadcast({self.content()})"
                    effects.append(made)
                    steps += [f"yield {made}"] if is_generator else []
        if is_generator:
            return [indent + line for line in [*steps, "self.fuel -= 1"]] + [
                f"{indent}yield from ()"
            ]
        listed = ", ".join(effects)
        return [indent + line for line in [*steps, "self.fuel -= 1", f"return [{listed}]"]]

    def claims(self, *, shows: str, has_monitor: bool) -> list[str]:
        found = []
        kinds = [self.one("always", "always", "sometimes", "sometimes", "always possible")
                 for _ in range(3)]  # fmt: skip
        if self.chance(0.4):
            kinds += [self.dice.choice(ON_RUNS) for _ in range(2)]
        for kind in kinds:
            test, premise, meanwhile = [self.test(shows, has_monitor) for _ in range(3)]
            if kind in ("always", "always step") and self.chance(0.7):
                test = f"not ({test})"
            head = "b, who, v" if kind == "always step" else "v"
            if kind == "always step":
                test = f"{test} or {self.one('bool(who)', 'b == v')}"
            parts = [f"lambda {head}: {test}", "None", "None"]
            if kind == "leads to" or (kind == "until" and self.chance(0.4)):
                parts[1] = f"lambda v: {premise}"
            if kind == "until":
                parts[2] = f"lambda v: {meanwhile}"
            found.append(f"    ({kind!r}, {', '.join(parts)}),")
        return found

    def test(self, shows: str, has_monitor: bool) -> str:
        """Return an expression that tests the view `v`."""
        if has_monitor and self.chance(0.2):
            return f"v['monitor'] == {self.one('(0, 0)', '(1, 1)', '(2, 2)')}"
        who = self.one("'a'", "'b'")
        part = "" if shows else f".{self.dice.choice(list(self.kinds))}"
        seen = f"v[{who}]{part}"
        down = f"type(v[{who}]).__name__ == 'Down'"
        test = self.one(
            f"({seen} == {self.value()})", f"({seen} == {self.value()})",
            f"(str({seen}) == str({self.lit()}))",
            f"(type({seen}) is {self.one('list', 'int', 'bool', 'float', 'dict', 'tuple')})",
            f"(hasattr({seen}, '__len__') and len({seen}) == 2)",
        )  # fmt: skip
        return self.one(f"{down} or {test}", f"not ({down}) and {test}", down)

    def fairness(self) -> list[tuple[bool, tuple[str, ...], str | None]]:
        if self.chance(0.5):
            return [(False, (), None)]
        words: list[tuple[str, ...]] = [(), ("timeout",), ("receive",), ("start", "receive")]
        return [
            (self.chance(0.5), self.dice.choice(words), self.dice.choice((None, "a", "b")))
            for _ in range(self.dice.randint(0, 2))
        ]

    def beginnings(self, kept: list[str], begins_up: bool) -> str:
        names = list(self.kinds) if begins_up else kept
        if not names or self.chance(0.7):
            return "[{}]"
        parts = [f"{{{self.of_kind(self.dice.choice(names))}}}" for _ in "ab"]
        return f"[{{'a': {parts[0]}}}, {{'b': {parts[1]}}}]"

    def of_kind(self, name: str) -> str:
        """Return `NAME: VALUE` with another initial value of the attribute's kind."""
        lit = self.lit()
        value = {
            "list": f"[{lit}]",
            "dict": f"{{'a': [{lit}]}}",
            "set": "{3.5}",
            "box": f"Job({lit})",
            "deque": f"deque([{lit}])",
            "tuple": f"({lit}, [{lit}])",
        }.get(self.kinds[name], lit)
        return f"{name!r}: {value}"


def write(seed: int) -> Model:
    w = _Writer(seed)
    dice = w.dice
    network = dice.choice(NETWORKS)
    attributes = w.attributes()
    default = ""
    if w.chance(0.03):
        default, w.may_refuse = ", default=[]", True
        w.kinds["late"] = "list"
        attributes.append("self.late = default")
    begins_up, w.has_monitor = w.chance(0.85), w.chance(0.3)
    lines = ["", "", "class Member:"]
    kept: list[str] = []
    if w.chance(0.6):
        kept = dice.sample(list(w.kinds), dice.randint(1, min(2, len(w.kinds))))
        lines.append(f"    persistent = {tuple(kept)!r}")
    w.is_durable = bool(kept)
    fuel = dice.randint(1, 2)
    lines += [
        f"    def __init__(self, me, others{default}):",
        f"        self.me, self.others, self.fuel = me, others, {fuel}",
        *(f"        {line}" for line in attributes),
    ]
    if w.chance(0.4):
        lines += ["    def start(self):", *w.handler("        ")]
    choices = dice.sample(["'timeout'", "['ask', {'n': 1}]", "('tick', 0)", "('tick', False)"], 2)
    lines += ["    def choices(self):"]
    for item in choices[: dice.randint(1, 2)]:
        who = w.one("True", "self.me == 'a'")
        offered = f"Maybe({item})" if w.chance(0.2) else item
        lines.append(f"        if self.fuel > 0 and {who} and {w.condition()}: yield {offered}")
    lines += ["    def receive(self, event):", "        if type(event) is Message:"]
    if w.chance(0.5):
        lines.append(f"            if not ({w.condition()}): return NOT_ENABLED")
    keeps = [name for name, kind in w.kinds.items() if kind == "plain"]
    idle = w.one("None", "NOT_ENABLED")
    body = [f"            if self.fuel <= 0: return {idle}"]
    if keeps and w.chance(0.6):
        # An event that is not enabled changes nothing.
        at = 0 if idle == "None" else 1
        body.insert(at, f"            self.{dice.choice(keeps)} = event.content")
    lines += body
    # A function with a `yield` is a generator as a whole, so each handler is a separate method.
    lines += ["            return self.on_message(event)"]
    names = {}
    for number, item in enumerate(choices):
        names[item] = f"on_{number}"
        test = f"event == {item}"
        if "tick" in item:
            test = f"type(event) is tuple and type(event[1]) is type({item}[1]) and {test}"
        lines.append(f"        if {test}: return self.on_{number}()")
    lines += ["        raise ValueError(event)"]
    lines += ["    def on_message(self, event):", *w.handler("        ")]
    for name in names.values():
        lines += [f"    def {name}(self):", *w.handler("        ")]
    shows = ""
    if w.chance(0.7):
        held = [f"self.{name}" for name in w.kinds]
        shows = w.one(dice.choice(held), f"[{dice.choice(held)}, {dice.choice(held)}]", "self.fuel")
        lines += ["    def shows(self):", f"        return {shows}"]
    claims = w.claims(shows=shows, has_monitor=w.has_monitor)
    lines += ["", "", f"BEGINNINGS = {w.beginnings(kept, begins_up)}", ""]
    lines += ["CLAIMS = [", *claims, "]", ""]
    crashes = dice.choice([0, 1, 1, 2])
    budgets = {"crashes": crashes}
    if network in ("bag", "fifo"):
        budgets["losses"] = dice.choice([0, 0, 1])
    if network == "bag":
        budgets["duplicates"] = dice.choice([0, 0, 1])
    if network != "set of nobody":
        budgets["partitions"] = int(w.chance(0.15))
    budgets["wipes"] = int(w.is_durable and w.chance(0.2))
    return Model(
        seed,
        HEAD.format(seed=seed) + "\n".join(lines),
        2,
        network,
        budgets=budgets,
        restarts=w.chance(0.7),
        begins_up=begins_up,
        has_monitor=w.has_monitor,
        fairness=w.fairness(),
        may_refuse=w.may_refuse,
    )
