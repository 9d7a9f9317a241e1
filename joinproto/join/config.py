"""The configuration that a member is started with.

Source: join protocol, section 2; rules W1, I1, I2.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.codec.malformed import require, require_int, require_text
from joinproto.errors import MisuseError


class TotalFailure(Enum):
    """The behaviour if all members have failed and no member is sure of the last view (P3)."""

    MANUAL = "manual"  # the operator's mark permits the restart, as the note says
    AUTOMATIC = "automatic"  # a standing permission: go on wherever that is provably safe


def fewest_founders(electors: int) -> int:
    """Return the smallest number of founders that is safe with this many configured electors.

    Members that would found a second cluster need answers from this many names.  At least one of
    these names must have accepted the first FOUND, which a majority of its seats accepted.
    """
    return next(few for few in range(1, electors + 1) if few + few // 2 + 1 > electors)


@frozen(kw_only=True)
class Config:
    """One member's configuration.

    `member`: its name.  `electors`: names of all members that may vote; the same in every member.
    `wait_for`: N, 1 or more.  `options`: a digest of the options that must match (I2).
    `is_transient`: it has no store.  `found_with`: how many of the electors found the cluster, None
    means all.  `outside`: an outside register chooses, not the electors' votes.  `patience`:
    seconds until it gives up waiting for others.  `heartbeat`: seconds between two heartbeats.  0
    is for searches and tests alone: no message is repeated, and members may wait for a new
    connection or a start although all are up.
    """

    member: str
    electors: frozenset[str]
    wait_for: int = 1
    options: str = "default"
    cluster_name: str = "cluster"
    is_transient: bool = False
    total_failure: TotalFailure = TotalFailure.MANUAL
    found_with: int | None = None
    outside: bool = False
    patience: float = 2.0
    heartbeat: float = 0.5

    def __attrs_post_init__(self) -> None:
        require_text("member", self.member)
        require_int("wait_for", self.wait_for, at_least=1)
        require_text("options", self.options)
        require_text("cluster_name", self.cluster_name)
        require("electors", len(self.electors) > 0, "none", "at least one name")
        if self.patience <= 0 or self.heartbeat < 0:
            raise MisuseError(
                f"patience is {self.patience} s, heartbeat {self.heartbeat} s",
                next="set patience to more than 0, heartbeat to 0 or more",
            )
        if self.outside:
            return
        if self.is_transient and self.member in self.electors:
            raise MisuseError(
                f"{self.member} is transient and an elector; it would forget its promises",
                next="take it out of the electors, give it a store, or use an outside register",
            )
        majority = len(self.electors) // 2 + 1
        if self.wait_for < majority:
            raise MisuseError(
                f"wait_for {self.wait_for} is less than {majority}, a majority of the"
                f" {len(self.electors)} electors: both sides of a partition could have N members",
                next=f"set wait_for to {majority} or more, or use an outside register;"
                " `joinproto check note-wait-for` shows the split",
            )
        least, most = fewest_founders(len(self.electors)), len(self.electors)
        if self.found_with is not None and not least <= self.found_with <= most:
            raise MisuseError(
                f"found_with is {self.found_with}, with {most} electors: with fewer than {least}"
                " two clusters could be founded",
                next=f"give a number from {least} to {most}, or leave it out;"
                " `joinproto models chain-register-found-with` names the search that shows the two",
            )

    @property
    def digest(self) -> str:
        """Return the digest of the options and N, which must be the same in all members."""
        return f"{self.options}/{self.wait_for}"
