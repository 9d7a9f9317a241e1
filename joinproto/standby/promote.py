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
    """Another broker.  `generation`, `number`: those of the youngest view that it knows."""

    name: Annotated[str, "the broker's name"]
    role: Annotated[
        Role | None, Key("status"), WORD_OR_NULL, f"{STATUS}; null: the broker does not answer"
    ] = None
    generation: Annotated[
        GENERATION, "the generation of the last primary that the broker knows"
    ] = 0
    number: NUMBER = 0
    was_primary: WAS_PRIMARY = False
    lost: Annotated[
        bool, "whether its primary is gone, and `status` is its status before that (ours)"
    ] = False


@frozen(kw_only=True)
class Promotion:
    """A broker that is told to become primary.

    `generation`, `number`: those of the youngest view that it knows.
    """

    variant: WHOSE = Variant.OURS
    me: Annotated[str, Key("name"), "the broker's name"]
    role: Annotated[Role, Key("status"), AS_WORD, STATUS]
    mark: Annotated[
        Mark, Key("store"), "the mark on its disk, which says how the broker ended last"
    ] = Mark.CLEAN
    generation: GENERATION = 0
    number: NUMBER = 0
    was_primary: WAS_PRIMARY = False
    dropped: Annotated[
        bool, "whether the broker knows that the primary went on without it (ours)"
    ] = False
    proven: Annotated[
        bool,
        "whether all stores were seen after a total failure, and its own is the last primary's"
        " (ours)",
    ] = False
    peers: Annotated[tuple[Peer, ...], "the other brokers that were asked"] = ()
    expected: Annotated[
        tuple[str, ...], "the backups that were up to date at the last primary, without that one"
    ] = ()


@frozen
class Promoted(ByCase):
    """The answer to a promotion, and the broker's role after it."""

    verdict: Annotated[
        Verdict, "refused: the manager's script fails; ignored: the broker is primary already"
    ]
    case: Annotated[Named[Case[Verdict]], "the case of the variant's table"]
    role: Role
    generation: Annotated[
        int | None,
        Last(1),
        "the generation that it writes before it serves, or keeps if it is not promoted;"
        " null: the variant has no generations",
    ]
    waits_for: Annotated[
        tuple[str, ...], Last(1), "the backups that must catch up before it is primary"
    ]
    why: Why
    variant: Variant

    @property
    def exit(self) -> Annotated[int, "the exit code of the manager's script, as OCF defines it"]:
        return OCF_ERR_GENERIC if self.verdict is Verdict.REFUSED else OCF_SUCCESS

    @property
    def status(self) -> Annotated[str, "the broker's status after the answer, in variant's words"]:
        return word_of(self.role, self.variant)


def promote(about: Promotion) -> Promoted:
    """Return the answer, and the broker's role after it; a refused broker keeps its role."""
    rows = rows_of(about)
    case = TABLES[about.variant].choose(rows, 0)
    better = [rows[at].name for at in members_of(BETTER, rows, 0)]
    ahead = [rows[at].name for at in members_of(AHEAD, rows, 0)]
    why = WHY[case.name].format(
        me=about.me,
        role=word_of(about.role, about.variant),
        better=_said(better, "answers, and may have", "answer, and may have"),
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
    """Return the rows for the tables; the row of the broker that is asked comes first."""
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
    """Return whether this peer lost its primary, and knows only an older view than the broker's.

    A broker in a written view has every message confirmed until then, so such a backup has no more
    messages than the promoted broker.  Otherwise: a is cut off, drops b and c, confirms alone,
    dies, and its store is marked clean.  b and c refuse because a knows a younger view, and a would
    refuse because of b and c, until an operator restarts both.  A backup that still has a primary
    counts as better: that primary runs, though perhaps only this backup can reach it.
    """
    return peer.lost and (peer.generation, peer.number) < (about.generation, about.number)


def _was_later(peer: Peer, about: Promotion) -> bool:
    """Return whether this peer without a primary was the last primary in the broker's generation.

    False if the broker itself was that primary.
    """
    is_same = peer.generation == about.generation > 0
    return peer.role is Role.CONNECTING and is_same and peer.was_primary and not about.was_primary
