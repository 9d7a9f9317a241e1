"""What a broker shows of itself, and what of its settings can be changed while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from joinproto.drivers.addresses import Address
from joinproto.errors import UsageProblem
from joinproto.standby.broker import Mark, Role

if TYPE_CHECKING:
    from joinproto.standby.serving.core import Core

SERVING = (Role.PRIMARY, Role.RECOVERING)


def change_setting(core: Core, words: str) -> dict[str, Any]:
    """Change a setting until this broker ends; NAME=VALUE."""
    name, _, value = words.partition("=")
    try:
        if name == "backups":
            core.patience = float(value)
            if not 0 < core.patience < 1e9:
                raise ValueError(value)
        elif name == "public":
            core.public = Address.parse(value)
            core.peers.me = evolve(core.peers.me, public=core.public)
            for peer in core.peers.sessions:
                core._tell(peer)
        else:
            return {"error": f"no setting {name!r}; there are backups and public"}
    except (ValueError, UsageProblem):
        return {"error": f"{name} is {value!r}: not a value of it"}
    return {"name": name, "value": value}


def status_of(core: Core) -> dict[str, Any]:
    """Return what `joinproto standby status` shows."""
    kept, primary = core.kept, core.primary
    found = [name for name, other in core.others.items() if other.role in SERVING]
    view = sorted(kept.view if primary is None else primary.following.counted)
    return {
        "broker": core.settings.broker,
        "cluster": core.settings.cluster,
        "role": core.role.value,
        "serves": core.serves,
        "store": "dirty" if core.mark is Mark.DIRTY else "clean",
        "dropped": kept.dropped,
        "generation": kept.generation,
        "primary": core.settings.broker if core.serves else next(iter(found), None),
        "up_to_date": view,
        "waits_for": [] if primary is None else list(primary.following.waits_for),
        "peers": sorted(core.peers.sessions),
        "queues": {name: len(queue.messages) for name, queue in core.contents.queues.items()},
        "to_copy": 0 if primary is None else primary.to_copy,
        "confirmed": core.counts["confirmed"],
    }


def numbers_of(core: Core) -> dict[str, Any]:
    """Return what is measured."""
    primary = core.primary
    return {
        **core.counts,
        "phase": core.role.value,
        "serves": core.serves,
        "generation": core.kept.generation,
        "peers": len(core.peers.sessions),
        "up_to_date": 0 if primary is None else len(primary.following.counted),
        "queues": len(core.contents.queues),
        "messages": sum(len(queue.messages) for queue in core.contents.queues.values()),
        "pending": 0 if primary is None else primary.following.pending,
        "to_copy": 0 if primary is None else primary.to_copy,
        "clients": len(core.ports),
        "journal_bytes": core.disk.journal.size,
    }
