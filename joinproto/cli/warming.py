"""Load the compiled loops before a search, whose time limit and times do not include the loading.

Loading the loops takes half a second; compiling them takes up to two minutes the first time.  They
are run on a small world that is defined here, so that a user's members run only in their search.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define

from joinproto.check.properties import always, always_each
from joinproto.check.world import World


@define
class _Clock:
    ticks: int = 0

    def choices(self) -> Iterator[str]:
        if self.ticks < 1:
            yield "tick"

    def receive(self, event: object) -> None:
        if event == "tick":
            self.ticks += 1

    def shows(self) -> int:
        return self.ticks


def warm_up(*, symmetry: bool = False, workers: int = 1) -> None:
    """Load or compile the loops that a search with `symmetry` and `workers` needs."""
    from joinproto.check.engine import absent
    from joinproto.check.engine.expansion.workers import touch
    from joinproto.check.engine.search import Search
    from joinproto.check.engine.stopping import Limits
    from joinproto.check.memory import uncollected

    world = World(
        name="clocks",
        members={"a": _Clock, "b": _Clock},
        interchangeable=("a", "b"),
        properties=[
            always("whole", lambda view: len(view) == 2),
            always_each("each", lambda ticks: ticks <= 1),
        ],
    )
    # SciPy's linear algebra takes as long to load as everything else together.
    with absent("scipy.linalg.cython_blas"), uncollected():
        Search(world, limits=Limits(memory_bytes=1 << 30), symmetry=symmetry).run()
        if workers > 1:
            touch()
