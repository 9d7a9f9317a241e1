"""Which program a directory belongs to, by the names of the files in it, and `--format`.

Nothing is opened here: the caller says which names are there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from joinproto.errors import UsageProblem
from joinproto.recovery import brokers, own
from joinproto.recovery.foreign import etcd, galera, kraft, postgresql, qpid, rabbitmq
from joinproto.recovery.found import Format

AUTO = "auto"
CHOICES = (AUTO, *(kind.value for kind in Format))
"""What `--format` takes."""

NAMES: Mapping[Format, tuple[str, ...]] = {
    Format.JOINPROTO: own.NAMES,
    Format.STANDBY: brokers.NAMES,
    Format.QPID: qpid.NAMES,
    Format.GALERA: galera.NAMES,
    Format.RABBITMQ: rabbitmq.NAMES,
    Format.ETCD: etcd.NAMES,
    Format.POSTGRESQL: postgresql.NAMES,
    Format.KRAFT: kraft.NAMES,
}
"""The files of each format, relative to the data directory."""


def format_of(choice: str) -> Format | None:
    """Return the format that `--format` names; None: find it out."""
    if choice == AUTO:
        return None
    try:
        return Format(choice)
    except ValueError:
        raise UsageProblem(
            f"no format {choice!r}", next=f"--format takes one of {', '.join(CHOICES)}"
        ) from None


def formats(names: Collection[str]) -> tuple[Format, ...]:
    """Return every format of which a file is among `names` (relative, with `/`)."""
    return tuple(kind for kind, files in NAMES.items() if not set(files).isdisjoint(names))


def detect(names: Collection[str]) -> Format | None:
    """Return the one format of a directory; None if it has none.

    Raises `UsageProblem` if it has several: which one counts is the operator's to say.
    """
    found = formats(names)
    if len(found) > 1:
        said = ", ".join(kind.value for kind in found)
        raise UsageProblem(
            f"files of several formats in one directory: {said}",
            next=f"say which one counts: --format {found[0].value}",
        )
    return found[0] if found else None


def hint(entries: Collection[str]) -> str:
    """Return where the data directory may be, given what lies in this one; "" if unknown."""
    above = {name.partition("/")[2] for name in (*qpid.NAMES, *own.NAMES)}
    if near := sorted(above & set(entries)):
        return f"{near[0]} belongs to the directory above: give that one"
    nodes = sorted(name for name in entries if _is_node(name))
    if nodes:
        return f"{nodes[0]} looks like a RabbitMQ node's directory: give that one"
    if "mnesia" in entries:
        return "mnesia may hold RabbitMQ nodes' directories: give one of those"
    return ""


def _is_node(name: str) -> bool:
    node, _, host = name.partition("@")
    beside = ("-feature_flags", "-plugins-expand", ".pid", "-cluster.config")
    return bool(node and host) and not name.endswith(beside)
