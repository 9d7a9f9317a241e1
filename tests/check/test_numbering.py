"""A search that continues with an earlier search's numbers finds the same without new calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given, settings

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.engine.claims.found import Found
from joinproto.check.engine.claims.judge import Judge
from joinproto.check.engine.search import Search
from joinproto.check.engine.tables import answers as answers_module
from joinproto.check.engine.tables import kept_values
from joinproto.check.engine.tables.answers import Answers
from joinproto.check.engine.tables.kept_file import AnswersFile
from joinproto.check.world import World
from tests.check.compare import assert_same_search, explored
from tests.check.random_models import SETS, Plan, build, plans
from tests.check.test_contents import always_numbered

STATES_MAX = 600


class AnyNames(kept_values.Names):
    @classmethod
    def of(cls, value: Any, allows: Callable[[str], bool] = bool) -> kept_values.Names:
        return super().of(value, bool)


@pytest.fixture(autouse=True, scope="module")
def random_models_may_be_read() -> Iterator[None]:
    with mock.patch.object(answers_module, "Names", AnyNames):
        yield


def answers_in(path: Path, least: int = 1) -> Answers:
    return Answers(AnswersFile(path, lambda: bytes(32), fail_if_told), least)


def fail_if_told(line: str) -> None:
    raise AssertionError(line)


def searched_twice(world: World, path: Path) -> tuple[Search, Search]:
    """Return a search of the world, and a second search that uses the first one's answers."""
    first = Search(world, stop_at_violation=False, answers=answers_in(path))
    first.run()
    first.keep_answers()
    second = Search(world, stop_at_violation=False, answers=answers_in(path))
    second.run()
    return first, second


def assert_same_with_numbers(plan: Plan) -> None:
    found = explored(build(plan), STATES_MAX)
    assume(found is not None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kept"
        first, again = searched_twice(build(plan), path)
        assert again.answers is not None
        assert again.answers.taken
        # Without samples, the search must not call the members at all.
        with (
            mock.patch("tests.check.compare.Search", numbered_from(path)),
            mock.patch.object(answers_module, "SAMPLES", 0),
        ):
            assert_same_search(build(plan), found)
    assert found is not None
    assert [*first.tables.outcomes] == [*again.tables.outcomes]
    negative = range(-len(first.tables.outcomes), 0)
    assert [*first.tables.outcomes] == [again.tables.outcomes[at] for at in negative]
    assert first.judge.broken == again.judge.broken
    assert (found.distinct, found.generated) == (again.states.count, again.found.generated)


def numbered_from(path: Path) -> type[Search]:
    class Numbered(Search):
        def __init__(self, world: World, **options: Any) -> None:
            super().__init__(world, answers=answers_in(path), **options)

        def run(self) -> Found:
            before = self.tables.codes.calls
            with mock.patch.object(Judge, "_ask_about_new", side_effect=AssertionError):
                found = super().run()
            assert before == self.tables.codes.calls
            return found

    return Numbered


@settings(max_examples=settings().max_examples // 2)
@given(plans())
def test_a_random_world_is_searched_alike_with_and_without_kept_numbers(plan: Plan) -> None:
    """States, steps and counts are equal, for each network and fault, monitors and joint steps."""
    assert_same_with_numbers(plan)


@settings(max_examples=settings().max_examples // 2)
@given(plans(networks=tuple(SETS)))
def test_a_world_with_numbered_contents_is_searched_alike_with_kept_numbers(plan: Plan) -> None:
    with always_numbered():
        assert_same_with_numbers(plan)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_later_search_with_other_workers_uses_the_kept_answers(
    tmp_path: Path, workers: int
) -> None:
    """The number of workers makes no difference; a search with symmetry uses no kept answers."""
    world = load_world("two-phase-commit", members=4)
    first = check(world, answers=answers_in(tmp_path / "kept"), workers=workers)
    second = check(world, answers=answers_in(tmp_path / "kept"), workers=3 - workers)
    alike = check(world, answers=answers_in(tmp_path / "kept"), symmetry=True)
    last = check(world, answers=answers_in(tmp_path / "kept"))

    assert first.levels == second.levels == last.levels
    assert first.properties == second.properties == last.properties
    assert [0, 1, 0, 1] == [len(report.notes) for report in (first, second, alike, last)]


def test_a_stopped_search_with_kept_numbers_has_the_coverage_of_a_search_without(
    tmp_path: Path,
) -> None:
    """Numbers of further states, from an earlier search, do not change the coverage."""
    world = load_world("durable-vote-wiped")
    cold = check(world, states_max=5)
    check(world, answers=answers_in(tmp_path / "kept"))
    warm = check(world, answers=answers_in(tmp_path / "kept"), states_max=5)

    assert warm.stopped_by
    assert len(warm.notes) == 1 + len(cold.notes)
    assert cold.coverage == warm.coverage


def test_a_file_of_an_earlier_format_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"joinproto answers 1\n" + bytes(200))

    report = check(load_world("ring-election"), answers=answers_in(tmp_path / "kept"))

    assert ("holds", ()) == (report.result, report.notes)
