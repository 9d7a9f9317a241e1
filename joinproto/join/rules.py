"""The view chain as a set of rules for verdicts: what the shipped tables say of given members.

The tables read rows about views and answers; here they are made from what is known of the
members from outside.  What is not told is taken so:

    lineage     a clean store: FOUND, CLOSE; a dirty one with a final signature: the same;
                any other dirty one: FOUND.  A running view stands behind whatever a
                newcomer has, unless somebody tells the views.
    position    a clean store: where its CLOSE starts; a dirty one: somewhere in its last view
    electors    all members with a store, or with an empty one where a cluster is founded

A view is named by its whole way from the founding, so one name on two ways is two views.
Nobody has a mark, nobody ran on: all initial members have just been started.

Source: join protocol, section 2 and 3.4.  Departure: a store that is newer than the running
cluster is refused here; a running member asks it for its views first (see `admission.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from joinproto.join.admission import Admit, admission, newcomer
from joinproto.join.answers import Answer, Evidence
from joinproto.join.config import Config
from joinproto.join.lineage import Lineage
from joinproto.join.malformed import Malformed
from joinproto.join.messages import Hello
from joinproto.join.phases import Facts, standing
from joinproto.join.phases import Phase as ChainPhase
from joinproto.join.succession import Next
from joinproto.join.successor import Proposer
from joinproto.join.view import Kind, Position, Seat, View
from joinproto.tables.sets import I
from joinproto.tables.tables import Case
from joinproto.tables.terms import ALWAYS, Group
from joinproto.tables.verdict import NEW, RuleSet
from joinproto.tables.vocabulary import Options, Phase, Reason, Signature, Status, Store

# Where a store's data ends if nobody tells: no frame that anybody would name.
SOMEWHERE = 2**62
COUNT_MAX = 2**31
GOES_ON = (Phase.READY, Phase.UPDATING)


@frozen
class At:
    """A position as it is told: the view's name, and the number of the frame, from 1."""

    view: str
    seq: int


@frozen
class ChainStatus(Status):
    """A status with what only these rules read.

    `lineage`: names of views, the oldest first, the tip last; empty: not told.  The initial
    signature, and the final one of a clean store, are added where they are left out.
    `position`: None with `has_position`: no frame.  `electors`: ids of all who may vote, the
    absent ones too; None: those who are there.
    """

    lineage: tuple[str, ...] = field(default=(), kw_only=True)
    position: At | None = field(default=None, kw_only=True)
    has_position: bool = field(default=False, kw_only=True)
    electors: tuple[str, ...] | None = field(default=None, kw_only=True)


@frozen
class ChainRules(RuleSet):
    """The chain's tables are not about statuses, so `choose` makes their rows."""

    def choose(self, members: Sequence[Status], me: int) -> Case[Phase] | None:
        """Return the case of the member at place `me`; None if it is active already."""
        return _cases(tuple(members))[me]


def initial_signature(
    members: Sequence[Status], cases: Sequence[Case[Phase] | None]
) -> Signature | None:
    """Return the running cluster's signature, or that of the stores that restart, or `NEW`."""
    active = [status for status in members if status.active]
    known = [status.initial for status in (active or members) if status.initial is not None]
    if active:
        return known[0] if len(set(known)) == 1 else None
    if not any(case is not None and case.outcome in GOES_ON for case in cases):
        return None
    return known[0] if known else NEW


CHAIN_RULES = ChainRules("chain", (), initial_signature)


# A decision asks for each member of one set in turn.
@lru_cache(maxsize=4)
def _cases(members: tuple[Status, ...]) -> tuple[Case[Phase] | None, ...]:
    given = Given.of(members)
    if any(status.active for status in members):
        return tuple(
            None if status.active else _joining(given, at) for at, status in enumerate(members)
        )
    return _initialization(given) if members else ()


# -- what is given, as views ---------------------------------------------------------------

Path: TypeAlias = tuple[Signature | None, ...]
"""Names of views from the founding on; None: the running view, which has no name."""


@define
class Given:
    """The members, with the way that each store has gone.

    `closes`: for the id of each CLOSE, where it starts.
    """

    members: tuple[Status, ...]
    paths: tuple[Path, ...]
    closes: dict[str, Position | None]
    _lineages: dict[tuple[object, ...], Lineage] = field(factory=dict, init=False)

    @classmethod
    def of(cls, members: tuple[Status, ...]) -> Given:
        """Return the members with their ways, told or taken; see the head of this file."""
        told = tuple(map(_told_path, members))
        paths = tuple(
            path or _taken_path(status, told) for status, path in zip(members, told, strict=True)
        )
        given = cls(members, paths, {})
        given._find_closes()
        return given

    def _find_closes(self) -> None:
        ends: dict[str, list[tuple[int, int]]] = {}
        for at, (status, path) in enumerate(zip(self.members, self.paths, strict=True)):
            final = status.final
            if final is None or final not in path[1:]:
                continue
            number = len(path) - path[::-1].index(final)
            ids = ids_of(path[:number])
            self.closes.setdefault(ids[-1], Position(ids[-2], SOMEWHERE))
            if status.store is Store.CLEAN and _has_position(status):
                ends.setdefault(ids[-1], []).append((_age(path, status), at))
        for close, told in ends.items():
            # Two that tell different ends: whoever has less is not clean (S2).
            _, at = max(told, key=lambda item: (item[0], _seq(self.members[item[1]]), -item[1]))
            self.closes[close] = _told_position(self.members[at], self.paths[at])

    def seat(self, at: int) -> Seat:
        """Return the member's seat; seats are ordered as the members are."""
        return Seat(f"{at:08}", f"{at:08}")

    def seats_of(self, view_id: str) -> frozenset[Seat]:
        """Return the seats whose stores know this view."""
        return frozenset(
            self.seat(at) for at, path in enumerate(self.paths) if view_id in ids_of(path)
        )

    def is_closed(self, path: Path) -> bool:
        """Return whether the last view of this way is a CLOSE."""
        return ids_of(path)[-1] in self.closes

    def lineage(
        self, path: Path, *, electors: frozenset[Seat], options: str, seats: frozenset[Seat] | None
    ) -> Lineage:
        """Return the views of a way.  `seats`: the members of each, None: who knows it."""
        key = (path, electors, options, seats)
        if key not in self._lineages:
            self._lineages[key] = self._made(path, electors, options, seats)
        return self._lineages[key]

    def _made(
        self, path: Path, electors: frozenset[Seat], options: str, seats: frozenset[Seat] | None
    ) -> Lineage:
        ids = ids_of(path)
        views: list[View] = []
        for number, view_id in enumerate(ids, start=1):
            parent = views[-1] if views else None
            who = self.seats_of(view_id) if seats is None else seats
            kind = _kind(parent, view_id in self.closes)
            position: Position | None = None
            if kind is Kind.CLOSE:
                position = self.closes[view_id]
            elif parent is not None and kind is Kind.RESTART:
                position = parent.position
            elif parent is not None:
                position = Position(parent.id, SOMEWHERE + number)
            views.append(
                View(
                    id=view_id,
                    parent=None if parent is None else parent.id,
                    number=number,
                    kind=kind,
                    members=who | electors if parent is None else who,
                    electors=electors,
                    position=position,
                    activated=kind in (Kind.CHANGE, Kind.CLOSE),
                    wait_for=1,
                    options_digest=options,
                    cluster_name="cluster",
                    nonce="-",
                    time=0,
                )
            )
        return Lineage(tuple(views), ids[0] if ids else None)

    def answer(self, at: int, tip: View | None) -> Answer:
        """Return what the member would say of itself, asked about `tip`."""
        status, path = self.members[at], self.paths[at]
        ids = ids_of(path)
        held = next((view_id for view_id in reversed(ids) if view_id not in self.closes), None)
        position: Position | None = None
        unfinished = False
        if _has_position(status):
            position = _told_position(status, path)
        elif status.store is Store.CLEAN:
            position = self.closes[ids[-1]]
        elif held is not None:
            # Said to be dirty, and nothing shows that it has all that was closed.
            position = Position(held, SOMEWHERE)
            unfinished = tip is not None and not tip.is_open
        return Answer(
            seat=self.seat(at),
            transient=status.store is Store.NONE,
            held=held,
            position=position,
            update_unfinished=unfinished,
            options=digest_of(status.options, status.wait_for),
        )


@lru_cache(maxsize=256)
def ids_of(path: Path) -> tuple[str, ...]:
    """Return the ids of the views on this way: each stands for all before it."""
    found: list[str] = []
    for name in path:
        parent = found[-1] if found else ""
        found.append(_hash(f"{parent} {name!r}"))
    return tuple(found)


def digest_of(options: Options, wait_for: int) -> str:
    """Return what must be the same in all members: the options, and N (I2)."""
    return _hash(f"{options!r} {wait_for}")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _kind(parent: View | None, is_close: bool) -> Kind:
    if parent is None:
        return Kind.FOUND
    if is_close:
        return Kind.CLOSE
    return Kind.CHANGE if parent.is_open else Kind.RESTART


def _told_path(status: Status) -> Path:
    names: Path = status.lineage if isinstance(status, ChainStatus) else ()
    if not names or status.initial is None:
        return ()
    path = names if names[0] == status.initial else (status.initial, *names)
    is_whole = len(path) > 1 and path[-1] == status.final
    return path if status.store is not Store.CLEAN or is_whole else (*path, status.final)


def _taken_path(status: Status, told: Iterable[Path]) -> Path:
    if status.initial is None:
        return ()
    if status.final is None:
        return (status.initial,)
    for path in told:
        if path and path[0] == status.initial and status.final in path[1:]:
            return path[: len(path) - path[::-1].index(status.final)]
    return (status.initial, status.final)


def _has_position(status: Status) -> bool:
    return isinstance(status, ChainStatus) and status.has_position


def _told_position(status: Status, path: Path) -> Position | None:
    at = status.position if isinstance(status, ChainStatus) else None
    if at is None or at.seq == 0:
        return None
    if at.view in path:
        return Position(ids_of(path)[_place(path, at.view)], at.seq)
    return Position(_hash(f"a view elsewhere: {at.view!r}"), at.seq)


def _place(path: Path, name: str) -> int:
    return len(path) - 1 - path[::-1].index(name)


def _age(path: Path, status: Status) -> int:
    """Return the number of the view in which the told position lies, 0 for none."""
    at = status.position if isinstance(status, ChainStatus) else None
    return 0 if at is None or at.view not in path else _place(path, at.view) + 1


def _seq(status: Status) -> int:
    at = status.position if isinstance(status, ChainStatus) else None
    return 0 if at is None else at.seq


# -- nobody is active ----------------------------------------------------------------------


def _initialization(given: Given) -> tuple[Case[Phase], ...]:
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


def _started(given: Given, view: View, answers: Sequence[Answer]) -> tuple[Case[Phase], ...]:
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


def _refusal(given: Given) -> Case[Phase] | None:
    """Return why these stores cannot be one cluster: what each hears when it says hello."""
    paths = [path for path in dict.fromkeys(given.paths) if path]
    if len(paths) < 2:
        return None
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
    """Who votes: `names` as the members are configured, `seats` in the views.

    An elector that is not there, whose store is empty beside others' or that has none, has a
    seat that nobody sits on.
    """

    names: frozenset[str]
    seats: frozenset[Seat]

    @classmethod
    def of(cls, given: Given) -> Voters:
        """Return the electors that are told, or all that could be."""
        told = given.members[0].electors if isinstance(given.members[0], ChainStatus) else None
        places = {status.id: at for at, status in enumerate(given.members)}
        persistent = {
            name for name, at in places.items() if given.members[at].store is not Store.NONE
        }
        is_new = not any(given.paths)
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
            if is_new or given.paths[places[name]]:
                seats.add(seat)
            elif told is not None:
                seats.add(Seat(seat.member, f"lost by {seat.member}"))
        # Nobody keeps anything: then nobody can vote, and whoever could is missed.
        return cls(frozenset(names or {"absent"}), frozenset(seats or {Seat("absent", "absent")}))


def _proposer(given: Given, voters: Voters) -> Proposer:
    """Return the first of the electors that are there: who proposes."""
    at = next((at for at in range(len(given.members)) if given.seat(at).member in voters.names), 0)
    # A smaller N is refused at a member's start; here the majority counts anyway.
    majority = len(voters.names) // 2 + 1
    config = Config(
        member=given.seat(at).member,
        electors=voters.names,
        wait_for=max(min(given.members[at].wait_for, COUNT_MAX), majority),
    )
    return Proposer(config=config, seat=given.seat(at))


# -- beside a running cluster --------------------------------------------------------------


def _joining(given: Given, me: int) -> Case[Phase]:
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


def _admitted(given: Given, at: int, me: int) -> Case[Admit]:
    """Return what the active member at place `at` answers in the end."""
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
        # It learns the views, and says hello again.
        hello = evolve(_hello(given, me, own), status=hello.status)
        case = admission().choose((newcomer(hello, lineage, config, is_active=True),), 0)
    return case


def _running_path(given: Given, at: int, newcomers: Path) -> Path:
    """Return the way of an active member: what it tells, or an active one of its cluster."""
    active = [place for place, status in enumerate(given.members) if status.active]
    known = [given.members[place].initial for place in active]
    signatures = [initial for initial in known if initial is not None]
    # A cluster whose signature nobody knows is none of those that were named.
    initial = given.members[at].initial or (signatures[0] if signatures else NEW)
    for place in (at, *active):
        told = _told_path(given.members[place])
        if told and told[0] == initial:
            return (*told, None) if given.is_closed(told) else told
    is_known = newcomers[:1] == (initial,)
    return (*newcomers, None) if is_known else (initial, None)


def _hello(given: Given, at: int, path: Path) -> Hello:
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
    """Return the case of a shipped table as one of a verdict."""
    return Case(
        case.label,
        case.name,
        case.condition,
        outcome,
        updates_from=_those(sources) if sources else None,
        reason=case.reason,
    )


def _those(names: Sequence[str]) -> Group:
    # In halves, so that the nesting stays small however many there are.
    if len(names) == 1:
        return I.where(id=names[0])
    half = len(names) // 2
    return _those(names[:half]) | _those(names[half:])
