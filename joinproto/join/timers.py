"""Timers: the measured time of a ballot, and the member that may have a ballot undisturbed.

A ballot never ends if it is begun again faster than its answers travel, or if each newcomer outbids
it.  So patience is at least the time that answers have taken (as a retransmission timeout follows
round trips, RFC 6298).  And an answered ballot has its time: until then other members' ballots are
ignored, as if they were lost.  With heartbeats these members ask again; without heartbeats every
ballot is heard.  Safety does not depend on this module, and no disk keeps any of it.
"""

from __future__ import annotations

from attrs import evolve, frozen

from joinproto.join.store import Ballot

ASKED_MAX = 16
"""The most own ballots whose times are remembered until their answers come."""

TURNS_MAX = 4
"""After this many holders whose ballots failed, the time of a holder no longer grows."""


@frozen
class Timers:
    """A member's measurements, and the member that has its turn now.

    `trip`, `spread`: seconds from a question to its answer, smoothed, and their deviation.
    `asked`: this member's ballots, and when they began.  `holder`: the member whose turn it is, ""
    for none; `since`: when its turn began; `turns`: how many turns there were since the last view
    was learned.  `started`: when this process began; `rounds`: the round of the ballot that its
    store had promised then, 0 for none.  `starters`: members that said that they were started since
    they were ready; `runners`: members that said that they ran on.
    """

    trip: float = 0.0
    spread: float = 0.0
    asked: tuple[tuple[Ballot, float], ...] = ()
    holder: str = ""
    since: float = 0.0
    turns: int = 0
    started: float = 0.0
    rounds: int = 0
    starters: frozenset[str] = frozenset()
    runners: frozenset[str] = frozenset()

    # -- measurement ---------------------------------------------------------------------------

    def asking(self, now: float, ballot: Ballot) -> Timers:
        """Return the timers after a ballot of this member has begun."""
        return evolve(self, asked=(*self.asked, (ballot, now))[-ASKED_MAX:])

    def answered(self, now: float, ballot: Ballot) -> Timers:
        """Return the timers after an answer to that ballot has come, in time or late."""
        begun = dict(self.asked).get(ballot)
        if begun is None:
            return self
        found = now - begun
        if not self.trip:
            return evolve(self, trip=found, spread=found / 2)
        spread = self.spread + (abs(self.trip - found) - self.spread) / 4
        return evolve(self, trip=self.trip + (found - self.trip) / 8, spread=spread)

    def insisting(self, ballot: Ballot) -> Timers:
        """Return the timers after `ballot` asked again although some members have answered.

        The others had ignored it in another member's turn, so the time of their answers does not
        measure how long messages take (Karn and Partridge 1987).
        """
        return evolve(self, asked=tuple(item for item in self.asked if item[0] != ballot))

    def patience(self, configured: float) -> float:
        """Return the seconds to wait for a ballot, which asks twice, but at least `configured`."""
        return max(configured, 2 * self.trip + 4 * self.spread)

    # -- which member's turn it is --------------------------------------------------------------

    def given_to(self, now: float, name: str) -> Timers:
        """Return the timers after a ballot of `name` was answered.

        A further ballot of the same member does not prolong its turn.
        """
        if name == self.holder:
            return self
        return evolve(self, holder=name, since=now, turns=self.turns + 1)

    def without(self, name: str) -> Timers:
        """Return the timers after the connection to that member is lost."""
        holder = "" if name == self.holder else self.holder
        starters, runners = self.starters - {name}, self.runners - {name}
        return evolve(self, holder=holder, starters=starters, runners=runners)

    def greeted_by(self, name: str, *, ran_on: bool) -> Timers:
        """Return the timers after that member said whether it has run since it was ready."""
        if name in (self.runners if ran_on else self.starters):
            return self
        starters, runners = self.starters - {name}, self.runners - {name}
        if ran_on:
            return evolve(self, starters=starters, runners=runners | {name})
        return evolve(self, starters=starters | {name}, runners=runners)

    def deferred_until(self, in_reach: frozenset[str], patience: float) -> float | None:
        """Return the time until which a started member lets others finish a ballot; None: no wait.

        Otherwise: it crashes in its ballot, starts, and makes all ballots begin again.  If no peer
        is known to have run on, it waits only one turn: a hello may be lost, or never sent.
        """
        if not self.rounds or in_reach <= self.starters:
            return None
        turns = min(self.rounds, TURNS_MAX) if in_reach & self.runners else 1
        return self.started + patience * 2.0**turns

    def learned(self) -> Timers:
        """Return the timers for the next choice."""
        return Timers(self.trip, self.spread)

    def held_until(self, name: str, patience: float) -> float | None:
        """Return when the turn of a member other than `name` ends, None if there is none."""
        if self.holder in ("", name):
            return None
        return self.since + patience * 2.0 ** min(max(0, self.turns - 1), TURNS_MAX)

    def next_turn(self, patience: float, rank: int) -> float:
        """Return when the turn of a member of this rank begins, after the holder's turn."""
        end = self.held_until("", patience)
        return (self.since if end is None else end) + patience * rank
