"""The worlds of incidents: with the deployed rule, with its fix, and with the shipped code."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from joinproto.check.entry import Entry
from joinproto_worlds.incidents.catalogue import ENDINGS, INCIDENTS
from joinproto_worlds.incidents.shipped import ENTRIES as SHIPPED
from joinproto_worlds.incidents.shipped import RABBITMQ
from joinproto_worlds.incidents.spoken import SPOKEN


def _rows() -> Iterator[Entry]:
    for incident in INCIDENTS.values():
        for rule, (about, steps) in incident.worlds.items():
            yield Entry(
                f"incident-{incident.name}{ENDINGS[rule]}",
                "joinproto_worlds.incidents.catalogue:build",
                about,
                members=(incident.members, incident.members),
                usual=incident.members,
                expected="holds" if steps is None else "violated",
                steps=steps,
                given={"incident": incident.name, "rule": rule},
                happened=f"{incident.system}: {incident.happened}",
                link=incident.link,
            )
    for item in SHIPPED:
        name = incident_of(item.name)
        if name in RABBITMQ:
            system, link, happened = RABBITMQ[name]
        else:
            incident = INCIDENTS[name]
            system, link, happened = incident.system, incident.link, incident.happened
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
