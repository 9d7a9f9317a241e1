"""Replay: the member of this version gets the same events, and must ask for the same actions.

All actions of a member follow from its start and its events, so the first line that differs is
where the real run left the protocol, or where the log was changed.  A log may leave out fields of
its actions, and another version may word a sentence for people differently.  Then the only possible
values are assumed, and this is reported.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any

import attrs
from attrs import frozen

from joinproto.cli.validate.logs import Run, start_problem
from joinproto.codec.json_form import Count, Key
from joinproto.codec.malformed import Malformed
from joinproto.errors import JoinprotoError, UsageProblem
from joinproto.host.lines import batch_as_json
from joinproto.join import inputs
from joinproto.join.choice_messages import Chosen
from joinproto.join.config import Config, TotalFailure
from joinproto.join.member import Member
from joinproto.join.messages import JoinMessage
from joinproto.join.view import Position
from joinproto.join.wire import CONFIRMS, LATER_FIELDS, decode
from joinproto.store.codec import decode as decode_contents


@frozen
class Mismatch:
    """The difference between a run and the member."""

    path: Annotated[str, Key("log"), "the file"]
    matching: Annotated[Count, Key("matching_lines"), "lines before it, which match"]
    field: Annotated[str, "the field that differs"]
    seen: Annotated[str, "its value in the log, as JSON"] = attrs.field(converter=json.dumps)
    allowed: Annotated[str, "the member's value, as JSON"] = attrs.field(converter=json.dumps)


@frozen
class ReplayedLine:
    """A line of a log, and the member after it, for functions that read the member's state."""

    run: Run
    line: dict[str, Any]
    member: Member


OnLine = Callable[[ReplayedLine], None]

Assumed = Counter[str]
"""Facts that logs lack and that were assumed, and how often."""

_decode = lru_cache(maxsize=256)(decode)  # the same message comes again and again, and is a value


def replay(run: Run, on_line: OnLine, assumed: Assumed) -> Mismatch | None:
    """Replay one run, and return the first mismatch; `on_line` gets the member after each line."""
    lines = run.lines()
    start = next(lines)
    member = _started(run, start, assumed)
    on_line(ReplayedLine(run, start, member))
    before = ""
    for number, line in enumerate(lines, start=1):
        try:
            difference = _step(member, line, before, assumed)
        except (JoinprotoError, Malformed) as error:
            reason = str(error).partition("\n")[0]
            difference = ("the member refuses it", line, reason)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageProblem(
                f"{run.path}: line {number + 1} is not an event: {error!r}",
                next="give the whole log",
            ) from error
        if difference is not None:
            field, seen, allowed = difference
            return Mismatch(str(run.path), number, field, seen, allowed)
        on_line(ReplayedLine(run, line, member))
        if line["kind"] not in _HOST_LINES:
            before = line["kind"]
    return None


def _started(run: Run, start: dict[str, Any], assumed: Assumed) -> Member:
    try:
        contents = decode_contents(json.dumps(start["record"]).encode())
        tree = dict(start["config"])
        tree["electors"] = frozenset(tree["electors"])
        if "total_failure" in tree:
            tree["total_failure"] = TotalFailure(tree["total_failure"])
        for left_out in sorted({field.name for field in attrs.fields(Config)} - tree.keys()):
            assumed[f"config.{left_out}: the default"] += 1
        return Member.start(
            start["now"],
            Config(**tree),
            contents.record,
            seed=start["seed"],
            epoch=start["epoch"],
        )
    except (KeyError, TypeError, ValueError, JoinprotoError) as error:
        raise start_problem(run.path, error) from error


Difference = tuple[str, Any, Any]


def _step(member: Member, line: dict[str, Any], before: str, assumed: Assumed) -> Difference | None:
    kind = line["kind"]
    if kind == "appended":
        member.appended(line["view"], line["seq"])
        return None
    if kind == "batch":
        return _first_difference(line, member, assumed)
    if kind == "done":
        if before != "batch":
            return "a batch is left out", kind, "the batch that is done"
        member.advance(member.poll())
        return None
    if kind in _AFTER_BATCHES and (batch := member.poll()):
        # Duty 3: whole batches, in order, before the next event.
        return "a batch is left out", kind, _as_json(batch_as_json(batch, member.config.member))
    if kind == "end":
        ended = member.phase.value in ("stopped", "aborted")
        if line["how"] in ("Stop", "Abort") and not ended:
            return "how it ended", line["how"], member.phase.value
        return None
    if kind in _HOST_LINES:
        return None
    if kind == "register_says" and not isinstance(_message(line), Chosen):
        return "message", line["message"], "the view that the register holds"
    if (event := _input(line)) is None:
        return "kind", kind, "an event of a member"
    member.tell(line["now"], event)
    return None


def _input(line: dict[str, Any]) -> inputs.Input | None:
    """Return the member's input that a line records; None if it records no input."""
    match line["kind"]:
        case "receive":
            return inputs.Receive(line["peer"], _message(line))
        case "register_says":
            message = _message(line)
            return inputs.RegisterSays(message.views[0]) if isinstance(message, Chosen) else None
        case "register_free":
            return inputs.RegisterFree(line["parent"], line["asked"], line.get("question", 0))
        case "peer_up":
            # A log of an earlier version has no version of a peer: such a peer cannot confirm.
            return inputs.PeerUp(line["peer"], confirms=line.get("version", 0) >= CONFIRMS)
        case "peer_down":
            return inputs.PeerDown(line["peer"])
        case "update_progress":
            return inputs.UpdateProgress(_position(line["position"]))
        case "update_done":
            return inputs.UpdateDone(_position(line["position"]))
        case kind:
            kind_of = _WITHOUT_FIELDS.get(kind)
            return None if kind_of is None else kind_of()


_WITHOUT_FIELDS: dict[str, Callable[[], inputs.Input]] = {
    "tick": inputs.Tick,
    "read": inputs.Read,
    "leave": inputs.Leave,
    "shutdown_cluster": inputs.ShutdownCluster,
    "update_overwrites": inputs.UpdateOverwrites,
}


_HOST_LINES = {"fetched", "cut", "based", "committed", "answered"}
"""Lines about the host, also while it performs a batch; only the properties use them."""

_AFTER_BATCHES = {
    *("receive", "register_says", "register_free", "peer_up", "peer_down", "tick", "leave"),
    "shutdown_cluster",
}
"""Events that reach a member only when it has no batch left."""


def _message(line: dict[str, Any]) -> JoinMessage:
    text = json.dumps(line["message"], ensure_ascii=False, separators=(",", ":"))
    return _decode(text.encode())


def _first_difference(line: dict[str, Any], member: Member, assumed: Assumed) -> Difference | None:
    batch = member.poll()
    allowed = _as_json(batch_as_json(batch, member.config.member))
    for name in ("persist", "sends", "actions", "events"):
        if name not in line:
            assumed[f"{name}: {AS_REPLAYED}"] += 1
        elif line[name] != allowed[name]:
            for found in differences(name, line[name], allowed[name]):
                if found[1] is not LEFT_OUT:
                    return found
                assumed[f"{_without_numbers(found[0])}: {AS_REPLAYED}"] += 1
    return None


AS_REPLAYED = "the value that the replayed member has"

LEFT_OUT: Any = object()
"""Stands for a field that is not in the line, or that has a sentence in other words."""

_SENTENCES = {"Abort": (2, 3), "Refusal": (2,), "Waiting": (4,), "refused": (2, 3)}
"""The places of sentences for people, by the name of an action, an event or a message."""
_NAMED = ("actions[", "events[", "sends[")


def _without_numbers(name: str) -> str:
    return re.sub(r"\[[0-9]+\]", "[]", name)


def differences(name: str, seen: Any, allowed: Any) -> Iterator[Difference]:
    """Yield the innermost fields that differ, are left out, or are reworded."""
    if type(seen) is type(allowed) and isinstance(seen, dict):
        for key in [*seen, *(key for key in allowed if key not in seen)]:
            value = seen.get(key, LEFT_OUT)
            yield from differences(f"{name}.{key}", value, allowed.get(key))
    elif seen is LEFT_OUT:
        yield name, seen, allowed
    elif type(seen) is type(allowed) and isinstance(seen, list) and len(seen) <= len(allowed):
        if len(seen) < len(allowed):
            if not _is_shorter(seen, allowed):
                yield name, seen, allowed
                return
            # An earlier version wrote this message, without its last field.
            yield f"{name}[{len(seen)}]", LEFT_OUT, allowed[-1]
            allowed = allowed[:-1]
        is_named = name.startswith(_NAMED) and seen and isinstance(seen[0], str)
        sentences = _SENTENCES.get(seen[0], ()) if is_named else ()
        for at, (one, other) in enumerate(zip(seen, allowed, strict=True)):
            is_reworded = at in sentences and isinstance(one, str) and one != other
            yield from differences(f"{name}[{at}]", LEFT_OUT if is_reworded else one, other)
    elif seen != allowed:
        yield name, seen, allowed


def _is_shorter(seen: list[Any], allowed: list[Any]) -> bool:
    """Return whether `seen` is a message without the field that a later version added."""
    return len(seen) == len(allowed) - 1 and seen[:1] == allowed[:1] and seen[0] in LATER_FIELDS


def _position(found: Any) -> Position | None:
    return None if found is None else Position(found[0], found[1])


def _as_json(tree: Any) -> Any:
    return json.loads(json.dumps(tree))
