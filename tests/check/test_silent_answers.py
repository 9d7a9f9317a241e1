"""Mistakes of beginners that must not end in a silent "holds".

Both searches refuse such a model with the place of the mistake, or report its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import define, evolve

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Message,
    ModelProblem,
    Offline,
    Persist,
    Property,
    Record,
    Report,
    Send,
    Together,
    World,
    always,
    always_each,
    always_pair,
    eventually,
    no_deadlock,
    sometimes,
)
from joinproto.check.check import check
from joinproto.check.plain import USER_BOUNDS, Ends, check_small
from joinproto.cli.show.findings import not_exercised
from joinproto.cli.show.summary import summary
from tests.census import without_costs

TRUE = always("nothing is wrong", lambda view: True)


def world(make: Callable[[], Any], *claims: Property, **more: Any) -> World:
    """Return a world of two members made by `make`."""
    return World(name="w", members={"a": make, "b": make}, properties=claims or (TRUE,), **more)


def refused(given: World, search: Callable[[World], Any]) -> ModelProblem:
    with pytest.raises(ModelProblem) as caught:
        search(given)
    return caught.value


def reported(given: World) -> Report:
    """Return the report of plain Python, which must equal the engine's."""
    engine, small = check(given), check_small(given)

    assert small is not None
    assert without_costs(engine) == evolve(
        without_costs(small), row_bits=engine.row_bits, bytes_per_state=engine.bytes_per_state
    )
    return small


both_searches = pytest.mark.parametrize("search", [check, check_small])


class Steps:
    """Takes two steps."""

    def __init__(self) -> None:
        self.step = 0

    def choices(self) -> Any:
        return ["go"] if self.step < 2 else []

    def receive(self, event: Any) -> Any:
        self.step += 1
        return None


# -- messages and changes without a receiver --------------------------------------------------


class RefusesInAGenerator(Steps):
    def receive(self, event: Any) -> Any:
        if event == "go":
            return NOT_ENABLED
        yield Broadcast("hello")


def test_a_generator_that_returns_not_enabled_takes_no_step() -> None:
    """The search must read the value that the generator returns."""
    found = reported(world(RefusesInAGenerator))

    assert (1, 1) == (found.distinct, found.generated)
    assert {"step: go (a)", "step: go (b)"} < {*found.coverage.never}


class RefusesTooLate(Steps):
    def receive(self, event: Any) -> Any:
        yield Broadcast("hello")
        return NOT_ENABLED


class ReturnsEffects(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        yield Broadcast("hello")
        return [Send("a", "and this")]


class ChangesAndRefuses(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        return NOT_ENABLED if self.step == 2 else None


class ChangesInChoices(Steps):
    def choices(self) -> Any:
        self.step += 1
        return ["go"] if self.step < 3 else []


class ChangesInShows(Steps):
    def shows(self) -> int:
        self.step += 1
        return self.step


class OffersAnEffect(Steps):
    def choices(self) -> Any:
        return [Send("a", "hello")]


class ReturnsChoices(Steps):
    def choices(self) -> Any:
        if self.step == 0:
            yield "go"
        return ["stop"]


class MisspellsChoices:
    def __init__(self) -> None:
        self.step = 0

    def choice(self) -> Any:
        return ["go"]

    def receive(self, event: Any) -> Any:
        self.step += 1


class MisspellsShows(Steps):
    def show(self) -> Any:
        return self.step


class MisspellsPersistent(Steps):
    persistant = ("step",)


class PersistsNothing(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        return [Persist()]


class RecordsWithoutMonitor(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        return [Record("went")]


@both_searches
@pytest.mark.parametrize(
    ("kind", "expected", "hint"),
    [
        (RefusesTooLate, "yields effects, and then returns NOT_ENABLED", "before the first"),
        (ReturnsEffects, "receive() yields, and then returns [Send(", "yield from"),
        (
            ChangesAndRefuses,
            "NOT_ENABLED, and changes the member: attribute 'step' is 1 before, 2 after",
            "before the first change",
        ),
        (ChangesInChoices, "choices() changes the member: attribute 'step' is 0", "receive"),
        (ChangesInShows, "shows() changes the member: attribute 'step' is 0", "receive"),
        (OffersAnEffect, "choices() offers Send(to='a', content='hello')", "such as a text"),
        (ReturnsChoices, "choices() yields, and then returns ['stop']", "yield each"),
        (MisspellsChoices, "MisspellsChoices.choice is never used", "did you mean choices?"),
        (MisspellsShows, "MisspellsShows.show is never used", "did you mean shows?"),
        (MisspellsPersistent, "persistant is never used", "did you mean persistent?"),
        (PersistsNothing, "Persist() has no effect", "persistent ="),
        (RecordsWithoutMonitor, "has no receiver", "monitor="),
    ],
)
def test_a_mistake_that_no_state_would_show_is_refused(
    kind: type, expected: str, hint: str, search: Callable[[World], Any]
) -> None:
    problem = refused(world(kind), search)

    assert expected in problem.message
    assert hint in problem.next
    assert __file__ in problem.place


class ItsOwnShow(Steps):
    def show(self) -> int:
        return self.step

    def shows(self) -> int:
        return self.show()


def test_a_name_that_the_class_itself_uses_is_accepted() -> None:
    assert "holds" == reported(world(ItsOwnShow)).result
    assert "holds" == reported(world(MisspellsShows, show=lambda member: member.show())).result


class Mended(Steps):
    def __init__(self) -> None:
        super().__init__()
        self.mended = False

    def offline(self, event: Any) -> Any:
        self.mended = True
        return [Send("a", "mended")]


class Mends(Mended):
    persistent = ("mended",)

    def offline(self, event: Any) -> Any:
        self.mended = True
        return NOT_ENABLED


@both_searches
@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Mended, "a stopped member has none"), (Mends, "offline() returns NOT_ENABLED, and changes")],
)
def test_an_effect_of_a_stopped_member_without_a_receiver_is_refused(
    kind: type, expected: str, search: Callable[[World], Any]
) -> None:
    operator = Together("mend", {"a": Offline("mend")}, fair=False)
    given = world(kind, faults=Faults(crashes=1), together=[operator])

    assert expected in refused(given, search).message


class Listens:
    def __init__(self) -> None:
        self.heard = 0

    def receive(self, event: Any) -> Any:
        self.heard += 1
        return [Send("a", "heard")]


class Offering(Listens):
    def choices(self) -> Any:
        return ["listen"]


class Records(Steps):
    def receive(self, event: Any) -> Any:
        self.step += 1
        return [Record("went")]


@both_searches
@pytest.mark.parametrize(
    ("monitor", "expected"),
    [(Listens, "a monitor sends or records"), (Offering, "a monitor has choices()")],
)
def test_a_monitor_that_acts_is_refused(
    monitor: type, expected: str, search: Callable[[World], Any]
) -> None:
    assert expected in refused(world(Records, monitor=monitor), search).message


# -- members with one name ----------------------------------------------------------------------


@define
class Named:
    name: str
    step: int = 0

    def choices(self) -> Iterator[str]:
        if self.step == 0:
            yield "go"

    def receive(self, event: Any) -> None:
        self.step += 1


@both_searches
def test_members_that_read_the_last_name_of_a_loop_are_refused(
    search: Callable[[World], Any],
) -> None:
    """Python reads a variable when the function is called, not when it is made."""
    members = {name: lambda: Named(name) for name in "abc"}  # noqa: B023
    problem = refused(World(name="late", members=members, properties=[TRUE]), search)

    assert "members a and b are made alike" in problem.message
    assert "lambda name=name: ..." in problem.next


@both_searches
def test_members_with_the_same_name_are_refused(search: Callable[[World], Any]) -> None:
    members = dict.fromkeys("ab", lambda: Named("a"))
    problem = refused(World(name="one", members=members, properties=[TRUE]), search)

    assert "this member and member b are made alike, with name = 'a'" in problem.message


def test_members_of_one_world_may_share_a_loop_variable() -> None:
    """If a loop makes worlds, the members of one world may share the loop's variable."""
    for last in (1, 2):
        members = {name: lambda: Until(last) for name in "ab"}  # noqa: B023

        found = reported(World(name="alike", members=members, properties=[TRUE]))
        assert "holds" == found.result


@define
class Until:
    last: int
    step: int = 0

    def choices(self) -> Iterator[str]:
        if self.step < self.last:
            yield "go"

    def receive(self, event: Any) -> None:
        self.step += 1


# -- claims that cannot fail, useless parts -------------------------------------------------------


@both_searches
@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (always("all", lambda view: (one.step < 1 for one in view.values())), "always true"),
        (always("all", lambda view: view.values), "always true"),
        (always("all", lambda view: (len(view) > 5, "too few")), "the pair"),
        (always_each("all", lambda one: lambda: one.step < 1), "always true"),
    ],
)
def test_a_claim_whose_answer_is_always_true_is_refused(
    claim: Property, expected: str, search: Callable[[World], Any]
) -> None:
    assert expected in refused(world(Steps, claim), search).message


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"properties": (item for item in [TRUE])}, "can be read only once"),
        ({"properties": [always_each("e", bool, among=[])]}, "is among no members"),
        ({"faults": Faults(crashes=1, spared=frozenset("a"))}, "every member is spared"),
        ({"faults": Faults(partitions=1)}, "no split is possible"),
    ],
)
def test_a_part_of_a_world_that_no_search_could_use_is_refused(
    parts: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ModelProblem) as caught:
        World(**{"name": "w", "members": {"a": Steps}, "properties": [TRUE], **parts})

    assert expected in caught.value.message


def test_a_split_with_all_members_on_one_side_is_refused() -> None:
    with pytest.raises(ModelProblem, match="a split has all members on one side"):
        world(Steps, faults=Faults(partitions=1, splits=(frozenset("ab"),)))


def test_a_text_in_place_of_a_list_of_members_is_refused() -> None:
    with pytest.raises(ModelProblem, match="among is the text 'ab'"):
        always_each("e", bool, among="ab")


@both_searches
def test_wipes_without_durable_attributes_are_refused(search: Callable[[World], Any]) -> None:
    problem = refused(world(Steps, faults=Faults(wipes=1)), search)

    assert "no member has a disk" in problem.message


# -- results that are unknown ---------------------------------------------------------------------


class Rests:
    def receive(self, event: Any) -> Any:
        return NOT_ENABLED


class Turns(Rests):
    """Changes nothing: `self.` is missing."""

    def choices(self) -> Any:
        return ["go"]

    def receive(self, event: Any) -> Any:
        step = 1  # noqa: F841
        return None


class ForgetsToReturn(Steps):
    def shows(self) -> None:
        self.step  # noqa: B018


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (world(Rests), "no step is possible"),
        (world(Turns), "no step changes a state"),
        (
            world(ForgetsToReturn, always_pair("p", lambda a, b: a is None)),
            "shows() returns None in every state",
        ),
        (world(ForgetsToReturn, always("w", lambda view: True)), "shows() returns None"),
        (
            world(Steps, always_each("e", lambda one: True), start="down", within=lambda v: True),
            "",
        ),
    ],
)
def test_a_claim_that_no_state_or_step_tested_is_unknown(given: World, why: str) -> None:
    """The report has the reason.  The last world tests its claim, which holds."""
    found = check(given) if given.within else reported(given)

    if not why:
        assert "holds" == found.result
        return
    assert "incomplete" == found.result
    assert {"unknown"} == {item.result for item in found.properties}
    assert any(why in reason for reason in found.coverage.void.values())
    assert "UNDETERMINED" in summary(found)
    assert any(why in idle for idle in not_exercised(found))


def test_a_bound_that_is_never_true_leaves_all_claims_unknown() -> None:
    found = check(world(Steps, within=lambda view: False))

    assert ("incomplete", ["nothing is wrong"]) == (found.result, [*found.coverage.void])
    assert "within" in found.coverage.void["nothing is wrong"]


def test_a_no_deadlock_claim_that_allows_the_deadlock_holds() -> None:
    done = no_deadlock("rests", lambda view: True)

    assert "holds" == reported(world(Rests, done)).result


class Sleeps(Steps):
    def start(self) -> Any:
        return NOT_ENABLED


def test_a_claim_about_members_that_never_run_is_unknown() -> None:
    found = reported(
        World(
            name="asleep",
            members={"a": Steps, "b": Sleeps},
            start="down",
            properties=[always_each("b is fine", lambda one: False, among=["b"]), TRUE],
        )
    )

    assert {"b is fine": "none of its members ever runs"} == found.coverage.void
    assert ["unknown", "holds"] == [item.result for item in found.properties]
    assert "step: start (b)" in found.coverage.never


# -- parts listed as not exercised ------------------------------------------------------------


class Sends(Steps):
    persistent = ("step",)

    def choices(self) -> Any:
        return ["go", "rest"] if self.step < 1 else []

    def receive(self, event: Any) -> Any:
        match event:
            case "go":
                self.step += 1
                return [Broadcast("fallen through"), Broadcast(("refused", 1))]
            case Message(_, ("refused", _)) | "rest":
                return NOT_ENABLED


def test_messages_choices_and_disks_without_effect_are_reported() -> None:
    """No member takes one message, the other changes nothing, and no step changes the disk."""
    found = reported(world(Sends, sometimes("all went", lambda v: v["a"].step == v["b"].step == 1)))

    assert {
        "step: rest (a)",
        "step: rest (b)",
        "message “fallen through”: no step that takes it has an effect",
        "message “(refused, ...)”: no step takes it",
        "disk of a: no Persist() ever changed it",
        "disk of b: no Persist() ever changed it",
    } == set(found.coverage.never)


def test_a_budget_that_is_never_spent_is_reported() -> None:
    from joinproto.check import MessageBag

    found = reported(world(Steps, network=MessageBag(), faults=Faults(losses=1, duplicates=2)))

    assert {
        "fault: losses=1, and no such fault ever happened",
        "fault: duplicates=2, and no such fault ever happened",
    } <= set(found.coverage.never)


# -- likely causes of an unexpected result --------------------------------------------------------


class Phased(Steps):
    def shows(self) -> str:
        return ("idle", "waits", "inside")[self.step]


def test_a_report_says_if_shows_returns_none_in_every_state() -> None:
    """The report also says so if a claim fails for this reason."""
    found = reported(
        world(
            ForgetsToReturn,
            always_pair("one inside", lambda a, b: {a, b} != {"inside"}),
            eventually("all are in", lambda view: set(view.values()) == {"inside"}),
        )
    )

    assert "violated" == found.result
    assert any("shows() returns None in every state" in note for note in found.coverage.never)


def test_a_misspelt_text_of_a_claim_is_reported() -> None:
    """`always_pair` holds, and the `sometimes` is not reached: both name texts that no member
    shows.
    """
    found = reported(
        world(
            Phased,
            always_pair("one inside", lambda a, b: {a, b} != {"insied"}),
            sometimes("some wait", lambda view: "Waits" in view.values()),
            sometimes("some are idle", lambda view: "idle" in view.values()),
            always("none ends", lambda view: "ended" not in view.values()),
        )
    )

    named = [note for note in found.coverage.never if "did you mean" in note]
    assert named == [
        "“one inside” names 'insied', which no member shows: did you mean 'inside'?",
        "“some wait” names 'Waits', which no member shows: did you mean 'waits'?",
    ]
    assert dict.fromkeys("ab", ("idle", "inside", "waits")) == found.coverage.shown
    assert any("shown were a, b: idle, inside, waits" in idle for idle in not_exercised(found))


def test_shown_texts_are_reported_only_if_a_sometimes_was_not_reached() -> None:
    found = reported(world(Phased, sometimes("some wait", lambda view: "waits" in view.values())))

    assert ("holds", {}, ()) == (found.result, found.coverage.shown, found.coverage.never)


class NeverStops(Steps):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[int] = []
        self.same = self.log
        self.phase = 0

    def choices(self) -> Any:
        return ["go"]

    def receive(self, event: Any) -> Any:
        self.step += 1
        self.log.append(1)
        self.phase = 1 - self.phase


def test_an_unbounded_counter_is_reported_if_a_limit_ends_the_search() -> None:
    given = world(NeverStops)
    small = check_small(given, ends=Ends(states_max=300), bounds=USER_BOUNDS)

    for found in (check(given, states_max=300), small):
        assert found is not None
        assert {"a.step", "a.log", "a.same", "b.step", "b.log", "b.same"} == {
            text.split()[0] for text in found.coverage.growing
        }
        assert "grows a.step took values from 0 to" in " ".join(summary(found).split())


def test_a_search_that_no_limit_ended_reports_no_growing_values() -> None:
    assert () == reported(world(Steps)).coverage.growing
