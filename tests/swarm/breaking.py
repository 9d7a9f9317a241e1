"""Rules that members of a swarm leave out, and the claims that break then.

`python -m tests.swarm.breaking` puts each former rule back, and prints the seed that notices it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from time import process_time
from typing import Any

from attrs import evolve, frozen

from joinproto.durable.journal.journal import Frame, Journal
from joinproto.host.ports import EventLoop, Work
from joinproto.join.messages import Heartbeat
from joinproto.join.step_context import StepContext
from joinproto.join.view import View
from joinproto.log.entry import digest_of
from joinproto.log.submissions import Submissions
from joinproto.swarm.draw import draw
from joinproto.swarm.place import DataDirectory, OpenFiles
from joinproto.swarm.run import Outcome, run
from joinproto.swarm.scenario import ActionKind, Scenario
from joinproto_worlds.mutations.catalogue import MUTATIONS
from joinproto_worlds.mutations.mutation import Mutation, Patch, applied
from joinproto_worlds.mutations.named import mutation
from tests.durable.mutations import Mutation as LeftOut
from tests.durable.mutations import mutations


def plain(scenario: Scenario, *, options: bool = False) -> Scenario:
    """Return the scenario with electors' votes, stores for all, and no leave or shutdown.

    Such a run must keep all claims.  `options`: some members are
    configured with other options.
    """
    least = len(scenario.electors) // 2 + 1
    away = {ActionKind.LEAVE, ActionKind.SHUTDOWN, ActionKind.RESTORE} | (
        set() if options else {ActionKind.OPTIONS}
    )
    return evolve(
        scenario,
        found_with=None,
        outside=False,
        transients="",
        wait_for=max(scenario.wait_for, least),
        automatic=True,
        ends_in_order=False,
        apart=(),
        actions=tuple(action for action in scenario.actions if action.kind not in away),
    )


@frozen
class BrokenRule:
    """A rule that is left out: one of `claims` breaks within `events_most` events."""

    name: str
    rule: str | Mutation | LeftOut
    claims: frozenset[str]
    events_most: int = 200_000
    first_seed: int = 5_000
    scenario: Callable[[Scenario], Scenario] = plain

    def play(self, scenario: Scenario) -> Outcome:
        with self.applied():
            return run(scenario)

    def drawn(self, seed: int) -> Scenario:
        with self.applied():
            return self.scenario(draw(seed))

    def applied(self) -> AbstractContextManager[None]:
        if isinstance(self.rule, LeftOut):
            return self.rule.applied()
        return applied(mutation(self.rule) if isinstance(self.rule, str) else self.rule)


BREAKS = (
    BrokenRule("a majority", "minority", frozenset({"one_successor"})),
    BrokenRule(
        "all are ready", "active-before-all-are-ready", frozenset({"waits_for_n", "no_split_brain"})
    ),
    BrokenRule("the accepted view", "accepted-not-honoured", frozenset({"one_successor"})),
    BrokenRule("the view that it was ready in", "held-not-persisted", frozenset({"waits_for_n"})),
    BrokenRule(
        "the same options",
        "options-not-compared",
        frozenset({"options_agree"}),
        scenario=partial(plain, options=True),
    ),
    BrokenRule("the tip on the disk", "dirty-not-written", frozenset({"waits_for_n"})),
)


# -- former rules -------------------------------------------------------------------


def _ends_the_ready_alone(original: Callable[..., None]) -> Callable[..., None]:
    """Make a CLOSE end only the members that were ready in the view before it."""

    def learn(m: StepContext, now: float, views: tuple[View, ...]) -> None:
        was_done, was_ready = m.is_done, m.ready_in == views[-1].parent
        original(m, now, views)
        if not views[-1].is_open:
            m.is_done = was_done or was_ready

    return learn


def _with_its_mark(
    original: Callable[[DataDirectory], OpenFiles],
) -> Callable[[DataDirectory], OpenFiles]:
    """Let a disk that is marked as unfinished stay so when its process starts again."""

    def open_disk(self: DataDirectory) -> OpenFiles:
        before = self.record
        is_marked = before is not None and before.tip is not None and before.update_unfinished
        found = original(self)
        return evolve(found, record=evolve(found.record, update_unfinished=is_marked))

    return open_disk


def _marked_on_the_way(original: Callable[..., None]) -> Callable[..., None]:
    def update_progress(m: StepContext, *args: Any) -> None:
        is_marked = m.record.update_unfinished
        original(m, *args)
        if is_marked:
            m.unfinished_update()

    return update_progress


def _marked_to_the_end(original: Callable[..., None]) -> Callable[..., None]:
    def update_done(m: StepContext, *args: Any) -> None:
        m.write(evolve(m.record, update_unfinished=False))
        original(m, *args)

    return update_done


def _any_majority(_: Any) -> Callable[[int], int]:
    return lambda electors: electors // 2 + 1


MAJORITY_OF_NAMES = Mutation(
    "founded-by-a-majority-of-names",
    (Patch("joinproto.join.config", "fewest_founders", _any_majority),),
)
MARKED_AT_ONCE = Mutation(
    "unfit-before-the-first-byte",
    (
        *MUTATIONS["unfit-before-the-first-byte"].patches,
        Patch("joinproto.join.steps", "update_progress", _marked_on_the_way),
        Patch("joinproto.join.steps", "update_done", _marked_to_the_end),
        Patch("joinproto.swarm.place", "DataDirectory.open", _with_its_mark),
    ),
)
READY_ALONE = Mutation(
    "close-ends-the-ready-alone",
    (Patch("joinproto.join.learning", "learn", _ends_the_ready_alone),),
)


def _clears_beyond(original: Callable[..., None]) -> Callable[..., None]:
    def hear_heartbeat(m: StepContext, peer: str, beat: Heartbeat) -> None:
        lineage = m.record.lineage
        if beat.number < lineage.length and lineage.id_at(beat.number) == beat.tip:
            m.observations = evolve(m.observations, beyond=m.observations.beyond - {beat.seat})
        original(m, peer, beat)

    return hear_heartbeat


CLEARS_BEYOND = Mutation(
    "heartbeat-clears-beyond",
    (Patch("joinproto.join.steps", "hear_heartbeat", _clears_beyond),),
)
REFUSAL_BELIEVED = Mutation(
    "refusal-of-any-process",
    (Patch("joinproto.join.greeting", "meeting", lambda _: lambda it, peer: ""),),
)


def _says_before_it_does(_: Any) -> Callable[..., Iterator[Work]]:
    def appending(
        loop: EventLoop, journal: Journal, submissions: Submissions, frames: list[Frame]
    ) -> Iterator[Work]:
        digests = [digest_of(frame.data) for frame in frames]
        first, last = frames[0].seq, frames[-1].seq
        loop.appended(frames[0].view, first, last, lambda seq: digests[seq - first])
        yield partial(journal.append, frames)
        for frame in frames:
            submissions.note_written(frame)

    return appending


SAID_BEFORE_DONE = Mutation(
    "reported-before-appended",
    (Patch("joinproto.log.replicated", "appending", _says_before_it_does),),
)


def _left_out(name: str) -> LeftOut:
    return next(one for one in mutations() if one.name == name)


def _former(point: str, rule: str | Mutation | LeftOut, claims: set[str], seed: int) -> BrokenRule:
    """Return a former rule; `seed`: the first seed from 0 on whose run notices it."""
    return BrokenRule(
        point, rule, frozenset(claims), first_seed=seed, scenario=lambda scenario: scenario
    )


SYNCS = {
    "journal:Journal.append:without sync_data:1": 3,
    "journal:Journal.cut:without sync_data:1": 31,
    "filesystem:replace:without sync:1": 7,
}
"""Syncs that are left out, one at a time, and the first seed from 0 on that notices it."""

FORMER = (
    _former("1", MAJORITY_OF_NAMES, {"one_successor"}, 1_983),
    _former("2", "nobody-keeps-it", {"view_has_store"}, 28),
    _former("3", MARKED_AT_ONCE, {"serves_again"}, 52),
    _former("4", "left-to-the-absent", {"leave_keeps_majority"}, 30),
    _former("5", READY_ALONE, {"all_end", "close_ends"}, 2),
    _former("10", "apart-kept", {"serves_again"}, 152),
    _former("3.8", "reads-unconfirmed", {"reads_see_acked"}, 6),
    _former("3.9", "heard-by-connection", {"opens_where_it_stands"}, 22),
    _former("3.9", CLEARS_BEYOND, {"opens_where_it_stands"}, 58),
    _former("3.9", REFUSAL_BELIEVED, {"stops_rightly"}, 382),
    _former("3.6", "backup-believed", {"nothing_lost"}, 187),
    _former("disk", SAID_BEFORE_DONE, {"is_durable"}, 1),
    *(
        _former("disk", _left_out(name), {"is_durable", "no_error", "nothing_lost"}, seed)
        for name, seed in SYNCS.items()
    ),
)


def search(broken: BrokenRule, first: int = 0) -> str:
    """Return the first seed from `first` on at which a claim is broken, and the cost, in words."""
    began, runs, events, outcome = process_time(), 0, 0, None
    seeds = count(first)
    while outcome is None or outcome.claim not in broken.claims:
        outcome = broken.play(broken.drawn(next(seeds)))
        runs, events = runs + 1, events + outcome.events
    rule = broken.rule if isinstance(broken.rule, str) else broken.rule.name
    return (
        f"{broken.name} {rule}: {outcome.claim}, seed {outcome.scenario.seed}, {runs} runs,"
        f" {events} events, {process_time() - began:.1f} s of CPU"
    )


if __name__ == "__main__":
    for one in FORMER[int(sys.argv[1] if sys.argv[1:] else 0) :]:
        print(search(one), flush=True)
