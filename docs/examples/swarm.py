"""Members of one's own in random runs: a minority of them may choose, and it is found."""

# ruff: noqa: T201 - a program of its own may print
from functools import partial

from joinproto import Member
from joinproto.simulating import Seam, draw, run, shrink


def start(now, config, record, *, seed):
    rules = frozenset({Seam.MAJORITY})  # a minority may choose
    return Member.start(now, config, record, seed=seed, left_out=rules)


play = partial(run, start=start)
for number in range(5000, 5100):
    outcome = play(draw(number))
    if outcome.claim == "one_successor":
        break

smaller = shrink(outcome, play, seconds=5)
print(f"seed {number} breaks {smaller.claim}: {smaller.what}")
print(f"{len(outcome.scenario.deeds)} deeds, {len(smaller.scenario.deeds)} after shrinking")
