"""A scenario: the decisions that are made before a run begins, as one value.

The fate of a message is drawn during the run, from the seed and the message's link alone.  So a
scenario without one of its actions plays nearly the same, which helps shrinking.
"""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen

from joinproto.join.config import Config, TotalFailure


class ActionKind(Enum):
    """An action on a cluster, by its operators or by chance, as a sentence.

    `{member}` and `{others}` stand for the fields of an `Action`, `{all}` for both together.
    """

    START = "{member} is started"
    CRASH = "{member} is killed"
    CRASH_SOON = "{member} dies during its next actions"
    POWER = "the power fails at {member} during its next actions"
    BLACKOUT = "the power fails at {all} during the next actions of each"
    GONE = "{member} dies soon, and never comes back"
    FEEDS = "{member} dies when it is next asked for its data, and never comes back"
    CUT = "the link between {member} and {others} is cut"
    DEAF = "{member} no longer hears {others}, which still hears {member}"
    BREAK = "{member} loses its connection to {others}"
    GIVEN_UP = "{member} is taken for lost by all others for a while, and does not notice"
    SPLIT = "all links between {all} and the other members are cut, and all other links are mended"
    HEAL = "all links are mended"
    WRITE = "{member} gets a write from a client"
    LEAVE = "{member} is told to leave"
    SHUTDOWN = "{member} is told to shut down the whole cluster"
    WIPE = "{member} gets an empty disk"
    RESTORE = "{member} gets back an old copy of its disk"
    COPY = "the disk of {member} is copied"
    PUT_BACK = "{member} gets back the copy of its disk, after all members were killed"
    MARK = "an operator marks the store of {member}"
    JUMP = "the clock of {member} jumps ahead"
    OPTIONS = "{member} is configured with other options"
    USUAL = "{member} is configured with the usual options again"
    REGISTER_LOST = "{member} does not reach the register"


@frozen
class Action:
    """An action at a time, in seconds: on `member` and on `others`, one letter for each member.

    `amount`: for `CRASH_SOON`, `POWER` and `GONE` the number of changes and sends before the
    process dies, otherwise seconds.
    """

    at: float
    kind: ActionKind
    member: str = ""
    others: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        told = self.kind.value.format(
            member=self.member, others=self.others, all=f"{self.member} {self.others}".strip()
        )
        return f"{told} ({self.amount:g})" if self.amount else told


@frozen(kw_only=True)
class Scenario:
    """One run: the members and their options, the faults, and the actions.

    `delay`: mean seconds that a message takes.  `is_steady`: messages that are not slow all take
    the same time.  `slow`: the share that takes about twenty times as long.  `loss`, `twice`,
    `late`: the shares of the members' messages that are lost, come twice, come again much later.
    `old`: the share of messages with which an older message from the same sender comes.  `notice`:
    the most seconds until a lost connection is noticed.  `drift`: for each member, the seconds of
    its clock in a second.  `on_disk`: metadata go through the real store, as bytes.  `as_bytes`:
    messages go as bytes.  `apart`: pairs that do not hear each other even after all other links are
    mended.  `ends_in_order`: the run ends with an orderly shutdown and a start of all.
    """

    seed: int
    members: str
    electors: str
    transients: str = ""
    wait_for: int
    found_with: int | None = None
    outside: bool = False
    automatic: bool = True
    patience: float = 1.0
    heartbeat: float = 0.5
    delay: float = 0.02
    is_steady: bool = False
    slow: float = 0.01
    loss: float = 0.0
    twice: float = 0.0
    late: float = 0.0
    old: float = 0.0
    notice: float = 1.0
    drift: tuple[float, ...] = ()
    on_disk: bool = False
    as_bytes: bool = False
    actions: tuple[Action, ...] = field(default=(), repr=False)
    apart: tuple[str, ...] = ()
    ends_in_order: bool = False

    def config(self, name: str, *, options: str = "default") -> Config:
        """Return this member's configuration."""
        return Config(
            member=name,
            electors=frozenset(self.electors),
            wait_for=self.wait_for,
            options=options,
            is_transient=name in self.transients,
            total_failure=TotalFailure.AUTOMATIC if self.automatic else TotalFailure.MANUAL,
            found_with=self.found_with,
            outside=self.outside,
            patience=self.patience,
            heartbeat=self.heartbeat,
        )

    @property
    def restores_old_disk(self) -> bool:
        """Return whether a disk may forget its promises in this run, which voids most claims.

        Runs with `PUT_BACK` are checked against all claims.
        """
        return any(action.kind is ActionKind.RESTORE for action in self.actions)

    @property
    def words(self) -> list[str]:
        """Return the configuration in words, one line each, for a person."""
        register = "an outside register chooses" if self.outside else "the electors vote"
        failure = "automatic" if self.automatic else "manual"
        who = f"members {' '.join(self.members)}, electors {' '.join(self.electors)}"
        lines = [f"{who}, N = {self.wait_for}, {register}, total failure: {failure}"]
        if self.transients:
            lines.append(f"no store: {' '.join(self.transients)}")
        if self.found_with is not None:
            lines.append(f"found_with = {self.found_with}")
        lines.append(
            f"patience {self.patience:g} s, heartbeat {self.heartbeat:g} s, messages take about"
            f" {self.delay:g} s; {self.loss:.0%} are lost, {self.twice:.0%} come twice,"
            f" {self.late:.0%} come again much later, and {self.old:.0%} bring an older"
            " message of their sender"
        )
        return lines
