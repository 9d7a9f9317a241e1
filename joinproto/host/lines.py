"""The lines of a member's event log: its start, its inputs, and its batches.

A line is written before its input or its action; `joinproto/cli/validate` reads them back.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from attrs import evolve

from joinproto.codec.codec import Codec
from joinproto.join import inputs
from joinproto.join.choice_messages import Chosen
from joinproto.join.config import Config
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Action, Batch, Event, JoinMessage, Learned
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.join.wire import LATEST, encode
from joinproto.store.codec import encode as encode_contents
from joinproto.store.contents import Contents

FORMAT = 2
"""Version of the lines; a reader refuses a later one."""

_CODEC = Codec()


def start_line(
    config: Config, record: StoreRecord, seed: str, now: float, epoch: int
) -> dict[str, Any]:
    """Return the facts that are needed to make the same member again."""
    return {
        "format": FORMAT,
        "config": config_as_json(config),
        "record": record_as_json(record, config.member),
        "seed": seed,
        "now": now,
        "epoch": epoch,
    }


def input_as_json(what: inputs.Input, version: int) -> tuple[str, dict[str, Any]]:
    """Return the kind of an input's line, and its fields without the time.

    `version`: the version of the wire on a new connection.  `Appended` has no such line, because
    each frame has a line of its own, with the digest of its bytes.
    """
    match what:
        case inputs.Receive(peer, message):
            return "receive", {"peer": peer, "message": _message_as_json(message)}
        case inputs.PeerUp(peer):
            return "peer_up", {"peer": peer, "version": version}
        case inputs.PeerDown(peer):
            return "peer_down", {"peer": peer}
        case inputs.UpdateProgress(position):
            return "update_progress", {"position": position_as_json(position)}
        case inputs.UpdateDone(position):
            return "update_done", {"position": position_as_json(position)}
        case inputs.RegisterSays(view):
            return "register_says", {"message": _message_as_json(Chosen(view.parent, (view,)))}
        case inputs.RegisterFree(parent, asked, question):
            return "register_free", {"parent": parent, "asked": asked, "question": question}
        case inputs.Tick():
            return "tick", {}
        case inputs.UpdateOverwrites():
            return "update_overwrites", {}
        case inputs.Read():
            return "read", {}
        case inputs.Leave():
            return "leave", {}
        case inputs.ShutdownCluster():
            return "shutdown_cluster", {}
        case inputs.Appended():
            raise TypeError("frames have a line each")
        case _:
            assert_never(what)


# -- values as JSON ----------------------------------------------------------------------------


def record_as_json(record: StoreRecord, member: str) -> Any:
    """Return the record as JSON values, in the form of a store's file."""
    return json.loads(encode_contents(Contents(member=member, record=record)))


def position_as_json(position: Position | None) -> Any:
    return None if position is None else [position.view, position.seq]


def config_as_json(config: Config) -> dict[str, Any]:
    """Return a member's configuration, field by field."""
    return dict(_CODEC.put(config))


def step_as_json(record: StoreRecord, member: str) -> Any:
    """Return the record in the form of a store's file, but with only the newest view.

    `views` is the number of views.  The others are left out, because a store may keep a thousand
    views, and writes all of them with each promise.
    """
    tree = record_as_json(evolve(record, lineage=_short(record.lineage)), member)
    return {"record": tree, "views": record.lineage.length}


def _short(lineage: Lineage) -> Lineage:
    return Lineage(lineage.views[-1:], lineage.initial)


def view_as_json(view: View) -> Any:
    """Return the whole view in the form of a message."""
    return json.loads(encode(Chosen(view.parent, (view,))))[2][0]


def _message_as_json(message: JoinMessage) -> Any:
    return json.loads(encode(message, speaks=LATEST))


def batch_as_json(batch: Batch, member: str) -> dict[str, Any]:
    """Return a batch as JSON values; an action or event names views by ids, except `Learned`."""
    closing = [] if batch.close is None else [["CloseForClients", batch.close.value]]
    return {
        "persist": None if batch.persist is None else step_as_json(batch.persist, member),
        "sends": [[sent.to, _message_as_json(sent.message)] for sent in batch.sends],
        "actions": [*closing, *map(value_as_json, batch.actions)],
        "events": [value_as_json(event) for event in batch.events],
    }


def value_as_json(value: Action | Event) -> list[Any]:
    """Return an action or an event as its name and its fields."""
    if isinstance(value, Learned):
        return ["Learned", view_as_json(value.view)]
    fields = (getattr(value, name) for name in type(value).__match_args__)
    return [type(value).__name__, *map(_plain, fields)]


def _plain(value: object) -> Any:
    match value:
        case View():
            return value.id
        case Position():
            return position_as_json(value)
        case None | bool() | int() | str():
            return value
    return getattr(value, "value", str(value))
