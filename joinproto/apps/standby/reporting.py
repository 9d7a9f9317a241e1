"""The status of a broker, and the settings that can be changed while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address
from joinproto.standby.broker import Mark

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core


def change_setting(core: Core, words: str) -> dict[str, Any]:
    """Change a setting until this broker ends.  `words`: NAME=VALUE."""
    name, _, value = words.partition("=")
    value, expected = value.strip(), "expected HOST:PORT"
    try:
        if name == "backups":
            expected = "expected seconds, more than 0 and less than 1e9"
            patience = float(value)
            if not 0 < patience < 1e9:
                raise ValueError(value)
            core.patience = patience
        elif name == "public":
            core.links.set_public(Address.parse(value))
        else:
            return {"error": f"no setting {name!r}; there are backups and public"}
    except (ValueError, UsageProblem):
        return {"error": f"{name} is {value!r}, {expected}"}
    return {"name": name, "value": value}


def status_of(core: Core) -> dict[str, Any]:
    """Return the data of `joinproto standby status`."""
    state = core.shown
    view, me, leading = state.view, core.settings.broker, core.state.leading
    return {
        "broker": me,
        "cluster": core.settings.cluster,
        "role": state.role.value,
        "standing": state.standing.value,
        "serves": state.serves,
        "store": "dirty" if state.mark is Mark.DIRTY else "clean",
        "dropped": state.is_dropped,
        "generation": view.generation,
        "view": view.number,
        "primary": core.links.primary,
        "up_to_date": list(view.members),
        "waits_for": [] if leading is None else sorted(leading.awaited),
        "peers": sorted(core.links.peers.sessions),
        "queues": {name: len(queue.messages) for name, queue in core.bodies.queues.items()},
        "to_copy": _to_copy(core),
        "confirmed": core.clients.counts["confirmed"],
        "chain": None if core.manager is None else core.manager.manager_facts(),
    }


def numbers_of(core: Core) -> dict[str, Any]:
    """Return the numbers for health and metrics."""
    leading = core.state.leading
    return {
        **core.clients.counts,
        "phase": core.role.value,
        "serves": core.serves,
        "generation": core.state.view.generation,
        "peers": len(core.links.peers.sessions),
        "up_to_date": 0 if leading is None else len(leading.view.members) - 1,
        "queues": len(core.bodies.queues),
        "messages": sum(len(queue.messages) for queue in core.bodies.queues.values()),
        "pending": 0 if leading is None else len(leading.pending),
        "to_copy": _to_copy(core),
        "clients": len(core.clients.ports),
        "journal_bytes": core.disk.journal.size,
    }


def _to_copy(core: Core) -> int:
    leading = core.state.leading
    return 0 if leading is None else sum(one.to_copy for one in leading.followers.values())
