"""The bounds of a join world: which members take part, their possible actions, and the possible
faults.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from joinproto.join.config import Config, TotalFailure
from joinproto.join.lineage import Lineage
from joinproto.join.store import StoreRecord
from joinproto_worlds.join.plan import HostLapse, Plan
from joinproto_worlds.join.scenes import SCENES, Scene

NAMES = ("a", "b", "c", "d", "e")

LAPSES = {lapse.value: lapse for lapse in HostLapse}

EMPTY = Scene({}, Lineage())


@frozen(kw_only=True)
class Bounds:
    """The bounds of a join world.  `register`: "atomic" for an outside register, or "votes".

    `views`, `frames`, `rounds`: the most views of a chain, frames that a client writes, and rounds
    of a ballot.  `partitions`: how often the network splits, with `a` alone on one side; by default
    never with two members, and once with more.  By default both of two members propose and crash,
    and of three or more only `a`, which also orders the frames.  `proposers`: how many members
    propose.  `is_patient`: proposers wait for all answers, except after the views with the numbers
    in `hurries`; the default for three or more members.  `scene`: the contents of the disks
    (`scenes.py`).

    Some fields are names of members.  `electors`: the configured electors, or all.  `spared`:
    members that never crash; `transient`: members without a store; `other_options`: members with
    other options; `wiped`: the member whose disk may be lost; `leaves`: members that may leave;
    `foreign`: members that must not come in; `hears`: members whose connections come and go, with
    the most `questions` they ask over new connections; `reads`: members at which a client reads;
    `cut`: pairs that never hear each other.

    `automatic`: after a total failure members need no mark of the operator; `marks`: the operator
    may mark any store.  `asks`: members ask an outside register for the successors of their views.
    `live`: it must stay possible that all members become active; `recovers`: that one does.
    `beats`: in a `live` world members start at any moment and send heartbeats.  `lasting`:
    heartbeats come at any moment, and ballots last until they are outbid.  `reaches`: keys of
    `POSSIBLE` (`claims.py`) that must be reachable.  `mutant`: the name of a rule or a duty that is
    left out.  Other fields: see `Plan`.
    """

    members: int
    wait_for: int
    crashes: int
    partitions: int | None
    register: str
    mutant: str | None
    views: int
    frames: int
    rounds: int
    scene: str = ""
    electors: str = ""
    proposers: int | None = None
    spared: tuple[str, ...] | None = None
    transient: tuple[str, ...] = ()
    other_options: tuple[str, ...] = ()
    automatic: bool = True
    suspects: bool = True
    is_patient: bool | None = None
    lasts: bool = False
    hurries: tuple[int, ...] = (1,)
    closes: bool = True
    leaves: str = ""
    greets: bool = False
    hears: str = ""
    questions: int = 2
    reads: str = ""
    asks: bool = False
    cut: tuple[str, ...] = ()
    wiped: str | None = None
    marks: bool = False
    foreign: str = ""
    live: bool = False
    recovers: bool = False
    beats: bool = True
    lasting: bool = False
    steps: bool = False
    reaches: tuple[str, ...] = ("FOUND", "CHANGE", "RESTART")

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES[: self.members]

    @property
    def natives(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.foreign)

    @property
    def is_pair(self) -> bool:
        return self.members < 3

    @property
    def votes(self) -> bool:
        return self.register == "votes"

    @property
    def lapse(self) -> HostLapse | None:
        return LAPSES.get(self.mutant or "")

    @property
    def splits(self) -> int:
        """Return how often the network may split."""
        return (0 if self.is_pair else 1) if self.partitions is None else self.partitions

    @property
    def never_crash(self) -> tuple[str, ...]:
        return (() if self.is_pair else self.names[1:]) if self.spared is None else self.spared

    @property
    def n(self) -> int:
        """Return N, which is 1 if electors differ, so that each member founds its own cluster."""
        return 1 if self.lapse is HostLapse.ONE_CONFIG else self.wait_for

    def first_scene(self) -> Scene:
        """Return the contents of the disks at the beginning."""
        return SCENES[self.scene]() if self.scene else EMPTY

    def config(self, name: str) -> Config:
        voters = frozenset(self.electors or self.names)
        voters -= frozenset(self.transient if self.votes else ())
        if self.lapse is HostLapse.ONE_CONFIG and name in voters:
            voters = frozenset({name})
        return Config(
            member=name,
            electors=voters,
            wait_for=self.n,
            options="others" if name in self.other_options else "options",
            is_transient=name in self.transient,
            total_failure=TotalFailure.AUTOMATIC if self.automatic else TotalFailure.MANUAL,
            outside=not self.votes,
            heartbeat=1 if self.lasting or self.asks else 0,
        )

    def plan(self, name: str, scene: Scene) -> Plan:
        names = self.names
        proposers = (2 if self.is_pair else 1) if self.proposers is None else self.proposers
        apart = {other for pair in self.cut if name in pair for other in pair}
        fresh = StoreRecord(store_id=f"{name}1", transient=name in self.transient)
        same: dict[str, Any] = {
            key: getattr(self, key) for key in ("suspects", "closes", "greets", "steps", "lasts")
        }
        return Plan(
            self.config(name),
            scene.stores.get(name, fresh),
            frozenset(names) - {name, *apart},
            self.views,
            self.frames,
            **same,
            proposes=name in names[:proposers],
            leaves=name in self.leaves,
            forgets=name in self.transient or name == self.wiped,
            hears=name in self.hears,
            questions=self.questions,
            reads=name in self.reads,
            beats=(self.live and self.beats) or self.lasting or name in self.hears,
            is_cut=any(name in pair for pair in self.cut),
            is_patient=not self.is_pair if self.is_patient is None else self.is_patient,
            hurries=self.hurries,
            rounds=self.rounds,
            mutation=self._mutation(),
            lapses=frozenset({self.lapse} if self.lapse else ()),
        )

    def _mutation(self) -> str | None:
        """Return the name of the mutation of the members, or None."""
        if self.mutant is None or self.lapse is not None:
            return None
        # Imported here and not above, because the catalogue imports every system.
        from joinproto_worlds.mutations.catalogue import OF_THE_MEMBER

        return self.mutant if self.mutant in OF_THE_MEMBER else None
