"""Mutations of the Clusterer's rules.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.clusterer.beginning import config_messages
from joinproto.clusterer.booting import struck
from joinproto.clusterer.config import Age, Config, Held
from joinproto.clusterer.messages import Boot, BootBroker
from joinproto.clusterer.polling import seen
from joinproto.clusterer.state import State, Step
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import Does, WaitingPeer
from joinproto.codec.erlang_terms import Atom, Term, Tuple
from joinproto_worlds.mutations.mutation import Mutation, Patch, changing, dropping

TABLES = "joinproto.clusterer.tables"
ROUNDS = "joinproto.clusterer.polling"
APART = "the gospel was out in between"


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
    def seen_by(state: State, statuses: Mapping[str, Status]) -> tuple[WaitingPeer, ...]:
        rows = seen(state.config_now.config, state.who.me, state.status, statuses, state.record.ran)
        return tuple(row if row.other else evolve(row, leads=True) for row in rows)

    return seen_by


def _ran_forgotten(original: Callable[..., Any]) -> Callable[..., Any]:
    def seen_by(state: State, statuses: Mapping[str, Status]) -> Any:
        return original(evolve(state, record=evolve(state.record, ran=())), statuses)

    return seen_by


def _contacts_kept(original: Callable[..., Step]) -> Callable[..., Step]:
    def left(step: Step, new: Held, *, stops: bool) -> Step:
        contacts = step.state.contacts
        return original(step, new, stops=stops).then(contacts=contacts)

    return left


def _word_believed(original: Callable[..., bool]) -> Callable[..., bool]:
    def boot(me: str, does: BootBroker, *rest: Any) -> bool:
        own = does.how is Boot.OWN
        return original(me, evolve(does, how=Boot.FIRST) if own else does, *rest)

    return boot


def _late_kept(original: Callable[..., Step]) -> Callable[..., Step]:
    def answered(state: State, sender: str, token: int, *, granted: bool) -> Step:
        round_ = state.round
        if round_ is None or round_.token != token:
            return Step(state)
        return original(state, sender, token, granted=granted)

    return answered


def _word_refused(_original: object) -> Callable[..., bool]:
    def has_the_same_data(state: State, remote: Held, sender: str) -> bool:
        said = remote.ids.get(sender)
        is_known = said == state.config_now.ids.get(sender)
        return is_known or remote.ids.get(state.who.me) == state.identity

    return has_the_same_data


def _never(_original: object) -> Callable[..., bool]:
    return lambda *_: False


def _own_word_lost(_original: object) -> Callable[..., Any]:
    return lambda _ready, held: held.ids


def _older_word_lost(_original: object) -> Callable[..., Any]:
    return lambda state, *_, **__: state.config_now


def _paused_unready(state: State, *, paused: bool) -> Step:
    return Step(evolve(state, paused=paused))


CLUSTERER = (
    Mutation.of("older-wins", "joinproto.clusterer.config", "compare", _older_wins),
    Mutation.of("gospel-unchecked", "joinproto.clusterer.reading", "_gospel", _gospel_unchecked),
    Mutation.of("gospel-by-name", TABLES, "COMPATIBLE", dropping("another gospel of that name")),
    Mutation.of("everybody-leads", ROUNDS, "seen_by", _everybody_leads),
    Mutation.of("ready-not-joined", TABLES, "JOIN", dropping("a node is ready")),
    Mutation.of("ran-forgotten", ROUNDS, "seen_by", _ran_forgotten),
    Mutation.of(
        "stops-not-compared",
        "joinproto.clusterer.polling",
        "stopped_earlier",
        lambda _: lambda *_: frozenset(),
    ),
    Mutation.of(
        "locks-always-granted", TABLES, "LOCKS", lambda table: evolve(table, cases=table.cases[-1:])
    ),
    Mutation.of("contacts-kept", "joinproto.clusterer.beginning", "_left", _contacts_kept),
    Mutation.of(
        "waits-uninterrupted",
        TABLES,
        "FROM_PEER",
        lambda table: changing(table, "younger, in transition", outcome=Does.IGNORE),
    ),
    Mutation.of("conflict-merged", TABLES, "ROUND", dropping("two contents of one version")),
    Mutation(
        "own-lock-first",
        (
            Patch(
                "joinproto.clusterer.locking",
                "least",
                lambda _: lambda round_, me: min(round_.left, key=lambda name: (name != me, name)),
            ),
            Patch(
                "joinproto.clusterer.locking",
                "_refused",
                lambda _: lambda state, _node: Step(evolve(state, round=None)),
            ),
        ),
    ),
    Mutation(
        "word-believed",
        (
            Patch("joinproto.clusterer.booting", "is_alone", lambda _: lambda *_: False),
            Patch("joinproto.clusterer.broker", "boot", _word_believed),
        ),
    ),
    Mutation.of(
        "gospel-told-unasked",
        "joinproto.clusterer.beginning",
        "unachieved_config_messages",
        lambda _: lambda _state, nodes, held: config_messages(nodes, held),
    ),
    Mutation.of(
        "paused-forgets",
        TABLES,
        "FROM_PEER",
        lambda table: changing(table, "the broker is paused", outcome=Does.IGNORE),
    ),
    Mutation.of("paused-told", TABLES, "FROM_PEER", dropping("the broker is paused")),
    Mutation.of(
        "paused-unready", "joinproto.clusterer.coordinator", "_paused", lambda _: _paused_unready
    ),
    Mutation(
        "late-lock-kept",
        (
            Patch("joinproto.clusterer.locking", "answered", _late_kept),
            Patch(
                "joinproto.clusterer.locking",
                "answer",
                lambda original: lambda state, _sender: original(state, ""),
            ),
        ),
    ),
    Mutation.of("word-refused", "joinproto.clusterer.booting", "has_the_same_data", _word_refused),
    Mutation(
        "later-ignored",
        (
            Patch(
                "joinproto.clusterer.identities",
                "known",
                lambda _: lambda first, second: first.over(second),
            ),
            Patch("joinproto.clusterer.transitioner", "learned", _older_word_lost),
        ),
    ),
    Mutation(
        "left-out-stays",
        (
            Patch("joinproto.clusterer.booting", "missed_its_leaving", _never),
            Patch("joinproto.clusterer.transitioner", "goes_without", _never),
        ),
    ),
    Mutation.of("gospel-followed", TABLES, "COMPATIBLE", dropping(APART)),
    Mutation.of(
        "leaving-forgotten",
        "joinproto.clusterer.identities",
        "returning",
        lambda _: lambda new, *_: new,
    ),
    Mutation(
        "memory-believed",
        (
            Patch(
                "joinproto.clusterer.transitioner",
                "told_by_ready",
                lambda _: lambda said, held: said.ids.over(held.ids),
            ),
            Patch("joinproto.clusterer.transitioner", "of_themselves", _own_word_lost),
            Patch("joinproto.clusterer.booting", "has_wanted_data", lambda _: lambda *_: True),
        ),
    ),
    Mutation.of(
        "own-word-lost", "joinproto.clusterer.transitioner", "of_themselves", _own_word_lost
    ),
    Mutation.of("older-word-lost", "joinproto.clusterer.transitioner", "learned", _older_word_lost),
    Mutation.of("lost-is-gone", "joinproto.clusterer.booting", "doubted", lambda _: struck),
    Mutation.of(
        "data-unnamed",
        "joinproto.clusterer.identities",
        "data_of",
        lambda _: lambda _identity: None,
    ),
)
