"""Mutations of hot standby, at least one for each rule.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.step import Step
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.clients import Entrance
from joinproto.standby.events import Write, Written
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.promote import Promoted, Promotion
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replication import PrimaryStep
from joinproto.standby.variants import VariantRules
from joinproto_worlds.mutations.mutation import Mutation, changing, dropping, with_arrows

PROMOTE = "joinproto.standby.promote"


def _at_once(original: Callable[[Promotion], Promoted]) -> Callable[[Promotion], Promoted]:
    return lambda about: original(evolve(about, expected=()))


def _with_rules(name: str, **fields: bool) -> Mutation:
    """Return a mutation that gives our variant these rules of the prototype."""

    def make(original: Mapping[Variant, VariantRules]) -> Mapping[Variant, VariantRules]:
        return {**original, Variant.OURS: evolve(original[Variant.OURS], **fields)}

    return Mutation.of(name, "joinproto.standby.variants", "RULES", make)


def _never_backup(original: Callable[[], StateMachine[Role]]) -> Callable[[], StateMachine[Role]]:
    def stays(arrow: Arrow[Role]) -> Table[Role]:
        return evolve(arrow.table, cases=(_STAYS,)) if arrow.trigger == "look" else arrow.table

    machine = with_arrows(original(), stays)
    return lambda: machine


_STAYS = Case("H1", "it stays", ALWAYS, Role.CATCHUP)


def _stops_clean(_original: object) -> Callable[..., Mark]:
    return lambda _state, _event: Mark.CLEAN


def _ended_at_once(original: Callable[..., None]) -> Callable[..., None]:
    def ended(step: PrimaryStep, name: str, queue: str) -> None:
        one = step.state.followers[name]
        if queue in one.copying:
            copying = {**one.copying, queue: MessageQueue()}
            step.set_follower(name, evolve(one, copying=copying))
        original(step, name, queue)

    return ended


def _never_proven(original: Callable[..., bool]) -> Callable[..., bool]:
    return lambda _me, _stores, _chain: False


def _never(_original: object) -> Callable[..., bool]:
    return lambda _state, _me: False


def _everybody(original: Table[Entrance]) -> Table[Entrance]:
    return changing(original, "it follows", outcome=Entrance.ADMITTED)


def _confirming_early(
    selects: Callable[[Write], bool], *, keeps: bool
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a function that makes a primary's step treat the selected writes as durable at once.

    `keeps`: these writes come after all other effects; otherwise they are left out.
    """

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def lead(state: PrimaryState, event: Any) -> Any:
            found = original(state, event)
            writes = [one for one in found.effects if isinstance(one, Write) and selects(one)]
            effects = [one for one in found.effects if one not in writes]
            state = found.state
            for write in writes:
                more = original(state, Written(write.token))
                state, effects = more.state, [*effects, *more.effects]
            return Step(state, (*effects, *(writes if keeps else ())))

        return lead

    return make


def _former_heard(original: Callable[..., None]) -> Callable[..., None]:
    def connect(it: Any, one: str, other: str) -> None:
        unheard = it.links.get((one, other), ())
        original(it, one, other)
        if unheard:
            it.links[f"{one}?", other] = unheard

    return connect


PROMOTING = (
    # H1: a backup that has all messages stays in the role that catches up.
    Mutation.of("never-a-backup", "joinproto.standby.roles", "machine", _never_backup),
    # H2: an older generation is not refused.
    _with_rules("no-generations", generations=False),
    # H4: a primary confirms a message before its own store has it.
    Mutation.of(
        "confirms-before-it-keeps",
        "joinproto.standby.primary",
        "lead",
        _confirming_early(lambda _: True, keeps=True),
    ),
    # H4: a backup says that it has a message before its disk has it.
    Mutation.of(
        "says-before-it-keeps",
        "joinproto_worlds.standby.ports",
        "PendingAction.holds_back",
        lambda _: property(lambda _action: False),
    ),
    # LC2: a primary confirms a declaration before its own store has it.
    Mutation.of(
        "declares-before-it-keeps",
        "joinproto.standby.primary",
        "lead",
        _confirming_early(lambda write: not write.changes, keeps=False),
    ),
    # H4, LM4, LC2: a primary confirms before the members that are up to date have the change.
    _with_rules("transfers-at-once", holds_transfers=False),
    _with_rules("acknowledges-at-once", holds_acknowledgements=False),
    _with_rules("declares-at-once", holds_declarations=False),
    _with_rules("drops-unrecorded", records_drops=False),
    # Late messages of a former link are still heard; the names of links prevent that.
    Mutation.of(
        "former-link-heard", "joinproto.machine.world", "MachineWorld.connect", _former_heard
    ),
    # H5: a backup counts as caught up with a queue as soon as it has asked for the queue.
    Mutation.of("level-at-once", "joinproto.standby.replication", "_ended", _ended_at_once),
    # H6.
    _with_rules("no-bindings", mirrors_bindings=False),
    _with_rules("keeps-what-is-gone", deletes_absent=False),
    _with_rules("wiring-unnumbered", numbers_wiring=False),
    # H7.
    _with_rules("copies-everything", chooses=False),
    # H8.
    _with_rules("confirms-early", records_drops=False, holds_early=False),
    # H9.
    _with_rules("by-number", by_identity=False),
    _with_rules("transactions-apart", whole_transactions=False),
    # H10.
    Mutation.of("dirty-serves", PROMOTE, "TABLES", dropping("its store is dirty", of=Variant.OURS)),
    Mutation.of("waits-for-a-person", "joinproto.standby.managing", "is_proven", _never_proven),
    Mutation.of("empty-goes-on", "joinproto.standby.managing", "is_emptied", _never),
    Mutation.of("stops-clean", "joinproto.standby.machine", "_mark", _stops_clean),
    # H11.
    Mutation.of("lets-everybody-in", "joinproto.standby.clients", "ENTERING", _everybody),
    # A backup is promoted while it still catches up.
    Mutation.of(
        "promotes-who-catches-up", PROMOTE, "TABLES", dropping("it catches up", of=Variant.OURS)
    ),
    # H3: a backup prevents a promotion although the last primary has left it behind.
    Mutation.of("left-are-better", PROMOTE, "_was_left", lambda _: lambda _peer, _about: False),
    # A new primary waits for no member (LM5).
    Mutation.of("confirms-at-once", PROMOTE, "promote", _at_once),
)
"""Mutations of roles, confirmations, wiring and clients, and of our own promotion."""
