"""Random models in ordinary Python: the checker agrees with a search that shares no code.

`python -m tools.soundness --models 100000` compares many more.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner

from joinproto.check import freeze, freezing, member_objects, member_steps, type_handlers
from joinproto.check.local import LocalState
from joinproto.check.network import MessageSet
from tools.soundness import compare
from tools.soundness.__main__ import main
from tools.soundness.plain_runs import search
from tools.soundness.plain_search import Setting
from tools.soundness.random_model import Model, write

STATES_MAX = 60


def different(seeds: Iterable[int]) -> list[tuple[int, str]]:
    found = [(seed, compare.compare(write(seed), states_max=STATES_MAX)) for seed in seeds]
    return [(seed, item.said) for seed, item in found if item.verdict == "different"]


def test_the_checker_agrees_with_the_plain_search_on_random_models() -> None:
    assert [] == different(range(60))


@pytest.mark.soak("mutants")
def test_the_checker_agrees_with_the_plain_search_on_three_thousand_random_models() -> None:
    assert [] == different(range(1_000, 4_000))


def test_the_same_seed_gives_the_same_model() -> None:
    assert write(7) == write(7)
    assert write(7).source != write(8).source


# -- former errors of the checker, put back --------------------------------------------------


def no_types(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type_handlers, "TRUE", 1)
    patch.setattr(type_handlers, "FALSE", 0)


def no_floats(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(freezing.HANDLERS, float, type_handlers._Itself())


def no_second_names(patch: pytest.MonkeyPatch) -> None:
    def frozen_alone(values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([freeze.freeze(value) for value in values])

    patch.setattr(member_objects, "freeze_all", frozen_alone)


def dropped_crashes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(member_steps.MemberSteps, "_crash_counts_at_once", lambda code, event: False)


def restarts_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        member_steps.MemberSteps, "_stopped", lambda code, disk: LocalState(False, (), disk)
    )


def private_types(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(member_steps, "thaw_event", lambda event, backwards=False: event)


def senders_are_kept(patch: pytest.MonkeyPatch) -> None:
    """A set of messages without senders distinguishes messages by their senders."""
    patch.setitem(compare.NETWORKS, "set of nobody", MessageSet(broadcasts="each"))


def first_starts_are_restarts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        member_objects.MemberObjects,
        "shares_disk",
        property(lambda _: False, _ignore),
        raising=False,
    )


def _ignore(objects: Any, value: bool) -> None:
    """Ignore the value, so that every first start is a restart."""


def idle_rests_are_no_crashes(patch: pytest.MonkeyPatch) -> None:
    """A crash is left out if the rest of the step changes neither disk nor network."""
    perform = member_steps.MemberSteps._perform

    def less(*asked: Any) -> Any:
        step, *crashes = perform(*asked) or (None,)
        done = step and (step.after.disk, step.sent, step.recorded)
        found = [one for one in crashes if (one.after.disk, one.sent, one.recorded) != done]
        return step and (step, *found)

    patch.setattr(member_steps.MemberSteps, "_perform", less)


def equal_is_the_same(patch: pytest.MonkeyPatch) -> None:
    """Equal Decimals, and equal moments in two time zones, are one value."""
    for kind in (Decimal, dt.datetime):
        patch.setitem(freezing.HANDLERS, kind, type_handlers._Wrapped())


def fields_are_all(patch: pytest.MonkeyPatch) -> None:
    """A dataclass has only its fields, even if a base class has more slots."""
    patch.setattr(type_handlers, "has_only", lambda kind, names: not kind.__dictoffset__)


def broadcasts_are_one(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(compare.NETWORKS, "set of each", MessageSet())


@pytest.mark.soak("mutants")
@pytest.mark.parametrize(
    "break_it",
    [
        no_types,
        no_floats,
        no_second_names,
        dropped_crashes,
        restarts_for_all,
        private_types,
        senders_are_kept,
        broadcasts_are_one,
        first_starts_are_restarts,
        idle_rests_are_no_crashes,
        equal_is_the_same,
        fields_are_all,
    ],
    ids=lambda function: function.__name__,
)
def test_each_old_mistake_is_found_again(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A value that the mistake freezes wrongly must not be cached for other tests.
    for name in ("_memory", "_equal"):
        monkeypatch.setattr(freezing, name, {})
    break_it(monkeypatch)

    # The first model that differs is enough.
    assert any(different([seed]) for seed in range(2_000))


# -- the plain search itself, and the command --------------------------------------------


class Light:
    """Turns itself on, once."""

    def __init__(self) -> None:
        self.on = False

    def choices(self) -> list[str]:
        return [] if self.on else ["on"]

    def receive(self, event: object) -> None:
        self.on = True


def test_the_plain_search_finds_the_states_that_are_counted_by_hand() -> None:
    """Two lights have 4 states.  A crash adds 2 by 2 states, and a restart adds 4 again."""
    makers = {"a": Light, "b": Light}

    assert 4 == len(search(Setting(makers, "bag"), states_max=100).states)
    assert (1, 2, 1) == search(Setting(makers, "bag"), states_max=100).levels()
    ended = search(Setting(makers, "bag", {"crashes": 1}, restarts=False), states_max=100)
    assert 4 + 2 * 2 == len(ended.states)
    again = search(Setting(makers, "bag", {"crashes": 1}), states_max=100)
    assert 4 + 2 * 2 + 4 == len(again.states)


def test_a_difference_ends_the_command_with_exit_code_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restarts_for_all(monkeypatch)

    done = CliRunner().invoke(main, ["--models", "30", "--states", "40", "--json"])

    assert 1 == done.exit_code
    found = json.loads(done.stdout)
    assert found["different"]
    assert 30 == found["models"]


def test_the_command_reports_the_number_of_different_models() -> None:
    done = CliRunner().invoke(main, ["--models", "3", "--states", "30"])

    assert 0 == done.exit_code
    assert "3 models from seed 0" in done.stdout
    assert "0 different" in done.stdout


def test_a_model_that_the_checker_may_refuse_has_a_list_as_a_default() -> None:
    models: list[Model] = [write(seed) for seed in range(200)]

    assert any(model.may_refuse for model in models)
    assert all("default=[]" in model.source for model in models if model.may_refuse)
