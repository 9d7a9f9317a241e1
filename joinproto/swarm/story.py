"""A member's events, in words for a story."""

from __future__ import annotations

from joinproto.join.messages import Learned, PhaseChanged, Proposes, Refusal, Waiting


def told(event: object) -> str:
    """Return its words for a story, to stand after the member's name."""
    match event:
        case PhaseChanged(before, after, label, case):
            return f"is {after.value}, was {before.value} ({label}: {case})"
        case Learned(view):
            return f"learns {view}"
        case Proposes(label, case, view, _):
            return f"proposes {view} ({label}: {case})"
        case Waiting(label, case, _, detail, _):
            return f"waits ({label}: {case}{'; ' if detail else ''}{detail})"
        case Refusal(peer, what):
            return f"refuses {peer}: {what}"
        case _:
            return str(event)
