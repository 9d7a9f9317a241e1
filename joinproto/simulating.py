"""The functions for random runs of your own members in a simulated network.

`from joinproto.simulating import draw, run, shrink`; `docs/simulation.md` shows how to use them.
"""

from joinproto.swarm.draw import draw
from joinproto.swarm.run import run
from joinproto.swarm.shrink import shrink

__all__ = ["draw", "run", "shrink"]
