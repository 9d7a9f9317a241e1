"""The worlds of incidents: the rule as deployed, the fix as deployed, its remaining faults, and
ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from joinproto.check.entry import Entry
from joinproto_worlds.incidents.catalogue import ENDINGS, INCIDENTS
from joinproto_worlds.incidents.shipped import ENTRIES as SHIPPED
from joinproto_worlds.incidents.shipped import RABBITMQ
from joinproto_worlds.incidents.spoken import SPOKEN


def _rows() -> Iterator[Entry]:
    for it in INCIDENTS.values():
        for rule, (about, steps) in it.worlds.items():
            yield Entry(
                f"incident-{it.name}{ENDINGS[rule]}",
                "joinproto_worlds.incidents.catalogue:build",
                about,
                members=(it.members, it.members),
                usual=it.members,
                expected="holds" if steps is None else "violated",
                steps=steps,
                given={"incident": it.name, "rule": rule},
                happened=f"{it.system}: {it.happened}",
                link=it.link,
            )
    for item in SHIPPED:
        name = incident_of(item.name)
        if name in RABBITMQ:
            system, link, happened = RABBITMQ[name]
        else:
            it = INCIDENTS[name]
            system, link, happened = it.system, it.link, it.happened
        yield evolve(item, happened=f"{system}: {' '.join(happened.split())}", link=link)


def incident_of(world: str) -> str:
    """Return the name of the incident that a world is about."""
    name = world.removeprefix("incident-")
    for ending in (*ENDINGS.values(), "-ours"):
        name = name.removesuffix(ending)
    return name


ENTRIES: tuple[Entry, ...] = tuple(
    sorted(
        (evolve(item, spoken=SPOKEN.get(incident_of(item.name), "")) for item in _rows()),
        key=lambda item: (incident_of(item.name), item.name.endswith("-ours")),
    )
)
