"""A scenario: the decisions that are made before a run begins, as one value.

The fate of a message is drawn during the run, from the seed and the message's link alone.  So a
scenario without one of its actions plays nearly the same, which helps shrinking.
"""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen

from joinproto.join.config import Config, TotalFailure


class What(Enum):
    """An action on a cluster, by its operators or by chance."""

    START = "is started"
    CRASH = "is killed"
    CRASH_SOON = "dies in the middle of what it does next"
    POWER = "loses its power in the middle of what it does next"
    BLACKOUT = "and these lose their power, each in the middle of what it does next"
    GONE = "dies soon, and never comes back"
    FEEDS = "dies when it is next asked for its data, and never comes back"
    CUT = "and the other hear each other no more"
    DEAF = "does not hear the other, which hears it"
    BREAK = "loses its connection to the other"
    GIVEN_UP = "is taken for lost by all others for a while, and does not notice"
    SPLIT = "and these hear no other member, and all others each other"
    HEAL = "all links are whole again"
    WRITE = "a client writes at it"
    LEAVE = "is told to leave"
    SHUTDOWN = "is told to shut down the whole cluster"
    WIPE = "gets an empty disk"
    RESTORE = "gets back an old copy of its disk"
    COPY = "its disk is copied"
    PUT_BACK = "gets back the copy of its disk, after all were killed"
    MARK = "its store is marked by the operator"
    JUMP = "its clock jumps ahead"
    OPTIONS = "is configured with other options"
    USUAL = "is configured with the usual options again"
    REGISTER_LOST = "does not reach the register"


@frozen
class Action:
    """An action at a time, in seconds: on the member `who`, with `others` and an amount, if any."""

    at: float
    what: What
    who: str = ""
    others: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        rest = f" {self.others}" if self.others else ""
        much = f" ({self.amount:g})" if self.amount else ""
        return f"{self.who}{rest} {self.what.value}{much}".strip()


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
    mended.  `ends`: the run ends with an orderly shutdown and a start of all.
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
    ends: bool = False

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
    def forgets(self) -> bool:
        """Return whether a disk forgets its promises in this run, which voids most claims."""
        return any(action.what is What.RESTORE for action in self.actions)

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
            f" {self.late:.0%} come again much later, and with {self.old:.0%} comes an old one"
        )
        return lines
