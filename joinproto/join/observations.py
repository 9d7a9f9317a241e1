"""A member's observations of the others: a value, lost when its process ends.

Nothing here is on a disk, and most of it is about the tip, so a new view makes that void.

Source: join protocol, 3.3 to 3.6.
"""

from __future__ import annotations

from attrs import evolve, frozen

from joinproto.join.answers import Answer
from joinproto.join.config import Config
from joinproto.join.joint_view import CutPairs
from joinproto.join.view import Seat, View, names_of


@frozen(cache_hash=True)
class Doubt:
    """An elector, heard over a new connection, that has not answered whether the view stands.

    `number`: the number of the question.
    """

    peer: str
    number: int


@frozen(kw_only=True, cache_hash=True)
class Observations:
    """A member's knowledge of the others.

    `in_reach`: names of the peers to which it is connected.  `answers`: the answers to the present
    ballot about the tip.  `ready`: others that are ready in the tip.  `guests`: newcomers to take
    in; `transients`: the guests without a store.  `beyond`: seats that are known to have answered
    a ballot about the tip, or to know a later view.  `strangers`: names of peers that can never be
    in one cluster with this store.  `replaced`: names of members of the tip that are here with
    other stores.  `apart`: the members that do not hear each other, by their answers.  `went_back`:
    names of members whose stores were last found to be older copies.  `doubts`: electors that have
    not confirmed over a new connection that the view stands.  `older`: names of peers that do not
    understand that question.
    """

    in_reach: frozenset[str] = frozenset()
    answers: frozenset[Answer] = frozenset()
    ready: frozenset[Seat] = frozenset()
    guests: frozenset[Seat] = frozenset()
    transients: frozenset[Seat] = frozenset()
    beyond: frozenset[Seat] = frozenset()
    strangers: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    apart: CutPairs = CutPairs()
    went_back: frozenset[str] = frozenset()
    doubts: frozenset[Doubt] = frozenset()
    older: frozenset[str] = frozenset()

    # -- changes --------------------------------------------------------------------------

    def with_peer(self, peer: str, *, confirms: bool = True) -> Observations:
        older = self.older - {peer} if confirms else self.older | {peer}
        return evolve(self, in_reach=self.in_reach | {peer}, older=older)

    def with_doubt(self, peer: str, number: int) -> Observations:
        """Return the observations after question `number` asked `peer` whether the view stands."""
        others = frozenset(doubt for doubt in self.doubts if doubt.peer != peer)
        return evolve(self, doubts=others | {Doubt(peer, number)})

    def without_doubt(self, peer: str, number: int) -> Observations:
        """Return the observations after `peer` confirmed the view in answer to `number`."""
        left = (one for one in self.doubts if one.peer != peer or one.number > number)
        return evolve(self, doubts=frozenset(left))

    def without_peer(self, peer: str) -> Observations:
        """Return the observations that are left when `peer` is no longer heard."""
        return evolve(
            self,
            in_reach=self.in_reach - {peer},
            older=self.older - {peer},
            doubts=frozenset(doubt for doubt in self.doubts if doubt.peer != peer),
            strangers=self.strangers - {peer},
            replaced=self.replaced - {peer},
            guests=frozenset(seat for seat in self.guests if seat.member != peer),
            transients=frozenset(seat for seat in self.transients if seat.member != peer),
        )

    def for_tip(self, tip: View) -> Observations:
        """Return the observations that still count when `tip` is the new tip."""
        guests = frozenset(seat for seat in self.guests if seat not in tip.members and tip.is_open)
        return Observations(
            in_reach=self.in_reach,
            guests=guests,
            transients=self.transients & guests,
            older=self.older,
        )

    def answered(self, answer: Answer, misses: frozenset[str] = frozenset()) -> Observations:
        """Return the observations with this answer in the place of the member's earlier answer.

        `misses`: the members that it does not hear.
        """
        name = answer.seat.member
        others = (item for item in self.answers if item.seat.member != name)
        return evolve(
            self, answers=frozenset({answer, *others}), apart=self.apart.as_told_by(name, misses)
        )

    def without_answers(self) -> Observations:
        return evolve(self, answers=frozenset(), apart=CutPairs())

    def without_answer_of(self, name: str) -> Observations:
        answers = frozenset(item for item in self.answers if item.seat.member != name)
        return evolve(self, answers=answers)

    def for_new_ballot(self) -> Observations:
        """Return the observations for a new ballot, which asks again which members hear which."""
        return evolve(self, apart=CutPairs()) if self.apart.pairs else self

    def with_ready(self, seat: Seat) -> Observations:
        return evolve(self, ready=self.ready | {seat})

    def without_ready(self) -> Observations:
        return evolve(self, ready=frozenset()) if self.ready else self

    def with_guest(self, guest: Seat, *, transient: bool = False) -> Observations:
        others = frozenset(seat for seat in self.guests if seat.member != guest.member)
        return evolve(
            self,
            guests=others | {guest},
            transients=(self.transients & others) | ({guest} if transient else frozenset()),
        )

    def without_guest(self, guest: Seat) -> Observations:
        guests = self.guests - {guest}
        return evolve(self, guests=guests, transients=self.transients & guests)

    def with_beyond(self, seat: Seat) -> Observations:
        return evolve(self, beyond=self.beyond | {seat})

    def with_went_back(self, went_back: frozenset[Seat]) -> Observations:
        """Return the observations in which, of the seats that answered, only these went back."""
        answered = {item.seat.member for item in self.answers}
        names = self.went_back - answered | names_of(went_back)
        return evolve(self, went_back=names) if names != self.went_back else self

    def with_stranger(self, peer: str) -> Observations:
        return evolve(self, strangers=self.strangers | {peer})

    def with_store_of(self, seat: Seat, tip: View | None) -> Observations:
        """Return the observations after `seat` was heard; it may replace a seat of the tip."""
        if tip is None or seat in tip.members or seat.member not in names_of(tip.members):
            return self
        return evolve(self, replaced=self.replaced | {seat.member})

    # -- derived facts --------------------------------------------------------------------

    @property
    def doubted(self) -> frozenset[str]:
        """Return the names of the electors in `doubts`."""
        return frozenset(doubt.peer for doubt in self.doubts)

    def is_majority(self, tip: View, me: Seat) -> bool:
        """Return whether a majority of the tip's electors is heard.

        Electors that are in doubt, or have gone on to another view, do not count.
        """
        heard = self.reached(tip, me)
        if self.doubts:
            heard = frozenset(seat for seat in heard if seat.member not in self.doubted)
        if self.beyond or self.answers:
            gone_on = self.beyond | {item.seat for item in self.answers}
            heard = heard - gone_on
        return tip.is_majority(heard)

    def reached(self, tip: View, me: Seat) -> frozenset[Seat]:
        """Return the electors of the tip that are connected, or are this member."""
        return frozenset(
            [seat for seat in tip.electors if seat.member in self.in_reach or seat == me]
        )

    def silent(self, expected: set[str]) -> set[str]:
        """Return the names among these that have not answered."""
        return expected - {item.seat.member for item in self.answers}

    def lacks(self, tip: View, me: Seat) -> bool:
        """Return whether a member of the tip is not here, or not with its store."""
        here = (self.in_reach | {me.member}) - self.replaced
        return not names_of(tip.members) <= here

    def misses(self, tip: View | None, me: Seat) -> frozenset[str]:
        """Return the members and electors of the tip that are not heard, by name."""
        known = frozenset() if tip is None else tip.members | tip.electors
        return names_of(known) - self.in_reach - {me.member}

    def is_copy(self, seat: Seat, tip: View | None, me: Seat) -> bool:
        """Return whether another seat has the same store id; seats of the tip are no copies."""
        own = {me} | (tip.members | tip.electors if tip is not None else set())
        if seat in own:
            return False
        others = own | self.guests | {item.seat for item in self.answers}
        return any(one.store_id == seat.store_id and one != seat for one in others)

    def is_cut_off(self, tip: View, me: Seat, config: Config) -> bool:
        """Return whether this member would wait for ever, because too many peers are strangers."""
        if config.outside:
            left = {seat for seat in tip.members if seat.member not in self.strangers}
            return len(left) < tip.wait_for
        left = {seat for seat in tip.electors if seat.member not in self.strangers}
        others = config.electors - {me.member}
        is_alone = bool(others) and others <= self.strangers
        return is_alone or not tip.is_majority(left)
