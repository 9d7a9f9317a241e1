"""Find options that change nothing for the given stores, and say why.

An operator who types `--nodes 3` for etcd believes that it was used.  The meaning of an option
depends on the format of the stores, so this is checked after the stores were read.  No I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import frozen

from joinproto.recovery.found import Format, Found
from joinproto.recovery.words import shown

NAMES: Mapping[Format, str] = {
    Format.JOINPROTO: "joinproto",
    Format.STANDBY: "hot standby",
    Format.QPID: "Qpid",
    Format.GALERA: "Galera",
    Format.RABBITMQ: "RabbitMQ",
    Format.ETCD: "etcd",
    Format.POSTGRESQL: "PostgreSQL",
    Format.KRAFT: "Kafka's controllers",
}


@frozen
class _Option:
    """An option.

    `used_by`: formats whose verdict it can change.  `why`: why it changes no verdict for others.
    """

    used_by: frozenset[Format]
    why: str


_POSITION = _Option(
    frozenset({Format.JOINPROTO, Format.GALERA}), "the files of {kind} show how far a store is"
)
_REGISTER = _Option(
    frozenset({Format.JOINPROTO}), "an outside register chooses views of joinproto's clusters only"
)
_NODES = _Option(
    frozenset({Format.QPID, Format.GALERA, Format.POSTGRESQL}),
    "the files of {kind} list the other nodes",
)
_TRANSIENT = _Option(
    frozenset({Format.JOINPROTO, Format.GALERA, Format.RABBITMQ}),
    "every member of {kind} keeps a store",
)
_LOST = _Option(
    frozenset({Format.JOINPROTO, Format.STANDBY, Format.RABBITMQ, Format.ETCD, Format.KRAFT}),
    "a lost node of {kind} is judged like a node whose store is not here",
)
_SUPPLIED = (Format.JOINPROTO, Format.STANDBY)
"""Formats for which `--lost` of a member whose store is here changes nothing."""
_MEMBERS_SHOWN = 12


def unused(
    stores: Sequence[Found],
    *,
    transient: Collection[str] = (),
    lost: Collection[str] = (),
    outside: bool = False,
    nodes: int | None = None,
) -> tuple[str, ...]:
    """Return a sentence for each option that changes nothing, with the reason.

    Return () if no store has a known format.
    """
    kinds = {one.format for one in stores if one.format is not None}
    if not kinds:
        return ()
    asked = [
        (f"--position for {one.name}", _POSITION) for one in stores if _is_position_unused(one)
    ]
    asked += [("--register", _REGISTER)] if outside else []
    asked += [(f"--nodes {nodes}", _NODES)] if nodes is not None else []
    kind = " and ".join(sorted(NAMES[each] for each in kinds))
    lines = [
        f"{name} changes nothing here: {option.why.format(kind=kind)}"
        for name, option in asked
        if option is _POSITION or not kinds & option.used_by
    ]
    for name, members, option in (("--transient", transient, _TRANSIENT), ("--lost", lost, _LOST)):
        lines += _unused_members(stores, kinds, name, members, option, kind)
    return tuple(lines)


def takes_lost(kinds: Collection[Format | None]) -> bool:
    """Return whether `--lost` can change the verdict about stores of one of these formats."""
    known = {kind for kind in kinds if kind is not None}
    return not known or bool(known & _LOST.used_by)


def _is_position_unused(one: Found) -> bool:
    return (
        bool(one.raw.recovered) and one.format is not None and one.format not in _POSITION.used_by
    )


def _unused_members(
    stores: Sequence[Found],
    kinds: Collection[Format],
    option: str,
    names: Collection[str],
    meaning: _Option,
    kind: str,
) -> Iterator[str]:
    known = _members(stores)
    here = {one.member: one for one in stores if one.member and one.format in _SUPPLIED}
    for name in names:
        said = f"{option} {shown(name)} changes nothing here"
        if not meaning.used_by.intersection(kinds):
            yield f"{said}: {meaning.why.format(kind=kind)}"
        elif known and name not in known:
            yield f"{said}: no member of these stores has this name; {_members_text(known)}"
        elif name in here and here[name].state.is_readable:
            yield f"{said}: the store of {shown(name)} was given ({here[name].name})"


def _members_text(known: Collection[str]) -> str:
    names = sorted(map(shown, known))
    more = f" and {len(names) - _MEMBERS_SHOWN} others" if len(names) > _MEMBERS_SHOWN else ""
    return f"their members are {', '.join(names[:_MEMBERS_SHOWN])}{more}"


def _members(stores: Sequence[Found]) -> frozenset[str]:
    """Return all names of members in these stores; empty if not all names are known."""
    found: set[str] = set()
    for one in stores:
        found |= {one.member} if one.member else set()
        found |= set() if one.last_view is None else one.last_view.members
        found |= set() if one.node is None else one.node.members
        if one.record is not None:
            for view in one.record.lineage.views:
                found |= {seat.member for seat in (*view.members, *view.electors)}
        if one.format is Format.STANDBY:
            from joinproto.recovery.brokers import kept_of

            kept = kept_of(one)
            found |= set() if kept is None else {*kept.brokers, *kept.view.members}
        if one.raft:
            return frozenset()
    return frozenset(found)
