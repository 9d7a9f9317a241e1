"""A draft of a member with any state, so that a test can call one rule of its steps alone."""

from __future__ import annotations

from joinproto.join.choice import Choice
from joinproto.join.lineage import Lineage
from joinproto.join.messages import JoinMessage
from joinproto.join.outside import OutsideChoice
from joinproto.join.state import Setup
from joinproto.join.step_context import StepContext
from joinproto.join.store import StoreRecord
from tests.join.bus import config
from tests.join.pictures import lineage


def draft(chain: str | Lineage = "", **more: object) -> StepContext:
    """Return a draft of the member `a`, whose store knows this chain; `more`: fields of its state.

    `held`, `position` and `promised` are fields of its record, and `options` are those of its
    configuration.
    """
    views = lineage(chain) if isinstance(chain, str) else chain
    kept = {name: more.pop(name) for name in ("held", "position", "promised") if name in more}
    options: dict[str, object] = more.pop("options", {})  # type: ignore[assignment]
    record = StoreRecord(store_id="a'", lineage=views, **kept)  # type: ignore[arg-type]
    kind = OutsideChoice if options.get("outside") else Choice
    choice = kind(member="a", record=record, founders=frozenset("abc"))
    return StepContext(Setup(config("a", **options)), choice, **more)  # type: ignore[arg-type]


def sends(m: StepContext) -> list[tuple[str, JoinMessage]]:
    return [(sent.to, sent.message) for sent in m.sends]
