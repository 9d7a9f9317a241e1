"""The next view, from answers: the rows that the tables read, and the view they lead to.

Source: join protocol, 3.4 and 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, field, frozen

from joinproto.errors import MisuseError
from joinproto.join.answers import Answer, Evidence
from joinproto.join.config import Config, TotalFailure
from joinproto.join.ids import Digest, by_hash
from joinproto.join.joint_view import CutPairs, JointView
from joinproto.join.store import StoreRecord
from joinproto.join.succession import Next, Row, founding, going_on, reopening
from joinproto.join.view import Kind, Position, Seat, View, change, close, found, names_of, restart
from joinproto.machine.tables import Case, Table


@frozen(kw_only=True)
class Proposer:
    """A member that proposes the next view.

    `guests`: newcomers to take in; `transients`: the guests without a store.  `apart`: the
    members that do not hear each other.  `closes`: the whole cluster must stop.  `nonce`, `time`:
    see `Facts` of a view.
    """

    config: Config
    seat: Seat
    guests: frozenset[Seat] = frozenset()
    transients: frozenset[Seat] = frozenset()
    apart: CutPairs = CutPairs()
    closes: bool = False
    nonce: str = "-"
    time: int = 0
    digest: Digest = field(default=by_hash, repr=False)

    # -- which kind ------------------------------------------------------------------------

    def decide(self, evidence: Evidence) -> tuple[Table[Next], Case[Next]]:
        """Return the table for this evidence, and its first case that holds."""
        rows = self.rows(evidence)
        table = self.table(evidence)
        me = next(at for at, row in enumerate(rows) if row.id == _id(self.seat))
        return table, table.choose(rows, me)

    def table(self, evidence: Evidence) -> Table[Next]:
        """Return the table for this tip."""
        tip = evidence.lineage.tip
        if tip is None:
            return founding()
        return going_on() if tip.is_open else reopening()

    def rows(self, evidence: Evidence) -> tuple[Row, ...]:
        """Return one row for each known seat: the seats that answered, then the silent seats."""
        tip = evidence.lineage.tip
        answered = {item.seat for item in evidence.answers}
        silent = (tip.members | tip.electors if tip else frozenset()) - answered
        rows = [self._row(evidence, item.seat, item) for item in evidence.answers]
        rows += [self._row(evidence, seat, None) for seat in sorted(silent)]
        return tuple(rows)

    def _row(self, evidence: Evidence, seat: Seat, answer: Answer | None) -> Row:
        tip, config = evidence.lineage.tip, self.config
        electors = config.electors if tip is None else tip.electors
        founders = len(config.electors) if config.found_with is None else config.found_with
        row = Row(
            id=_id(seat),
            answered=answer is not None,
            is_member=tip is not None and seat in tip.members,
            is_elector=tip is not None and seat in tip.electors,
            is_founder=seat.member in config.electors,
            wait_for=config.wait_for,
            majority=0 if config.outside else len(electors) // 2 + 1,  # 0: never too few
            founders=founders,
            closes=self.closes,
            is_automatic=config.total_failure is TotalFailure.AUTOMATIC,
        )
        if answer is None:
            return row
        return evolve(
            row,
            has_store=not answer.transient,
            is_sure=evidence.is_sure(answer) and self._may_stay(evidence, answer),
            covers=evidence.covers(answer),
            is_clean=evidence.is_clean(answer),
            fits=self._may_stay(evidence, answer),
            is_marked=answer.is_marked,
            leaves=answer.leaves,
            options=answer.options,
        )

    def _may_stay(self, evidence: Evidence, answer: Answer) -> bool:
        """Return whether the member has the tip's options, which a CHANGE keeps."""
        tip = evidence.lineage.tip
        return tip is None or answer.options == tip.options_digest

    # -- which view ------------------------------------------------------------------------

    def view(self, kind: Kind, evidence: Evidence) -> View:
        """Return the view of this kind that the evidence leads to."""
        tip = evidence.lineage.tip
        answers = evidence.answers
        if tip is None:
            return self._found(answers)
        if kind is Kind.RESTART:
            return self._restart(tip, evidence)
        sure = [item for item in answers if evidence.is_sure(item)]
        was_active = self._was_active(tip, answers)
        if kind is Kind.CLOSE:
            stores = [item for item in sure if not item.transient]
            return close(
                tip,
                position=self._highest(evidence, stores or sure),
                activated=was_active,
                nonce=self.nonce,
                time=self.time,
                digest=self.digest,
            )
        # A member that is sure has all the data, and stays.  A member that was stopped and covers
        # the tip may stay as well: it lacks at most the last frames.  Before the first activation
        # any member that has answered may come in.
        fit = [
            item
            for item in answers
            if self._may_stay(evidence, item) and (evidence.covers(item) or not was_active)
        ]
        fit += self._to_be_fed(evidence, fit)
        stays = self._staying(tip, fit, sure)
        there = frozenset(item.seat for item in stays) | self._new_guests(answers)
        members = self._together(tip, there, fit, sure, was_active=was_active)
        stays = [item for item in stays if item.seat in members]
        sources = self._sources(sure, stays)
        return change(
            tip,
            members=members,
            electors=self._electors(tip, members, answers),
            position=self._highest(evidence, sources or sure),
            activated=was_active,
            nonce=self.nonce,
            time=self.time,
            digest=self.digest,
        )

    def _was_active(self, tip: View, answers: Sequence[Answer]) -> bool:
        return tip.activated or any(item.was_active for item in answers)

    def _to_be_fed(self, evidence: Evidence, fit: Sequence[Answer]) -> list[Answer]:
        """Return the additional members, if no member of `fit` has a store and stays.

        No frame may be acknowledged without a store that has it.  So the members with stores that
        answered come in, and are fed in the view before any client is served.
        """
        if any(map(_keeps, fit)):
            return []
        stores = filter(_keeps, evidence.answers)
        return [item for item in stores if self._may_stay(evidence, item)]

    def _sources(self, among: Sequence[Answer], stays: Sequence[Answer]) -> list[Answer]:
        """Return the members of `among` that stay, because only members feed the others."""
        return [item for item in among if item in stays]

    def _restart(self, tip: View, evidence: Evidence) -> View:
        answers = evidence.answers
        clean = [item for item in answers if evidence.is_clean(item)]
        # If all clean stores are lost, a store that has all acknowledged frames is a source.
        sources = clean or [
            item for item in answers if evidence.covers(item) and not item.transient
        ]
        stays = self._staying(tip, answers, sources, self.config.wait_for)
        members = frozenset(item.seat for item in stays)
        if not clean:
            position = self._covering(evidence, self._sources(answers, stays))
        else:
            position = tip.position
        return restart(
            tip,
            members=members,
            electors=self._electors(tip, members, answers),
            position=position,
            wait_for=self.config.wait_for,
            options_digest=self.config.digest,
            nonce=self.nonce,
            time=self.time,
            digest=self.digest,
        )

    def _staying(
        self, tip: View, answers: Sequence[Answer], sources: Sequence[Answer], least: int = 0
    ) -> list[Answer]:
        """Return the members of the next view: all but those that leave.

        All stay if the others alone would have no source that feeds them, no store, or fewer than
        `least` members.
        """
        stays = [item for item in answers if not item.leaves]
        has_source = any(item in sources for item in stays)
        has_store = any(map(_keeps, stays)) or keeps_nothing(tip, answers)
        return stays if has_source and has_store and len(stays) >= least else list(answers)

    def _together(
        self,
        tip: View,
        there: frozenset[Seat],
        fit: Sequence[Answer],
        sure: Sequence[Answer],
        *,
        was_active: bool,
    ) -> frozenset[Seat]:
        """Return the members that form the next view together: see `JointView`.

        As in `_staying`, one of them feeds the others, and one of them has a store.  Members that
        are left out stay electors, and come in when they hear all members that a member hears.
        """
        sources = frozenset(item.seat for item in sure if item.seat in there)
        stores = frozenset(item.seat for item in fit if not item.transient and item.seat in there)
        needs = [some for some in (sources, stores) if some]
        together = JointView(tip, self.apart, self.config.outside)
        return together.best(there, needs, was_active=was_active)

    def yields(self, view: View, evidence: Evidence, misses: frozenset[str]) -> bool:
        """Return whether other members may hear each other and choose alone, where `view` cannot.

        False if all members that answered hear each other.  `misses`: the members that this one
        does not hear.
        """
        tip = evidence.lineage.tip
        answered = {item.seat.member for item in evidence.answers}
        if tip is None or not self.apart.among(answered):
            return False
        together = JointView(tip, self.apart, self.config.outside)
        if together.may_choose(view.members):
            return False
        return together.others_may_choose(self.seat.member, misses)

    def _found(self, answers: tuple[Answer, ...]) -> View:
        members = frozenset(item.seat for item in answers if not item.leaves)
        voters = frozenset(
            item.seat
            for item in answers
            if item.seat.member in self.config.electors and not item.transient
        )
        stores = frozenset(item.seat for item in answers if not item.transient)
        return found(
            members=members,
            # No member votes where an outside register chooses; all may be transient then.
            electors=voters & members or stores & members or members,
            wait_for=self.config.wait_for,
            options_digest=self.config.digest,
            cluster_name=self.config.cluster_name,
            nonce=self.nonce,
            time=self.time,
            digest=self.digest,
        )

    def _new_guests(self, answers: tuple[Answer, ...]) -> frozenset[Seat]:
        # A guest that has answered counts by its answer; and a member has one store, the
        # one that answered.
        names = {item.seat.member for item in answers}
        return frozenset(seat for seat in self.guests if seat.member not in names) | frozenset(
            item.seat for item in answers if item.seat in self.guests and not item.leaves
        )

    def _electors(
        self, tip: View, members: frozenset[Seat], answers: tuple[Answer, ...]
    ) -> frozenset[Seat]:
        """Return the next electors: as before, with the present stores of the answering members.

        If no member has a store, no member votes, and the members are the electors.
        Otherwise a configured elector that joins votes, and a member that leaves does not.  If a
        member leaves, the members that answered and stay must be a majority of the voters.  If they
        are not, a guest that has only said hello does not vote, because it may be gone.  If they
        still are not, a member that leaves stays an elector; if it comes back, they have a
        majority.
        """
        if keeps_nothing(tip, answers):
            return members
        leaving = frozenset(item.seat for item in answers if item.leaves)
        voters = self._voters(tip, members, answers)
        answered = frozenset(item.seat for item in answers)
        here = answered - leaving
        if not leaving or 2 * len(voters & here) > len(voters):
            return voters
        voters = self._voters(tip, members & answered, answers)
        return voters if 2 * len(voters & here) > len(voters) else voters | (tip.electors & leaving)

    def _voters(
        self, tip: View, members: frozenset[Seat], answers: tuple[Answer, ...]
    ) -> frozenset[Seat]:
        """Return the electors without those that leave, and with those of `members` that vote."""
        # A guest that has not answered is known by its hello alone.
        transient = self.transients | {item.seat for item in answers if item.transient}
        leaving = {item.seat for item in answers if item.leaves}
        names = self.config.electors | names_of(tip.electors)
        voters = {seat for seat in members - transient if seat.member in names}
        here = names_of(voters)
        kept = {seat for seat in tip.electors - leaving if seat.member not in here}
        return frozenset(voters | kept)

    def _covering(self, evidence: Evidence, among: Sequence[Answer]) -> Position | None:
        stores = [item for item in among if not item.transient]
        return self._highest(evidence, [item for item in stores if evidence.covers(item)])

    def _highest(self, evidence: Evidence, among: list[Answer]) -> Position | None:
        if not among:
            raise MisuseError(
                "no store has the data from which the next view starts",
                next="propose only the kind of view that `decide` returns for this evidence",
            )
        return evidence.highest(among).position


def own_answer(
    record: StoreRecord,
    config: Config,
    *,
    ran_on: bool,
    was_active: bool,
    leaves: bool,
) -> Answer:
    """Return the answer of a store with this record."""
    return Answer(
        seat=Seat(config.member, record.store_id),
        transient=record.transient,
        held=record.held,
        position=record.position,
        update_unfinished=record.update_unfinished,
        ran_on=ran_on,
        was_active=was_active,
        options=config.digest,
        is_marked=record.is_marked,
        leaves=leaves,
    )


def _keeps(answer: Answer) -> bool:
    return not answer.transient and not answer.leaves


def keeps_nothing(tip: View, answers: Sequence[Answer]) -> bool:
    """Return whether no member had a store when the cluster was founded: see `KEEPS_NOTHING`."""
    return any(item.transient and item.seat in tip.electors for item in answers)


def _id(seat: Seat) -> str:
    return f"{seat.member} {seat.store_id}"
