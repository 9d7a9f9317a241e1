"""Mutations: each still finds its target, replaces it, and puts the original back."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.errors import MisuseError, UsageProblem
from joinproto.join import succession
from joinproto.join.frames import may_append
from joinproto.join.phases import standing
from joinproto.join.succession import going_on, reopening
from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.join import member as join_member
from joinproto_worlds.mutations.catalogue import MUTATIONS
from joinproto_worlds.mutations.mutation import Mutation, Patch, applied, changing, inside, without
from joinproto_worlds.mutations.named import mutation
from tools.torture import MUTANTS

TABLES = {
    ("joinproto.join.successor", "founding"),
    ("joinproto.join.successor", "going_on"),
    ("joinproto.join.successor", "reopening"),
    ("joinproto.join.phases", "machine"),
    ("joinproto.reference.note.machine", "note_machine"),
    ("joinproto.standby.roles", "machine"),
}
"""The tables that can be compared: a module, and the function in it that returns the table."""


def table_of(module: str, name: str) -> Any:
    """Return the table that the function returns now; for a machine, its arrows."""
    table = getattr(import_module(module), name)()
    return getattr(table, "arrows", table)


def attributes() -> dict[tuple[str, str], Any]:
    """Return the attributes of all loaded modules of joinproto, and of their classes."""
    found: dict[tuple[str, str], Any] = {}
    for title, module in sorted(sys.modules.items()):
        if title.partition(".")[0] not in ("joinproto", "joinproto_worlds"):
            continue
        for name, one in list(vars(module).items()):
            found[title, name] = one
            if isinstance(one, type) and one.__module__ == title:
                found |= {(f"{title}.{name}", key): item for key, item in vars(one).items()}
    return found


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_replaces_its_targets_and_puts_them_back(name: str) -> None:
    """No attribute with another name changes."""
    mutation = MUTATIONS[name]
    with applied(mutation):
        pass  # now its modules are imported
    before = attributes()

    with applied(mutation):
        mutated = attributes()

    changed = {key[1] for key, one in before.items() if mutated[key] is not one}
    assert {patch.path.rpartition(".")[2] for patch in mutation.patches} == changed
    after = attributes()
    assert not [key for key, one in before.items() if after[key] is not one]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_replaced_table_differs_from_the_original(name: str) -> None:
    tables = {(one.module, one.path) for one in MUTATIONS[name].patches} & TABLES
    before = {table: table_of(*table) for table in tables}

    with applied(MUTATIONS[name]):
        for table in tables:
            assert before[table] != table_of(*table)


def test_every_module_that_imported_a_function_has_the_replacement() -> None:
    """The modules are the defining one, the member and the world's member."""
    frames = import_module("joinproto.join.frames")
    member = import_module("joinproto.join.member")

    with applied(MUTATIONS["older-frame-accepted"]):
        functions = {vars(one)["may_append"] for one in (frames, member, join_member)}

    assert 1 == len(functions)
    assert may_append not in functions


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("joinproto.join.phases", "no_such_table"),
        ("joinproto.join.choice", "Choice.no_such_step"),
        ("joinproto.join.choice", "NoSuchClass.begin"),
        # An attribute of a base class must be named in the base class.
        ("joinproto.join.choice", "Choice._founders_answered"),
    ],
)
def test_the_error_names_a_missing_target(module: str, path: str) -> None:
    """Earlier replacements of the same mutation are put back."""
    before = attributes()
    patches = (
        Patch("joinproto.join.succession", "founding", lambda _: reopening),
        Patch(module, path, lambda one: one),
    )

    with pytest.raises(MisuseError, match=f"mutation broken: .* no {module}.{path}"):
        Mutation("broken", patches).apply()

    after = attributes()
    assert not [key for key, one in before.items() if after[key] is not one]


def test_the_error_names_a_missing_case() -> None:
    with pytest.raises(MisuseError, match="chain-standing has no case 'none'"):
        without(standing(), "none")
    with pytest.raises(MisuseError, match="chain-going-on has no case 'none'"):
        changing(going_on(), "none", label="I1")


def test_an_unknown_mutation_is_refused() -> None:
    assert mutation(None) is None
    with pytest.raises(UsageProblem, match="no mutation 'x'"):
        mutation("x")


def test_the_originals_are_back_after_an_error_in_the_block() -> None:
    """The end of an inner block of the same mutation puts no original back."""
    before = attributes()

    def fails() -> None:
        with applied(MUTATIONS["minority"]):
            with applied(MUTATIONS["minority"]):
                pass
            assert before != attributes()
            raise KeyError

    with pytest.raises(KeyError):
        fails()

    after = attributes()
    assert not [key for key, one in before.items() if after[key] is not one]


def test_a_generator_runs_without_the_rule_and_its_caller_with_it() -> None:
    """A search reads a member's effects one by one, and calls other members in between."""

    class Asking:
        @inside(lambda _: MUTATIONS["close-before-all-are-quiet"])
        def ask(self) -> Iterator[object]:
            for _ in range(2):
                yield succession.going_on()

    whole = going_on()

    for lacking in Asking().ask():
        assert whole != lacking
        assert whole == succession.going_on()


def test_a_mutated_world_is_pickled_with_the_name_of_its_mutation() -> None:
    """The search on Spark pickles worlds for workers in other processes."""
    world = load_world("join-two", mutant="tip-is-data")
    member = next(iter(world.members.values()))
    assert isinstance(member, partial)

    arrived = pickle.loads(pickle.dumps(member))()

    assert "tip-is-data" == arrived.plan.mutation


def test_a_search_without_a_rule_changes_no_other_search() -> None:
    """The original is back between two calls of members, so searches share no state."""
    first = check(load_world("chain-register-observer"))
    check(load_world("chain-register", mutant="minority"))
    again = check(load_world("chain-register-observer"))

    assert (first.distinct, first.generated) == (again.distinct, again.generated)


def test_every_mutation_is_a_mutant_of_a_world_or_of_a_storm() -> None:
    """A world or random runs must fail with it."""
    mutants = {mutant for item in ENTRIES for mutant in item.mutants} | set(MUTANTS)

    assert set(MUTATIONS) <= mutants
