"""`--symmetry` gives the verdict of a search of all states, or refuses the model."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from joinproto.check import (
    DOWN,
    Broadcast,
    Faults,
    FifoLinks,
    Message,
    MessageSet,
    ModelProblem,
    Property,
    Record,
    Send,
    Together,
    View,
    World,
    always,
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    load_world,
    sometimes_monitor,
    sometimes_one,
)
from joinproto.check.check import check
from joinproto.check.report import Report

NAMES = ("a", "b", "c")


class Leader:
    """One of the three is elected, once; its name is recorded."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.led = False

    def receive(self, event: Any) -> Any:
        self.led = True
        return [Record(self.name)]


class FirstRecord:
    def __init__(self) -> None:
        self.name: str | None = None

    def receive(self, event: str) -> None:
        self.name = self.name or event


def elect(view: View) -> Iterator[Together]:
    if view.monitor.name is None:
        for name in view:
            yield Together("elect", {name: "lead"}, name)


def world(claim: Property, kind: type = Leader, monitor: type = FirstRecord, **more: Any) -> World:
    return World(
        name="election",
        members={name: lambda name=name: kind(name) for name in NAMES},  # type: ignore[misc]
        properties=[claim],
        interchangeable=NAMES,
        monitor=monitor,
        **{"together": elect, **more},
    )


def refused(world: World) -> str:
    """Return the refusal of symmetry; without symmetry, the claim is violated or reached."""
    assert {"violated", "reached"} & {item.result for item in check(world).properties}
    with pytest.raises(ModelProblem) as raised:
        check(world, symmetry=True)
    assert "--no-symmetry" in raised.value.next
    return raised.value.message


ABOUT: dict[str, Callable[[str], Property]] = {
    "each": lambda who: always_each("x", lambda s: not (s.led and s.name == who)),
    "pair": lambda who: always_pair("x", lambda s, t: not (s.led and s.name == who)),
    "beside": lambda who: always_beside("x", lambda s, heard: heard.name != who),
    "monitor": lambda who: always_monitor("x", lambda heard: heard.name != who),
    "one": lambda who: sometimes_one("x", lambda s: s.led and s.name == who),
    "some monitor": lambda who: sometimes_monitor("x", lambda heard: heard.name == who),
}


@pytest.mark.parametrize("who", NAMES)
@pytest.mark.parametrize("about", ABOUT)
def test_a_claim_about_one_or_two_members_that_names_a_member_is_refused(
    about: str, who: str
) -> None:
    """Only the state in which c is elected is kept, so "a is never elected" would seem to hold."""
    assert "property 'x' changes when members are renamed" == refused(world(ABOUT[about](who)))


@pytest.mark.parametrize("who", NAMES)
def test_members_whose_observations_depend_on_their_names_are_refused(who: str) -> None:
    class ShowsItsName(Leader):
        def shows(self) -> bool:
            return self.led and self.name == who

    found = refused(world(always_each("x", lambda shown: not shown), ShowsItsName))

    assert "their observations differ when" in found


@pytest.mark.parametrize("who", NAMES)
def test_a_monitor_that_tells_names_apart_is_refused(who: str) -> None:
    class Counts(FirstRecord):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def receive(self, event: str) -> None:
            self.name = "somebody"
            self.count += event == who

    found = refused(world(always_monitor("x", lambda heard: heard.count == 0), monitor=Counts))

    assert "the monitor tells them apart when" in found


@pytest.mark.parametrize("who", NAMES)
def test_code_that_tells_a_member_apart_in_a_state_that_is_not_kept_is_refused(who: str) -> None:
    """c is elected in the state kept, so the code must be compared under all renamings."""

    class Odd(Leader):
        def choices(self) -> list[str]:
            return ["go"] if self.led == 1 else []

        def receive(self, event: Any) -> Any:
            if event == "lead":
                return super().receive(event)
            self.led = 3 if self.name == who else 2  # type: ignore[assignment]
            return [Record("go")]

    class Hears(FirstRecord):
        def receive(self, event: str) -> None:
            self.name = ("bad" if self.name == who else self.name) if event == "go" else event

    class Even(Odd):
        def receive(self, event: Any) -> Any:
            found = super().receive(event)
            self.led = min(self.led, 2)  # type: ignore[assignment]
            return found

    odd = world(always_each("x", lambda shown: shown.led != 3), Odd)
    bad = world(always_monitor("x", lambda heard: heard.name != "bad"), Even, Hears)

    assert "go has another outcome when" in refused(odd)
    assert "the monitor tells them apart when" in refused(bad)


@pytest.mark.parametrize("who", NAMES)
def test_a_claim_about_the_world_that_names_a_member_is_refused(who: str) -> None:
    """All renamings must be compared: one exchange of neighbours does not reach every member."""
    claim = always("x", lambda view: not view[who].led)
    bound = world(always("y", lambda view: True), within=lambda view: not view[who].led)

    assert "property 'x' changes when members are renamed" == refused(world(claim))
    with pytest.raises(ModelProblem, match=r"within\(view\) changes when members are renamed"):
        check(bound, symmetry=True)


@pytest.mark.parametrize("who", NAMES)
def test_a_monitor_whose_observation_depends_on_one_name_is_refused(who: str) -> None:
    class Shows(FirstRecord):
        def shows(self) -> Any:
            return self.name, self.name == who

    claim = always("x", lambda view: not view.monitor[1])

    def once(view: View) -> Iterator[Together]:
        if view.monitor[0] is None:
            for name in view:
                yield Together("elect", {name: "lead"}, name)

    assert "their observations differ" in refused(world(claim, monitor=Shows, together=once))


def test_a_premise_that_names_a_member_is_refused() -> None:
    """Otherwise the premise would be reported as never met."""
    claim = always("x", lambda view: True, premise=lambda view: view["a"].led)
    assert check(world(claim)).properties[0].premise_met

    with pytest.raises(ModelProblem, match="property 'x' changes when members are renamed"):
        check(world(claim), symmetry=True)


def test_claims_that_name_no_member_are_judged_as_without_symmetry() -> None:
    claims = [
        always_each("named", lambda shown: shown.name in NAMES),
        always_pair("one", lambda one, other: not (one.led and other.led)),
        always_beside("heard", lambda shown, heard: shown.led == (heard.name == shown.name)),
        sometimes_one("led", lambda shown: shown.led),
        sometimes_monitor("heard of", lambda heard: heard.name is not None),
    ]
    for claim in claims:
        whole, part = check(world(claim)), check(world(claim), symmetry=True)
        assert results(whole) == results(part), claim.name
        assert (4, 2) == (whole.distinct, part.distinct)


def results(report: Report) -> list[str]:
    return [item.result for item in report.properties]


class Votes:
    """Has attributes that are named like members."""

    def __init__(self) -> None:
        self.a = self.b = 0

    def choices(self) -> list[str]:
        return ["vote"] if self.a == 0 else []

    def receive(self, event: str) -> None:
        self.a = 1


def test_attributes_keep_their_names_when_members_are_renamed() -> None:
    """If attributes were renamed with the members, `shown.a` would be missing."""
    claim = always("few", lambda view: sum(shown.a for shown in view.values()) < 3)
    votes = World(
        name="votes",
        members={"a": Votes, "b": Votes},
        properties=[claim],
        interchangeable=["a", "b"],
    )

    report = check(votes, symmetry=True)

    assert ("holds", 3) == (report.result, report.distinct)


class Late:
    """Says hello once, or grows old by a joint step, and then hears a hello late."""

    def __init__(self, other: str) -> None:
        self.other = other
        self.age = 0
        self.sent = False
        self.late = False

    def choices(self) -> Iterator[str]:
        if not self.sent and not self.age:
            yield "send"

    def receive(self, event: Any) -> Any:
        if isinstance(event, Message):
            self.late = self.late or bool(self.age)
        elif event == "age":
            self.age = 1
        else:
            self.sent = True
            return [Send(self.other, "hello")]
        return None

    def horizon(self) -> int:
        return self.age


class LateAtB(Late):
    def horizon(self) -> int:
        return self.age if self.other == "b" else 0


def growing_old(view: View) -> Iterator[Together]:
    if sum(shown.sent for shown in view.values()) == 1:
        for name, shown in view.items():
            if not shown.sent and not shown.age:
                yield Together("age", {name: "age"})


@pytest.mark.parametrize(
    ("kind", "senders", "expected"),
    [
        (LateAtB, "ab", "their horizons differ"),
        (Late, "b", "expiry(sender, to, content) changes when members are renamed"),
    ],
)
def test_messages_that_expire_for_one_name_are_refused(
    kind: type[Late], senders: str, expected: str
) -> None:
    """Otherwise the search could leave out the state in which the message does not expire."""

    def world(kind: type[Late], senders: str) -> World:
        return World(
            name="late",
            members={"a": lambda: kind("b"), "b": lambda: kind("a")},
            network=MessageSet(),
            interchangeable=["a", "b"],
            expiry=lambda sender, to, content: [(str(to), 0)] if str(sender) in senders else [],
            together=growing_old,
            properties=[always_each("never late", lambda shown: not shown.late)],
        )

    assert expected in refused(world(kind, senders))
    assert "holds" == check(world(Late, "ab"), symmetry=True).result


def test_a_choice_offered_twice_by_one_member_is_refused() -> None:
    """Otherwise the number of steps would depend on which state is kept."""

    class Eager(Worker):
        def choices(self) -> list[str]:
            return super().choices() * (2 if self.name == "b" else 1)

    assert "their choices differ" in refused(
        world(sometimes_one("x", lambda shown: shown.worked), Eager, together=None)
    )


def test_a_joint_step_offered_twice_for_one_member_is_refused() -> None:
    """Joint steps are counted, too: two equal steps differ from one."""

    def elect_twice(view: View) -> Iterator[Together]:
        yield from elect(view)
        if view.monitor.name is None:
            yield Together("elect", {"b": "lead"}, "b")

    found = refused(world(sometimes_one("x", lambda shown: shown.led), together=elect_twice))

    assert "together(view) gives other joint steps when members are renamed" == found


class Role(enum.Enum):
    IDLE = "idle"
    LEADS = "leads"


class Shown(Leader):
    def shows(self) -> Role:
        return Role.LEADS if self.led else Role.IDLE


def test_coverage_under_symmetry_counts_the_steps_of_all_renamed_members() -> None:
    """The states kept have steps of one member only; the other members' steps count as taken."""
    one = world(always_each("x", lambda shown: shown in Role), Shown)

    whole, kept = check(one), check(one, symmetry=True)

    assert ("holds", 4, 2) == (kept.result, whole.distinct, kept.distinct)
    assert whole.coverage.never == kept.coverage.never


def test_steps_under_symmetry_are_counted_under_their_first_renaming() -> None:
    """Counts must not depend on which state is kept, so steps count under their first renaming."""
    report = check(load_world("zen-one-term"), symmetry=True)

    taken = report.coverage.actions
    found = {name: count for name, count in taken.items() if name.startswith(("found", "restart"))}
    assert {
        "found with n1 (n1)": 276,
        "found with n1 (n2)": 316,
        "found with n1 n2 (n1)": 217,
        "restart (n1)": 4_228,
    } == found
    assert report.generated == sum(taken.values()) + report.levels[0]


class Worker:
    """Works once; in a joint step of all members, it records whether it did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.worked = False

    def choices(self) -> list[str]:
        return [] if self.worked else ["work"]

    def receive(self, event: str) -> Any:
        if event == "say":
            return [Record(self.worked)]
        self.worked = True
        return None


class LastRecord:
    def __init__(self) -> None:
        self.heard: Any = None

    def receive(self, event: bool) -> None:
        self.heard = event


class AnyRecord(LastRecord):
    def receive(self, event: bool) -> None:
        self.heard = bool(self.heard) or event


def all_say(view: View) -> Iterator[Together]:
    yield Together("all say", dict.fromkeys(view, "say"))


def test_a_monitor_that_hears_members_of_a_joint_step_in_order_is_refused() -> None:
    """Otherwise the state that is kept may have another last member, and no run leads to it."""

    def alone(view: View) -> bool:
        return not (view.monitor.heard and sum(one.worked for one in view.values()) == 1)

    claim = always("x", alone)
    found = refused(world(claim, Worker, LastRecord, together=all_say))

    assert "the monitor's state after the recorded events depends on the order" in found
    some = world(claim, Worker, AnyRecord, together=all_say)
    assert results(check(some)) == results(check(some, symmetry=True))


class Talker(Worker):
    def receive(self, event: str) -> Any:
        said = super().receive(event)
        return [Broadcast(self.worked), *said] if event == "say" else said


def test_a_crash_in_a_joint_step_of_queues_is_refused() -> None:
    """Whether the crash loses a message of the same step depends on which member comes first."""

    def if_all_run(view: View) -> Any:
        return all_say(view) if all(s is not DOWN for s in view.values()) else ()

    queues = world(
        always("x", lambda view: True),
        Talker,
        AnyRecord,
        together=if_all_run,
        network=FifoLinks(capacity=1, when_full="lose"),
        faults=Faults(crashes=1),
    )

    with pytest.raises(ModelProblem, match="depends on the order of the members of a joint step"):
        check(queues, symmetry=True)
