"""Random runs of a user's own members, which forget their promises and so break a claim."""

# ruff: noqa: T201 - a program of its own may print
from functools import partial

from attrs import evolve

from joinproto import Member
from joinproto.simulating import draw, run, shrink


def start(now, config, record, *, seed):
    forgetful = evolve(record, promised=None, accepted=None)  # whatever the disk says
    return Member.start(now, config, forgetful, seed=seed)


play = partial(run, start=start)
for number in range(5030, 5100):
    outcome = play(draw(number))
    if outcome.claim == "one_successor":
        break

smaller = shrink(outcome, play, seconds=5)
print(f"seed {number} breaks {smaller.claim}: {smaller.what}")
print(f"{len(outcome.scenario.actions)} actions, {len(smaller.scenario.actions)} after shrinking")
