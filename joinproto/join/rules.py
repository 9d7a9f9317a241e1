"""The view chain as a set of rules for verdicts: the shipped tables, asked about given members.

The tables read rows about views and answers.  Here these rows are made from facts about the members
that a person knows.  A field that is left out has this default:

    lineage     a clean store: FOUND, CLOSE; a dirty one with a final signature: the same;
                any other dirty one: FOUND.  A running view follows the views of a newcomer,
                unless a member's views are given.
    position    a clean store: where its CLOSE starts; a dirty one: somewhere in its last view
    electors    all members with a store, or with an empty one where a cluster is founded

A view is identified by its whole path from the founding, so one name on two paths is two views.
No member has a mark, and no member ran on: all initial members have just been started.

Source: join protocol, section 2 and 3.4.  Departure: a store that is newer than the running
cluster is refused here; a running member asks it for its views first (see `admission.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from attrs import evolve, frozen

from joinproto.codec.malformed import Malformed
from joinproto.join.admission import Admit, admission, newcomer
from joinproto.join.answers import Answer, Evidence
from joinproto.join.config import Config
from joinproto.join.hypothetical import (
    HypotheticalView,
    Path,
    digest_of,
    given_path,
    ids_of,
)
from joinproto.join.messages import Hello
from joinproto.join.phases import Facts, standing
from joinproto.join.phases import Phase as ChainPhase
from joinproto.join.succession import Next
from joinproto.join.successor import Proposer
from joinproto.join.view import Seat, View
from joinproto.machine.sets import I
from joinproto.machine.tables import Case
from joinproto.machine.terms import ALWAYS, Group
from joinproto.machine.verdict import NEW, RuleSet
from joinproto.machine.vocabulary import Phase, Reason, Signature, Status, Store

COUNT_MAX = 2**31
GOES_ON = (Phase.READY, Phase.UPDATING)


@frozen
class ChainRules(RuleSet):
    """The rules of the chain.  Its tables do not read statuses, so `choose` makes their rows."""

    def choose(self, members: Sequence[Status], me: int) -> Case[Phase] | None:
        """Return the case of the member at place `me`; None if it is active already."""
        return _cases(tuple(members))[me]


def initial_signature(
    members: Sequence[Status], cases: Sequence[Case[Phase] | None]
) -> Signature | None:
    """Return the initial signature of the running cluster, or of the one that starts.

    `NEW` if a new cluster is founded.  None if no signature of the active members is given, if they
    have two, or if no cluster is active or starts.
    """
    active = [status for status in members if status.active]
    known = [status.initial for status in (active or members) if status.initial is not None]
    if active:
        return known[0] if len(set(known)) == 1 else None
    if not any(case is not None and case.outcome in GOES_ON for case in cases):
        return None
    return known[0] if known else NEW


CHAIN_RULES = ChainRules("chain", (), initial_signature)


# A decision asks about each member of a set in turn, so the cases of few sets are kept.
@lru_cache(maxsize=4)
def _cases(members: tuple[Status, ...]) -> tuple[Case[Phase] | None, ...]:
    given = HypotheticalView.of(members)
    if any(status.active for status in members):
        return tuple(
            None if status.active else _joining(given, at) for at, status in enumerate(members)
        )
    return _initialization(given)


# -- no member is active ----------------------------------------------------------------------


def _initialization(given: HypotheticalView) -> tuple[Case[Phase], ...]:
    voters = Voters.of(given)
    verdict = _refusal(given)
    if verdict is not None:
        return (verdict,) * len(given.members)
    path = max(given.paths, key=len)
    lineage = given.lineage(path, electors=voters.seats, options="-", seats=None)
    tip = lineage.tip
    answers = [given.answer(at, tip) for at in range(len(given.members))]
    evidence = Evidence.of(lineage, answers)
    proposer = _proposer(given, voters)
    try:
        _, case = proposer.decide(evidence)
        if case.outcome is Next.WAIT:
            return (_as_phase(case, Phase.INITIALIZING),) * len(answers)
        if case.outcome is Next.ABORT:
            return (_as_phase(case, Phase.ABORTED),) * len(answers)
        if case.outcome is Next.FOUND or case.outcome.kind is None:
            return (_as_phase(case, Phase.READY),) * len(answers)
        view = proposer.view(case.outcome.kind, evidence)
    except Malformed:
        impossible: Case[Phase] = Case(
            "3.4",
            "what the stores say cannot be",
            ALWAYS,
            Phase.INITIALIZING,
            reason=Reason.NO_CLEAN_STORE,
        )
        return (impossible,) * len(answers)
    return _started(given, view, answers)


def _started(
    given: HypotheticalView, view: View, answers: Sequence[Answer]
) -> tuple[Case[Phase], ...]:
    """Return the cases of the members of `view`, once they know it."""
    has_data = [
        answer.position == view.position and not answer.update_unfinished for answer in answers
    ]
    sources = [given.members[at].id for at, has in enumerate(has_data) if has]
    table = standing()
    cases = []
    for answer, has in zip(answers, has_data, strict=True):
        facts = Facts(
            has_tip=True, is_open=True, is_member=answer.seat in view.members, has_data=has
        )
        case = table.choose((facts,), 0)
        if case.outcome is ChainPhase.UPDATING:
            cases.append(_as_phase(case, Phase.UPDATING, sources))
        else:
            cases.append(_as_phase(case, Phase.READY))
    return tuple(cases)


def _refusal(given: HypotheticalView) -> Case[Phase] | None:
    """Return the case that refuses the stores as one cluster, None if there is none.

    It is found by the answers that each store would give to the hellos of the others.
    """
    paths = [path for path in dict.fromkeys(given.paths) if path]
    found: Case[Phase] | None = None
    config = Config(member="-", electors=frozenset("-"))
    for own in paths:
        seats = frozenset([Seat("-", "-")])
        lineage = given.lineage(own, electors=seats, options="-", seats=seats)
        for other in paths:
            if other is own:
                continue
            hello = _hello(given, given.paths.index(other), other)
            row = newcomer(hello, lineage, config, is_active=False)
            case = admission().choose((row,), 0)
            if case.outcome is not Admit.REFUSE:
                continue
            if row.is_foreign:
                reason = Reason.INITIAL_SIGNATURE_MISMATCH
                return evolve(_as_phase(case, Phase.ABORTED), label="I4", reason=reason)
            if given.is_closed(own) and given.is_closed(other):
                reason, name = Reason.FINAL_SIGNATURE_MISMATCH, "clean stores differ"
                refused = _as_phase(case, Phase.ABORTED)
                found = evolve(refused, label="I5", name=name, reason=reason)
            elif found is None:
                found = _as_phase(case, Phase.ABORTED)
    return found


@frozen
class Voters:
    """The electors: `names` as the members are configured, `seats` in the views.

    An elector that is absent, has no store, or has an empty store where others have views, has a
    seat that is no member's.
    """

    names: frozenset[str]
    seats: frozenset[Seat]

    @classmethod
    def of(cls, given: HypotheticalView) -> Voters:
        """Return the given electors, or all members that could vote."""
        told = given.members[0].electors
        places = {status.id: at for at, status in enumerate(given.members)}
        persistent = {
            name for name, at in places.items() if given.members[at].store is not Store.NONE
        }
        names: set[str] = set()
        seats: set[Seat] = set()
        for number, name in enumerate(dict.fromkeys(places if told is None else told)):
            if name not in persistent:
                if told is not None:
                    names.add(f"absent {number}")
                    seats.add(Seat(f"absent {number}", f"absent {number}"))
                continue
            seat = given.seat(places[name])
            names.add(seat.member)
            if given.paths[places[name]]:
                seats.add(seat)
            elif told is not None:
                seats.add(Seat(seat.member, f"lost by {seat.member}"))
        # If no member has a store, no member can vote, and an absent elector is missing.
        return cls(frozenset(names or {"absent"}), frozenset(seats or {Seat("absent", "absent")}))


def _proposer(given: HypotheticalView, voters: Voters) -> Proposer:
    """Return the proposer: the first of the electors that are there."""
    at = next((at for at in range(len(given.members)) if given.seat(at).member in voters.names), 0)
    # A member refuses to start with a smaller N; here at least the majority counts.
    majority = len(voters.names) // 2 + 1
    config = Config(
        member=given.seat(at).member,
        electors=voters.names,
        wait_for=max(min(given.members[at].wait_for, COUNT_MAX), majority),
    )
    return Proposer(config=config, seat=given.seat(at))


# -- alongside a running cluster --------------------------------------------------------------


def _joining(given: HypotheticalView, me: int) -> Case[Phase]:
    """Return the case of a newcomer: it says hello to all active members, one by one."""
    cases: dict[int, Case[Admit]] = {
        at: _admitted(given, at, me) for at, status in enumerate(given.members) if status.active
    }
    for case in cases.values():
        if case.outcome is Admit.REFUSE:
            return _as_phase(case, Phase.ABORTED)
    takes = (Admit.UPDATE, Admit.TAKE_IN)
    sources = [at for at, case in cases.items() if case.outcome in takes]
    if sources:
        names = [given.members[at].id for at in sources]
        return _as_phase(cases[sources[0]], Phase.JOINING, names)
    return Case(
        "J3",
        "newer than the running cluster",
        ALWAYS,
        Phase.ABORTED,
        reason=Reason.STORE_NEWER_THAN_CLUSTER,
    )


def _admitted(given: HypotheticalView, at: int, me: int) -> Case[Admit]:
    """Return the final answer of the active member at place `at` to the newcomer at `me`."""
    host = given.members[at]
    seat = given.seat(at)
    path = given.paths[me]
    own = _running_path(given, at, path)
    lineage = given.lineage(
        own,
        electors=frozenset([seat]),
        options=digest_of(host.options, host.wait_for),
        seats=frozenset([seat]),
    )
    config = Config(member=seat.member, electors=frozenset([seat.member]))
    hello = _hello(given, me, path)
    case = admission().choose((newcomer(hello, lineage, config, is_active=True),), 0)
    if case.outcome is Admit.TELL:
        # The newcomer learns the views, and says hello again.
        hello = _hello(given, me, own)
        case = admission().choose((newcomer(hello, lineage, config, is_active=True),), 0)
    return case


def _running_path(given: HypotheticalView, at: int, newcomers: Path) -> Path:
    """Return an active member's path: the given one, or that of an active member of its cluster."""
    active = [place for place, status in enumerate(given.members) if status.active]
    known = [given.members[place].initial for place in active]
    signatures = [initial for initial in known if initial is not None]
    # If no active member knows the signature, the cluster is none of those that are given.
    initial = given.members[at].initial or (signatures[0] if signatures else NEW)
    for place in (at, *active):
        told = given_path(given.members[place])
        if told and told[0] == initial:
            return (*told, None) if given.is_closed(told) else told
    is_known = newcomers[:1] == (initial,)
    return (*newcomers, None) if is_known else (initial, None)


def _hello(given: HypotheticalView, at: int, path: Path) -> Hello:
    ids = ids_of(path)
    return Hello(
        given.answer(at, None),
        ids[-1] if ids else None,
        len(ids),
        ids[0] if ids else None,
        "cluster",
    )


# -- small parts ---------------------------------------------------------------------------


def _as_phase(
    case: Case[Next] | Case[Admit] | Case[ChainPhase], outcome: Phase, sources: Sequence[str] = ()
) -> Case[Phase]:
    """Return a case of a shipped table as a case of the verdicts' table."""
    return Case(
        case.label,
        case.name,
        case.condition,
        outcome,
        updates_from=_group_of(sources) if sources else None,
        reason=case.reason,
    )


def _group_of(names: Sequence[str]) -> Group:
    # Halves keep the nesting shallow, however many names there are.
    if len(names) == 1:
        return I.where(id=names[0])
    half = len(names) // 2
    return _group_of(names[:half]) | _group_of(names[half:])
