"""The log of a node: its events, and each change of the reason for which it waits."""

from __future__ import annotations

import logging
import sys

from attrs import define

from joinproto.host.failures import ASKS_OPERATOR, advice_for
from joinproto.host.process.notify import notify
from joinproto.join.messages import Event, Learned, PhaseChanged, Refusal, Waiting
from joinproto.machine.vocabulary import Reason
from joinproto.net.refused import one_line

log = logging.getLogger("joinproto.node")

LINE_MAX = 4_000


@define
class Reporter:
    """Writes a member's events to the log.  `reason`: the reason of its last wait."""

    reason: Reason | None = None
    _waits: tuple[object, ...] | None = None
    _away: tuple[str, ...] = ()

    def see(self, event: Event) -> None:
        """Log an event of the member."""
        match event:
            case PhaseChanged(before, after, label, case):
                log.info("%s -> %s (%s: %s)", before.value, after.value, label, case)
                notify(f"STATUS={after.value}")
                self._waits = None
            case Learned(view):
                log.info("view %s", view)
                self._waits = None
            case Waiting(label, case, reason, detail):
                self.reason = reason
                waits = (label, case, reason, detail)
                if waits != self._waits:
                    self._waits = waits
                    why = "" if reason is None else f" ({reason.value})"
                    helps = advice_for(reason) if reason in ASKS_OPERATOR else ""
                    detail = f" {detail}" if detail else ""
                    helps = f"; next: {helps}" if helps else ""
                    log.warning("waiting, %s: %s%s%s%s", label, case, why, detail, helps)
            case Refusal(peer, what):
                log.warning("refused %s: %s", peer, what)

    def see_absent(self, away: list[str]) -> None:
        """Log which members have no connection while no client is served; [] means none."""
        if tuple(away) == self._away:
            return
        self._away = tuple(away)
        if away:
            log.warning("not active; no connection to %s", ", ".join(away))


class OneLine(logging.Formatter):
    """Writes each record as one line, so that a text from a peer cannot forge a line of the log."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = one_line(record.message, LINE_MAX)
        return super().formatMessage(record)


def log_to_stderr(member: str, *, verbose: bool) -> None:
    """Print events, one line for each, with the member's name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(f"%(asctime)s {member} %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if verbose else logging.INFO)
    # The library transitions logs each step of each machine.
    logging.getLogger("transitions").setLevel(logging.WARNING)
    # `joinproto.apps.discovery.http` logs each request at debug level, without secrets.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
