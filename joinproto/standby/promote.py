"""A promotion: what a broker answers that is told to be primary, and what it is then.

Source: hot standby, H2, H3, H8.
"""

from __future__ import annotations

from attrs import frozen

from joinproto.machine.evaluate import members_of
from joinproto.machine.tables import Case
from joinproto.standby.broker import Mark, Role, Variant, word_of
from joinproto.standby.tables import AHEAD, BETTER, TABLES, WHY, Row, Verdict

BETTER_REAL = frozenset(Role) - {Role.CONNECTING, Role.STOPPED}
BETTER_OURS = frozenset({Role.BACKUP, Role.RECOVERING, Role.PRIMARY})


@frozen(kw_only=True)
class Peer:
    """Another broker.  `role`: None: it did not answer.

    `generation`, `number`: of the youngest view that it knows; `lost`: it follows no broker now,
    and its role is what it was before.
    """

    name: str
    role: Role | None
    generation: int = 0
    number: int = 0
    was_primary: bool = False
    lost: bool = False


@frozen(kw_only=True)
class Promotion:
    """`generation`, `number`: of the youngest view that it knows.

    `expected`: backups that were up to date at the last primary, and should come back.
    """

    me: str
    role: Role
    variant: Variant
    mark: Mark = Mark.CLEAN
    generation: int = 0
    number: int = 0
    was_primary: bool = False
    dropped: bool = False
    proven: bool = False
    peers: tuple[Peer, ...] = ()
    expected: tuple[str, ...] = ()


@frozen
class Promoted:
    """`generation`: that it writes before it serves; `waits_for`: H8, before it is primary."""

    verdict: Verdict
    case: Case[Verdict]
    role: Role
    generation: int | None
    waits_for: tuple[str, ...]
    why: str


def promote(about: Promotion) -> Promoted:
    """Return what becomes of it; a refusal changes nothing."""
    rows = rows_of(about)
    case = TABLES[about.variant].choose(rows, 0)
    better = [rows[at].name for at in members_of(BETTER, rows, 0)]
    ahead = [rows[at].name for at in members_of(AHEAD, rows, 0)]
    why = WHY[case.name].format(
        me=about.me,
        role=word_of(about.role, about.variant),
        better=_said(better, "answers, and has", "answer, and have"),
        ahead=_said(ahead, "knows", "know"),
        generation=about.generation,
    )
    if case.outcome is not Verdict.ACCEPTED:
        kept = about.generation if about.variant is Variant.OURS else None
        return Promoted(case.outcome, case, about.role, kept, (), why)
    waits = tuple(name for name in about.expected if name != about.me)
    # The document knows no state between promotion and serving: it confirms at once (LM5).
    between = Role.RECOVERING if about.variant is not Variant.SEED and waits else Role.PRIMARY
    known = [about.generation, *(peer.generation for peer in about.peers)]
    generation = max(known) + 1 if about.variant is Variant.OURS else None
    is_waiting = between is Role.RECOVERING
    return Promoted(case.outcome, case, between, generation, waits if is_waiting else (), why)


def _said(names: list[str], of_one: str, of_several: str) -> str:
    """Return names with what they do: "b knows", "b and c know"."""
    *but_last, last = names or [""]
    return f"{', '.join(but_last)} and {last} {of_several}" if but_last else f"{last} {of_one}"


def rows_of(about: Promotion) -> tuple[Row, ...]:
    """Return the rows of the tables: facts, nothing is decided here."""
    mine = Row(
        name=about.me,
        role=about.role,
        mark=about.mark,
        dropped=about.dropped,
        proven=about.proven,
    )
    return (mine, *(_row(about, peer) for peer in about.peers))


def _row(about: Promotion, peer: Peer) -> Row:
    if peer.role is None:
        return Row(name=peer.name, role=Role.STOPPED)
    if about.variant is Variant.OURS:
        has_more = peer.role in BETTER_OURS and not _was_left(peer, about)
        better = has_more or _was_later(peer, about)
    else:
        better = peer.role in BETTER_REAL
    return Row(
        name=peer.name,
        role=peer.role,
        answers=True,
        better=better,
        ahead=peer.generation > about.generation,
    )


def _was_left(peer: Peer, about: Promotion) -> bool:
    """Say whether it lost its primary in a view that is older than the promoted one's own.

    A broker that is in a view that was written has all that was confirmed until then, so such a
    backup has no more than the promoted one.  Otherwise: a is cut off, drops b and c, confirms
    alone, dies, and its store is marked clean; b and c refuse, for it knows of a younger view, and
    a would refuse for them, until an operator restarts both.  One that has a primary counts: that
    primary runs, though only this backup may reach it.
    """
    return peer.lost and (peer.generation, peer.number) < (about.generation, about.number)


def _was_later(peer: Peer, about: Promotion) -> bool:
    """Say whether, of two that start, the other one was primary in a generation as young."""
    same = peer.generation == about.generation > 0
    return peer.role is Role.CONNECTING and same and peer.was_primary and not about.was_primary
