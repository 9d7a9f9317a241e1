"""Mutations of the Clusterer: each rule U1 to U7 left out once.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.clusterer.config import Age, Config, Held
from joinproto.clusterer.state import State, Step
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import Does, Seen
from joinproto.erlang_terms import Atom, Term, Tuple
from joinproto.tables.tables import Table
from models.mutations.mutation import Mutation, Patch, changing, without

TABLES = "joinproto.clusterer.tables"
ROUNDS = "joinproto.clusterer.rounds"


def _older_wins(original: Callable[[Config, Config], Age]) -> Callable[[Config, Config], Age]:
    def compare(one: Config, other: Config) -> Age:
        return original(other, one)

    return compare


def _gospel_unchecked(original: Callable[..., Any]) -> Callable[..., Any]:
    def gospel(found: Term, nodes: frozenset[str]) -> str | None:
        match found:
            case Tuple((Atom("node"), Atom(name))):
                return name
        return original(found, nodes)  # type: ignore[no-any-return]

    return gospel


def _everybody_leads(_original: object) -> Callable[..., Any]:
    def seen_by(state: State, statuses: Mapping[str, Status]) -> tuple[Seen, ...]:
        from joinproto.clusterer.rounds import seen

        rows = seen(state.config_now.config, state.who.me, state.status, statuses, state.ran)
        return tuple(row if row.other else evolve(row, leads=True) for row in rows)

    return seen_by


def _ran_forgotten(original: Callable[..., Any]) -> Callable[..., Any]:
    def seen_by(state: State, statuses: Mapping[str, Status]) -> Any:
        return original(evolve(state, ran=frozenset()), statuses)

    return seen_by


def _always_granted(table: Table[Any]) -> Table[Any]:
    return evolve(table, cases=table.cases[-1:])


def _contacts_kept(original: Callable[..., Step]) -> Callable[..., Step]:
    def left(step: Step, new: Held, *, stops: bool) -> Step:
        contacts = step.state.contacts
        return original(step, new, stops=stops).then(contacts=contacts)

    return left


CLUSTERER = (
    Mutation("older-wins", (Patch("joinproto.clusterer.config", "compare", _older_wins),)),
    Mutation(
        "gospel-unchecked", (Patch("joinproto.clusterer.reading", "_gospel", _gospel_unchecked),)
    ),
    Mutation(
        "gospel-by-name",
        (Patch(TABLES, "COMPATIBLE", lambda table: without(table, "another gospel of that name")),),
    ),
    Mutation("everybody-leads", (Patch(ROUNDS, "seen_by", _everybody_leads),)),
    Mutation(
        "ready-not-joined",
        (Patch(TABLES, "JOIN", lambda table: without(table, "somebody is ready")),),
    ),
    Mutation("ran-forgotten", (Patch(ROUNDS, "seen_by", _ran_forgotten),)),
    Mutation("locks-always-granted", (Patch(TABLES, "LOCKS", _always_granted),)),
    Mutation("contacts-kept", (Patch("joinproto.clusterer.beginning", "_left", _contacts_kept),)),
    Mutation(
        "waits-uninterrupted",
        (
            Patch(
                TABLES,
                "FROM_PEER",
                lambda table: changing(table, "younger, in transition", outcome=Does.IGNORE),
            ),
        ),
    ),
)
"""The rules of the Clusterer, U1 to U7."""
