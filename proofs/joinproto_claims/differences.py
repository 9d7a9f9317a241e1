"""Differences between the note's verdicts and the shipped ones, for all small sets of members.

Differences are listed here with their reasons.  A difference that is not listed is a failure, and
so is a listed difference that is not found.  Each difference is printed with its smallest example.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement

from attrs import evolve, frozen

from joinproto.join.hypothetical import ChainStatus
from joinproto.join.rules import CHAIN_RULES
from joinproto.machine.vocabulary import Phase, Status, Store
from joinproto.reference.note.rules import note_rules
from joinproto_claims.tables import Finding

MEMBERS_MAX = 3


@frozen(order=True)
class Difference:
    """A difference: rule and phase on each side.  Two rules for one phase are two differences."""

    note_rule: str
    note: str
    chain_rule: str
    chain: str

    def __str__(self) -> str:
        return (
            f"the note: {self.note} ({self.note_rule}), the chain: {self.chain} ({self.chain_rule})"
        )


WHY: Mapping[Difference, str] = {
    Difference("I3", "active", "I3", "ready"): "no member serves before all members are ready",
    Difference("I8", "active", "I8", "ready"): "I8 holds for a clean member, too",
    Difference("I6", "aborted", "I6", "initializing"): "the clean store may be a second away",
    Difference("I3", "active", "I1", "initializing"): "a member that keeps nothing cannot vote",
    Difference("I2", "aborted", "I1", "initializing"): "a member that keeps nothing cannot vote",
    Difference("I7", "updating", "J3", "aborted"): "a branch of this cluster is overwritten by"
    " no member",
    Difference("I8", "active", "J3", "aborted"): "a branch of this cluster is next to it",
    Difference("J2", "joining", "J3", "aborted"): "a store that is newer than the cluster is"
    " refused, and nothing is overwritten",
}

KINDS: tuple[Status, ...] = (
    Status("", Store.NONE),
    Status("", Store.EMPTY),
    *(Status("", Store.CLEAN, initial=one, final=other) for one in "XY" for other in "FG"),
    *(Status("", Store.DIRTY, initial=one) for one in "XY"),
    ChainStatus("", Store.DIRTY, initial="X", lineage=("X", "V")),
    Status("", Store.NONE, active=True),
    Status("", Store.DIRTY, initial="X", active=True),
    ChainStatus("", Store.DIRTY, initial="X", lineage=("X",), active=True),
)


def compare() -> Iterator[Finding]:
    """Yield a finding about each difference, and a finding whether all are listed."""
    began = time.process_time()
    found, asked = differences()
    seconds = time.process_time() - began
    for difference in sorted({*found, *WHY}):
        words = f"tables: {difference}"
        if difference not in found:
            yield Finding(
                words,
                "fails",
                0.0,
                "listed in proofs/joinproto_claims/differences.py, and not found",
            )
        elif difference not in WHY:
            yield Finding(words, "fails", 0.0, f"not listed; {found[difference]}")
        else:
            yield Finding(words, "proved", 0.0, f"{WHY[difference]}; {found[difference]}")
    words = f"tables: the note and the chain say the same otherwise, of {asked:,} sets of members"
    yield Finding(words, "proved" if found.keys() <= WHY.keys() else "fails", seconds)


def differences() -> tuple[dict[Difference, str], int]:
    """Return each difference with its smallest example, and the number of compared sets of
    members.
    """
    note = note_rules()
    found: dict[Difference, str] = {}
    asked = 0
    for members in sets_of_members():
        asked += 1
        for me, status in enumerate(members):
            one, other = note.choose(members, me), CHAIN_RULES.choose(members, me)
            if one is None or other is None or one.outcome is other.outcome:
                continue
            phases = Phase(one.outcome), Phase(other.outcome)
            difference = Difference(one.label, phases[0].value, other.label, phases[1].value)
            found.setdefault(difference, f"for {status.id} among {members_in_words(members)}")
    return found, asked


def sets_of_members() -> Iterator[tuple[Status, ...]]:
    """Yield all sets of up to `MEMBERS_MAX` members, for each N.

    Each set comes twice: with one set of options, and with other options in the last member.
    """
    for size in range(1, MEMBERS_MAX + 1):
        for kinds in combinations_with_replacement(KINDS, size):
            for wait_for in range(1, size + 1):
                for other in (False, True):
                    yield tuple(
                        evolve(
                            kind,
                            id="abc"[at],
                            wait_for=wait_for,
                            options=(("queue", "other" if other and at == size - 1 else "one"),),
                        )
                        for at, kind in enumerate(kinds)
                    )


def members_in_words(members: tuple[Status, ...]) -> str:
    words = []
    for status in members:
        parts = [status.id, "active" if status.active else "", status.store.value]
        lineage = status.lineage if isinstance(status, ChainStatus) else ()
        parts += [str(one) for one in lineage or (status.initial, status.final) if one is not None]
        parts += ["other options"] if dict(status.options)["queue"] == "other" else []
        words.append(" ".join(filter(None, parts)))
    return f"{', '.join(words)}; N = {members[0].wait_for}"
