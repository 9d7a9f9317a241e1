"""The claims about each scene, and the events that must be reachable in it.

Source: Clusterer, S1 to S7 and U1 to U7.
"""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.check.properties import Property, always_each, sometimes_one
from joinproto_worlds.clusterer.played import RunningScene, SceneView


def claims(title: str, variant: str) -> Iterator[Property]:
    """Yield the claims of the scene `title` under the rules of `variant`."""
    yield always_each("a version never goes down", lambda shown: not shown.broken)
    yield sometimes_one("it comes to rest", lambda shown: shown.ended)
    if title not in ("hole-1", "hole-3", "hole-4", "hole-6-stranger"):
        yield always_each("no node crashes", _none_crashes)
    if title == "hole-7":
        yield always_each("b knows the config in the end", _b_knows)
        return
    if title == "conflict":
        yield always_each("nothing is stored", _nothing_is_stored)
        return
    if title == "two-ready-reset":  # data may differ until a younger config comes
        yield always_each("a knows b where it boots with its data", _a_knows_b)
    elif title in LEFT_OUT_UNHEARD:
        yield always_each("one config, one set of data in the end", _one_set_at_end)
    else:
        yield always_each("one config, one set of data", _one_set)
    yield always_each("one node goes first", _one_goes_first)
    if title == "paused":
        yield always_each("no broker runs while its node waits", _runs_only_if_ready)
    if title in FORMER_MEMBERS:
        yield always_each(
            "the former cluster hears nothing",
            lambda shown: _hears_nothing(shown, FORMER_MEMBERS[title]),
        )
    if title == "old-memory":
        yield always_each("a stays ready", lambda shown: not shown.nodes or shown.of("a").ready)
    if title == "two-ready":
        yield always_each("b knows a where it has its data", _b_knows_a)
    yield always_each("all are ready in the end", lambda shown: _ready_at_end(shown, title))
    survivor = SURVIVES.get(title)
    if survivor is not None:
        label = survivor if "/" in survivor else _label(title, variant, survivor)
        yield always_each(
            "the data that count survive", lambda shown: _survive(shown, label, title)
        )


SURVIVES = {
    "order": "a",
    "reading": "a",
    "gospel": "a/2",
    "join": "b",
    "rejoin": "b",
    "stop-apart": "a/1+a+a+b",
    "hole-1": "c",
    "hole-2": "b",
    "hole-3": "a",
    "hole-4": "a",
    "hole-5": "a/2",
    "hole-7-again": "a",
    "hole-9": "c",
    "hole-10": "a",
    "hole-6-stranger": "b",
    "late-word": "a",
    "late-word-join": "a",
    "newcomers": "a",
    "old-memory": "a",
    "left-out-starts": "a",
    "left-out-apart": "a",
    "left-out-gospel": "a",
    "left-out-later": "a",
    "left-out-since": "a",
}
"""For each scene the node whose data at the beginning of the search must survive, or (with a
slash) the label of data that are made later.
"""

LEFT_OUT_UNHEARD = ("left-out-apart", "left-out-gospel", "two-ready")
"""Scenes in which a ready node takes a config before it hears that another config left it out."""

FORMER_MEMBERS = {"leave": "a", "hole-6": "ab"}
"""The nodes that have version 2 and must not hear of version 3."""

READY_AT_END = {
    "leave": "bd",
    "hole-6": "cd",
    "spread": "ac",
    "hole-9": "ac",
    "hole-11": "ab",
    "hole-6-stranger": "ab",
    "splits": "b",
    "newcomers": "b",
}
"""The nodes that must be ready at the end; in other scenes all that are on must be ready."""


def _label(title: str, variant: str, node: str) -> str:
    played = RunningScene.of(title, variant)
    played.start()
    found = played.shows().of(node).data
    return found or ""


def _one_set(shown: SceneView) -> bool:
    return all(
        one.data == other.data
        for one in shown.ready
        for other in shown.ready
        if one.config == other.config
    )


def _one_set_at_end(shown: SceneView) -> bool:
    return not shown.ended or _one_set(shown)


def _one_goes_first(shown: SceneView) -> bool:
    return not any(
        one.first and one is not other and (other.first or other.ready)
        for one in shown.nodes
        for other in shown.nodes
        if one.config == other.config and one.name != other.name
    )


def _b_knows_a(shown: SceneView) -> bool:
    a, b = shown.of("a"), shown.of("b")
    has_its_data = a.ready and b.ready and (a.config, a.data) == (b.config, b.data)
    return not has_its_data or "a" in b.knows


def _a_knows_b(shown: SceneView) -> bool:
    a, b = shown.of("a"), shown.of("b")
    boots = a.status in ("booting", "ready") and a.config == b.config
    return not boots or "b" in a.knows


def _runs_only_if_ready(shown: SceneView) -> bool:
    return all(one.ready for one in shown.nodes if one.runs)


def _none_crashes(shown: SceneView) -> bool:
    return not any("crashed" in one.why for one in shown.nodes)


def _b_knows(shown: SceneView) -> bool:
    config = shown.of("b").config
    return not shown.ended or (config is not None and config.version == 1)


def _nothing_is_stored(shown: SceneView) -> bool:
    return all(one.stored is None for one in shown.nodes)


def _hears_nothing(shown: SceneView, former: str) -> bool:
    return all((shown.of(name).stored or 0) <= 2 for name in former)


def _ready_at_end(shown: SceneView, title: str) -> bool:
    names = READY_AT_END.get(title) or [one.name for one in shown.nodes if one.status != "off"]
    nodes = [shown.of(name) for name in names]
    return not shown.ended or (
        all(one.ready for one in nodes) and len({one.config for one in nodes}) == 1
    )


def _survive(shown: SceneView, label: str, title: str) -> bool:
    """Return whether a disk has the data, and in the end the disks of all nodes that are up.

    Before the end, data that are made during the search need not exist yet.
    """
    have = [one.data is not None and one.data.startswith(label) for one in shown.nodes]
    if not shown.ended:
        return "/" in SURVIVES[title] or any(have)
    return all(has for has, one in zip(have, shown.nodes, strict=True) if one.status != "off")
