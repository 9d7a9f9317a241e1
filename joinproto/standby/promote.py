"""A promotion: the answer of a broker that is told to become primary, and its role after it.

Source: hot standby, H2, H3, H8.
"""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from joinproto.ask.question import ByCase, Named, Why
from joinproto.codec.json_form import Key, Last
from joinproto.machine.compiled import members_of
from joinproto.machine.tables import Case
from joinproto.standby.broker import (
    AS_WORD,
    GENERATION,
    NUMBER,
    STATUS,
    WAS_PRIMARY,
    WHOSE,
    WORD_OR_NULL,
    Mark,
    Role,
    Variant,
    word_of,
)
from joinproto.standby.tables import AHEAD, BETTER, TABLES, WHY, Row, Verdict

OCF_SUCCESS, OCF_ERR_GENERIC = 0, 1
BETTER_REAL = frozenset(Role) - {Role.CONNECTING, Role.STOPPED}
BETTER_OURS = frozenset({Role.BACKUP, Role.RECOVERING, Role.PRIMARY})


@frozen(kw_only=True)
class Peer:
    """Another broker.

    `generation`, `number`: of the youngest view that it knows.
    """

    name: Annotated[str, "of the broker"]
    role: Annotated[
        Role | None, Key("status"), WORD_OR_NULL, f"{STATUS}; null: it does not answer"
    ] = None
    generation: Annotated[GENERATION, "of the last primary it knows"] = 0
    number: NUMBER = 0
    was_primary: WAS_PRIMARY = False
    lost: Annotated[bool, "its primary is gone: its status is what it was before (ours)"] = False


@frozen(kw_only=True)
class Promotion:
    """A broker that is told to be primary.

    `generation`, `number`: of the youngest view that it knows.
    """

    variant: WHOSE = Variant.OURS
    me: Annotated[str, Key("name"), "of the broker"]
    role: Annotated[Role, Key("status"), AS_WORD, STATUS]
    mark: Annotated[Mark, Key("store"), "what its disk says of its last end"] = Mark.CLEAN
    generation: GENERATION = 0
    number: NUMBER = 0
    was_primary: WAS_PRIMARY = False
    dropped: Annotated[bool, "the primary went on without it, and it knows"] = False
    proven: Annotated[
        bool, "all stores were seen after a total failure, and its own is the last primary's (ours)"
    ] = False
    peers: Annotated[tuple[Peer, ...], "the others, as far as they were asked"] = ()
    expected: Annotated[
        tuple[str, ...], "backups that were up to date at the last primary, without the dead one"
    ] = ()


@frozen
class Promoted(ByCase):
    """The answer to a promotion, and the broker's role after it."""

    verdict: Annotated[Verdict, "refused: the manager's script fails; ignored: nothing to do"]
    case: Annotated[Named[Case[Verdict]], "the case of the variant's table"]
    role: Role
    generation: Annotated[
        int | None, Last(1), "that it writes before it serves; null: there is none"
    ]
    waits_for: Annotated[
        tuple[str, ...], Last(1), "backups that must catch up before it is primary"
    ]
    why: Why
    variant: Variant

    @property
    def exit(self) -> Annotated[int, "of the manager's script, as OCF has them"]:
        return OCF_ERR_GENERIC if self.verdict is Verdict.REFUSED else OCF_SUCCESS

    @property
    def status(self) -> Annotated[str, "what it is then, in the variant's words"]:
        return word_of(self.role, self.variant)


def promote(about: Promotion) -> Promoted:
    """Return the answer, and the broker's role after it; a refusal changes nothing."""
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
        return Promoted(case.outcome, case, about.role, kept, (), why, about.variant)
    waits = tuple(name for name in about.expected if name != about.me)
    # In the document a promoted broker is primary, and confirms, at once (LM5).
    between = Role.RECOVERING if about.variant is not Variant.SEED and waits else Role.PRIMARY
    known = [about.generation, *(peer.generation for peer in about.peers)]
    generation = max(known) + 1 if about.variant is Variant.OURS else None
    is_waiting = between is Role.RECOVERING
    waits_for = waits if is_waiting else ()
    return Promoted(case.outcome, case, between, generation, waits_for, why, about.variant)


def _said(names: list[str], of_one: str, of_several: str) -> str:
    """Return names with a verb: "b knows", "b and c know"."""
    *but_last, last = names or [""]
    return f"{', '.join(but_last)} and {last} {of_several}" if but_last else f"{last} {of_one}"


def rows_of(about: Promotion) -> tuple[Row, ...]:
    """Return the rows for the tables, the promoted broker's row first."""
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
    """Return whether this peer lost its primary in an older view than the promoted broker's view.

    A broker in a written view has all that was confirmed until then, so such a backup has no more
    than the promoted broker.  Otherwise: a is cut off, drops b and c, confirms alone, dies, and its
    store is marked clean.  b and c refuse because a knows a younger view, and a would refuse
    because of b and c, until an operator restarts both.  A backup that still has a primary counts
    as better: that primary runs, though perhaps only this backup can reach it.
    """
    return peer.lost and (peer.generation, peer.number) < (about.generation, about.number)


def _was_later(peer: Peer, about: Promotion) -> bool:
    """Return whether this peer, which starts, was the last primary of the generation of both."""
    same = peer.generation == about.generation > 0
    return peer.role is Role.CONNECTING and same and peer.was_primary and not about.was_primary
