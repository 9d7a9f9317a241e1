"""A search keeps members' values: equal, of the same type, and with shared objects shared."""

from __future__ import annotations

import enum
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import pytest
from attrs import define, frozen
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check import (
    DOWN,
    NOT_ENABLED,
    Faults,
    FifoLinks,
    MessageBag,
    Persist,
    Send,
    World,
    always,
    always_each,
    always_possible,
    eventually,
    no_deadlock,
    sometimes,
    sometimes_one,
)
from joinproto.check.attributes import attributes
from joinproto.check.check import check
from joinproto.check.freeze import freeze, freeze_all, rename, thaw, thaw_all
from joinproto.check.problems import ModelProblem
from tests.check.compare import assert_same_search, explored
from tools.slow_search import explore


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    one: Any
    other: Any


@frozen
class Point:
    x: Any
    parts: Any = ()


@define
class Box:
    n: Any = 0


@dataclass
class Job:
    name: str
    tags: list[str]


@dataclass(frozen=True)
class Key:
    name: Any


class Mutable:
    """A mutable class whose objects compare by value."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mutable) and self.n == other.n

    def __hash__(self) -> int:
        return hash(self.n)


ATOMS = [0, 1, False, True, 0.0, 1.0, -0.0, 1j, None, "", "a", b"a", Colour.RED, Level.LOW]
VALUES = st.recursive(
    st.sampled_from([*ATOMS, Fraction(1), range(2), float("inf")]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(deque),
        st.dictionaries(st.sampled_from(["a", "b", 1, (1, 2)]), inner, max_size=3),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(OrderedDict),
        st.builds(Pair, inner, inner),
        st.builds(Point, inner),
        st.builds(Box, inner),
        st.builds(Key, inner),
        st.sets(st.sampled_from(ATOMS), max_size=3),
        st.frozensets(st.sampled_from(ATOMS), max_size=3),
    ),
    max_leaves=6,
)


def kinds_of(value: Any) -> Any:
    """Return the types of a value and of all its parts, in its shape."""
    kind = type(value)
    if isinstance(value, (tuple, list, deque)):
        return kind, [kinds_of(item) for item in value]
    if isinstance(value, dict):
        return kind, sorted((repr(key), repr(kinds_of(item))) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return kind, sorted(repr(kinds_of(item)) for item in value)
    for names in (getattr(kind, "__slots__", ()), getattr(value, "__dict__", ())):
        if isinstance(value, (Point, Box, Key, Job)) and names:
            return kind, [(n, kinds_of(getattr(value, n))) for n in names if n[0] != "_"]
    return kind, repr(value)


# -- there and back ----------------------------------------------------------------------


@given(VALUES)
def test_a_frozen_value_comes_back_equal_and_of_its_type(value: Any) -> None:
    back = thaw(freeze(value))

    assert value == back
    assert kinds_of(value) == kinds_of(back)


@given(VALUES, VALUES)
def test_frozen_values_are_equal_exactly_if_values_are_equal_and_of_one_type(
    one: Any, other: Any
) -> None:
    same = one == other and kinds_of(one) == kinds_of(other)

    assert same == (freeze(one) == freeze(other))
    if same:
        assert hash(freeze(one)) == hash(freeze(other))


@given(VALUES)
def test_a_frozen_value_survives_pickling(value: Any) -> None:
    assert freeze(value) == pickle.loads(pickle.dumps(freeze(value)))


@pytest.mark.parametrize(
    "value",
    [Counter("aab"), bytearray(b"x"), deque([1, 2], 2), Job("a", ["t"]), Mutable(3), float("nan")],
    ids=lambda value: type(value).__name__,
)
def test_values_of_other_types_come_back(value: Any) -> None:
    back = thaw(freeze(value))

    assert type(value) is type(back)
    assert repr(value) == repr(back) or value == back
    assert freeze(value) == freeze(back)


def test_a_default_dict_keeps_its_default_and_a_deque_its_bound() -> None:
    counts = thaw(freeze(defaultdict(list, a=[1])))
    last = thaw(freeze(deque([1, 2], maxlen=2)))

    counts["b"].append(2)
    last.append(3)

    assert {"a": [1], "b": [2]} == counts
    assert [2, 3] == list(last)


def test_each_thaw_makes_new_mutable_values() -> None:
    for value in ([1], {1}, {1: 1}, Box(1), Job("a", []), Mutable(1), (1, [2])):
        known = freeze(value)
        assert thaw(known) is not thaw(known)


def change_all(value: Any) -> None:
    """Change each mutable part of a value."""
    held: list[Any] = []
    if isinstance(value, dict):
        held = [*value, *value.values()]
        value["more"] = 1
    elif isinstance(value, (list, tuple, set, frozenset)):
        held = list(value)
        if isinstance(value, list):
            value.append("more")
        elif isinstance(value, set):
            value.add("more")
    elif isinstance(value, (Point, Box, Job)):
        names = attributes(value)
        held = [getattr(value, name) for name in names]
        if not isinstance(value, Point):
            setattr(value, names[0], "more")
    for one in held:
        change_all(one)


@given(VALUES, st.booleans())
def test_changing_a_thawed_value_does_not_change_later_thawed_values(
    value: Any, backwards: bool
) -> None:
    """The cached recipe of a frozen value must not share mutable parts with thawed values."""
    known = freeze(value)

    change_all(thaw(known, backwards=backwards))

    assert known == freeze(thaw(known, backwards=backwards))


def test_a_dict_whose_content_was_frozen_before_is_frozen_as_it_is_now() -> None:
    fixed, held = (1, "a"), [1]
    one, other = {"fixed": fixed}, {"fixed": fixed, "held": held}
    before = freeze(one), freeze(other)
    assert (freeze(dict(one)), freeze({"held": held, "fixed": fixed})) == before
    held.append(2)
    assert freeze(other) != before[1]
    one["fixed"] = (True, "a")
    assert freeze(one) != before[0]
    assert freeze(defaultdict(int, one)) != freeze(defaultdict(list, one))


def test_two_references_to_one_list_stay_one_list() -> None:
    inner: list[int] = []
    accounts, current = thaw_all(freeze_all([{"a": inner, "b": []}, inner]))

    current.append(1)

    assert {"a": [1], "b": []} == accounts


def test_one_shared_list_and_two_equal_lists_have_different_frozen_forms() -> None:
    one: list[int] = []

    assert freeze_all([one, one]) != freeze_all([[], []])
    other: list[int] = []
    assert freeze_all([one, one]) == freeze_all([other, other])


def test_a_shared_list_in_a_dict_is_frozen_alike_in_any_order_of_filling() -> None:
    one: list[int] = []

    assert freeze({"a": one, "b": one}) == freeze({"b": one, "a": one})


def test_a_renamed_value_is_made_of_renamed_texts() -> None:
    value = [Point("m1", ({"m1": "m2"},)), ("m2", Key("m1"))]

    renamed = thaw(rename(freeze(value), {"m1": "m2", "m2": "m1"}))

    assert [Point("m2", ({"m2": "m1"},)), ("m1", Key("m2"))] == renamed


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (object(), "it compares by identity"),
        ([].append, "hold the method's name"),
        (Mutable(1).__eq__, "hold the method's name"),
        (memoryview(bytearray(1)), "its content cannot be read by __reduce_ex__"),
    ],
    ids=["object", "builtin", "method", "memoryview"],
)
def test_an_invalid_value_is_refused(value: Any, expected: str) -> None:
    with pytest.raises(ModelProblem) as caught:
        freeze(value)

    assert expected in caught.value.message


# -- in a search -------------------------------------------------------------------------


def results(world: World) -> dict[str, str]:
    report = check(world)
    return {item.name: item.result for item in report.properties}


def alone(make: Callable[[], Any], *properties: Any, **more: Any) -> World:
    return World(name="alone", members={"m": make}, properties=properties, **more)


class Ledger:
    def __init__(self) -> None:
        self.accounts: dict[str, list[int]] = {"a": [], "b": []}
        self.current = self.accounts["a"]

    def choices(self) -> Any:
        if len(self.current) < 3:
            yield "pay"

    def receive(self, event: Any) -> None:
        self.current.append(1)

    def shows(self) -> int:
        return len(self.accounts["a"])


def test_a_bug_by_a_second_reference_to_a_list_is_found() -> None:
    """The member pays by its second reference; in later states both still refer to one list."""
    assert {"never 2": "violated"} == results(
        alone(Ledger, always_each("never 2", lambda shown: shown < 2))
    )


class Collector:
    def __init__(self) -> None:
        self.listed: list[int] = []
        self.named: dict[int, int] = {}
        self.found: set[int] = set()

    def choices(self) -> Any:
        if len(self.listed) < 2:
            yield ["pay", {"much": 1}]

    def receive(self, event: Any) -> None:
        assert event == ["pay", {"much": 1}]
        self.listed.append(1)
        self.named[len(self.listed)] = 1
        self.found.add(1)


def test_claims_see_lists_dicts_and_sets() -> None:
    """Claims get values that are equal and of the same type, also without `shows`."""
    assert dict.fromkeys(("list", "dict", "set", "type"), "reached") | {"most": "violated"} == (
        results(
            alone(
                Collector,
                sometimes("list", lambda view: view["m"].listed == [1]),
                sometimes("dict", lambda view: view["m"].named == {1: 1}),
                sometimes("set", lambda view: view["m"].found == {1}),
                sometimes("type", lambda view: type(view["m"].listed) is list),
                always("most", lambda view: view["m"].listed != [1, 1]),
            )
        )
    )


def test_a_claim_that_changes_an_observation_does_not_affect_other_claims() -> None:
    def meddles(view: Any) -> bool:
        view["m"].listed.append(7)
        return True

    assert {"meddles": "holds", "clean": "holds"} == results(
        alone(
            Collector,
            always("meddles", meddles),
            always("clean", lambda view: 7 not in view["m"].listed),
        )
    )


CONTENT = ["x", {"k": [1]}, {2}, Job("a", ["t"])]


class Courier:
    def __init__(self, me: str) -> None:
        self.me = me
        self.told: Any = None
        self.kept: dict[str, Any] = {}

    def choices(self) -> Any:
        if self.me == "a" and self.told is None:
            yield "go"

    def receive(self, event: Any) -> Any:
        if event == "go":
            self.told = "sent"
            return [Send("b", CONTENT)]
        self.told = event.content == CONTENT and type(event.content) is list
        self.kept["k"] = event.content
        self.kept["k"].append("own")
        return None

    def shows(self) -> Any:
        return self.told, self.kept


def test_a_message_arrives_with_the_content_sent() -> None:
    world = World(
        name="courier",
        members={name: partial(Courier, name) for name in "ab"},
        properties=[
            sometimes("arrived", lambda view: view["b"][0] is True),
            always("kept", lambda view: view["b"][1] in ({}, {"k": [*CONTENT, "own"]})),
        ],
        network=MessageBag(),
    )

    assert {"arrived": "reached", "kept": "holds"} == results(world)


def test_joint_steps_and_the_monitor_get_values_as_they_were_given() -> None:
    from joinproto.check import Record, Together

    class ListMonitor:
        def __init__(self) -> None:
            self.heard: list[Any] = []

        def receive(self, event: Any) -> None:
            self.heard.append(event)

    class One:
        def __init__(self) -> None:
            self.done = False

        def receive(self, event: Any) -> Any:
            assert event == [{"a": 1}]
            self.done = True
            return [Record(event)]

    def together(view: Any) -> Any:
        if not view["m"].done:
            yield Together("agree", {"m": [{"a": 1}]})

    world = alone(
        One,
        sometimes("heard", lambda view: view.monitor.heard == [[{"a": 1}]]),
        monitor=ListMonitor,
        together=together,
    )

    assert {"heard": "reached"} == results(world)


class Off:
    def __init__(self) -> None:
        self.s: Any = 0

    def choices(self) -> Any:
        if self.s is not False:
            yield "go"

    def receive(self, event: Any) -> None:
        self.s = False

    def shows(self) -> Any:
        return repr(self.s)


def test_zero_and_false_make_two_states() -> None:
    """Two values are the same only if they are equal and of one type."""
    off = sometimes_one("off", lambda shown: shown == "False")
    ends = no_deadlock("ends off", lambda view: view["m"] == "False")
    report = check(alone(Off, off, ends))

    assert ["reached", "holds"] == [item.result for item in report.properties]
    assert 2 == report.distinct


# -- an order that is not part of a state ------------------------------------------------


class Queue:
    """Takes the entry put in first; the order of a dict is not part of a state."""

    def __init__(self, kind: Any) -> None:
        self.waiting = kind()
        self.served: Any = None

    def choices(self) -> Any:
        if self.served is None:
            yield from ("a", "b", "serve")

    def receive(self, event: Any) -> Any:
        if event != "serve":
            self.waiting[event] = True
            return None
        if not self.waiting:
            return NOT_ENABLED
        self.served = next(iter(self.waiting))
        return None

    def shows(self) -> Any:
        return list(self.waiting), self.served


def test_a_model_that_relies_on_the_order_of_a_dict_is_refused() -> None:
    with pytest.raises(ModelProblem) as caught:
        check(alone(lambda: Queue(dict), sometimes("served", lambda view: bool(view["m"][1]))))

    assert "depends on the order in which a dict or a set is iterated" in caught.value.message
    assert "OrderedDict" in caught.value.next


def test_the_order_of_an_ordered_dict_is_part_of_the_state() -> None:
    first = sometimes("the first", lambda view: view["m"] == (["b", "a"], "b"))
    never = always("only the first", lambda view: view["m"][1] in (None, *view["m"][0][:1]))

    assert {"the first": "reached", "only the first": "holds"} == results(
        alone(lambda: Queue(OrderedDict), first, never)
    )


def test_messages_to_several_members_may_be_sent_in_the_order_of_a_set() -> None:
    class Herald:
        def __init__(self, me: str) -> None:
            self.others = {"a", "b", "c"} - {me}
            self.told = me != "a"

        def choices(self) -> Any:
            if not self.told:
                yield "tell"

        def receive(self, event: Any) -> Any:
            self.told = True
            return [Send(other, "news") for other in self.others] if event == "tell" else None

    for network in (MessageBag(), FifoLinks()):
        world = World(
            name="heralds",
            members={name: partial(Herald, name) for name in "abc"},
            properties=[sometimes("told", lambda view: view["a"].told)],
            network=network,
        )
        assert {"told": "reached"} == results(world)


# -- crashes -----------------------------------------------------------------------------


class Idle:
    def __init__(self) -> None:
        self.s = 0

    def receive(self, event: Any) -> None:
        return None

    def shows(self) -> int:
        return self.s


@pytest.mark.parametrize(("restarts", "expected"), [(False, "violated"), (True, "holds")])
def test_a_crashed_member_stays_down_only_without_restarts(restarts: bool, expected: str) -> None:
    """`restarts=False` also applies to members without durable attributes."""
    world = World(
        name="crash-stop",
        members={"a": Idle, "b": Idle},
        faults=Faults(crashes=2, restarts=restarts),
        properties=[
            sometimes("a is down", lambda view: view["a"] is DOWN),
            always_possible("a can be up", lambda view: view["a"] is not DOWN),
        ],
    )

    assert {"a is down": "reached", "a can be up": expected} == results(world)
    assert explore(world).distinct == check(world).distinct


class Client:
    def __init__(self) -> None:
        self.answered = False

    def start(self) -> Any:
        return [Send("worker", "job")]

    def receive(self, event: Any) -> None:
        self.answered = True

    def shows(self) -> bool:
        return self.answered


class Worker:
    persistent = ("count",)

    def __init__(self, counts: int) -> None:
        self.counts = counts
        self.count = 0

    def receive(self, event: Any) -> Any:
        self.count += self.counts
        return [Persist(), Send("client", "done")]

    def shows(self) -> None:
        return None


@pytest.mark.parametrize("network", [MessageBag(), FifoLinks()], ids=["bag", "fifo"])
@pytest.mark.parametrize("counts", [0, 1])
def test_a_crash_between_two_effects_loses_the_message_that_caused_them(
    counts: int, network: Any
) -> None:
    """The message is lost even if the first effect does not change the disk."""
    world = World(
        name="lost work",
        members={"client": Client, "worker": lambda: Worker(counts)},
        network=network,
        faults=Faults(crashes=1, spared=frozenset({"client"})),
        properties=[eventually("answered", lambda view: view["client"])],
    )

    assert {"answered": "violated"} == results(world)
    found = explored(world, 100)
    assert found is not None
    assert_same_search(world, found)
