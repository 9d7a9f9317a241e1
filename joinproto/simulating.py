"""The names that random runs are written with: `from joinproto.simulating import draw, run,
shrink`.

For members of your own, in one simulated network; `docs/simulation.md` says how.
"""

from joinproto.swarm.draw import draw
from joinproto.swarm.run import run
from joinproto.swarm.shrink import shrink

__all__ = ["draw", "run", "shrink"]
