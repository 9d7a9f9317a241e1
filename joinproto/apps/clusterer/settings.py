"""node.toml of a node of the Clusterer: read and validated before anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from attrs import field, frozen

from joinproto.apps.clusterer.channel import ANY
from joinproto.apps.clusterer.commands import Commands
from joinproto.apps.clusterer.joinproto_node import JoinprotoNode
from joinproto.apps.clusterer.network import Timing
from joinproto.apps.clusterer.rabbitmq import RabbitMQ
from joinproto.apps.clusterer.service import Service
from joinproto.apps.clusterer.wire import NAME_CHARS_MAX
from joinproto.clusterer.reading import Release
from joinproto.codec import toml_file
from joinproto.codec.json_form import filled
from joinproto.codec.marks import Duration, Sized
from joinproto.codec.strict import DoesNotFit
from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address
from joinproto.net.secret import read_secret
from joinproto.net.security import Proofs, require_times
from joinproto.net.tls import TlsFiles

TOLD = "docs/clusterer.md has a file"
Words = tuple[str, ...]
Command = Annotated[Words, Sized(1, 1_000)]


@frozen(kw_only=True)
class CommandsFile:
    """A service behind commands; each is a list of words."""

    kind: Annotated[Literal["commands"], "this"]
    start: Annotated[Command, "starts it"]
    stop: Annotated[Command, "stops it"]
    wipe: Annotated[Command, "throws its data away"]
    status: Annotated[Command, "ends with 0 where it runs"]
    join: Annotated[Words | None, "starts it without data, where others run; null: start"] = None
    timeout: Annotated[Duration, "seconds that a command may take"] = 60.0


@frozen(kw_only=True)
class PythonFile:
    """A service that is a Python object."""

    kind: Annotated[Literal["python"], "this"]
    object: Annotated[str, "MODULE:NAME, called with node, data (Path) and settings"]
    settings: Annotated[Mapping[str, str], "for it"] = {}


@frozen(kw_only=True)
class JoinprotoFile:
    """`joinproto node`."""

    kind: Annotated[Literal["joinproto"], "this"]
    listen: Annotated[str, "HOST:PORT for its members"]
    clients: Annotated[str, "HOST:PORT for its clients"]
    members: Annotated[Mapping[str, str], "NAME = HOST:PORT of the others' members"] = {}
    cluster: Annotated[str, "the cluster's name"] = "clusterer"
    timeout: Annotated[Duration, "seconds until it answers after a start"] = 30.0


@frozen(kw_only=True)
class RabbitFile:
    """RabbitMQ with Mnesia; tried with 3.10 and 4.0."""

    kind: Annotated[Literal["rabbitmq"], "this"]
    server: Annotated[Words, "starts the server in the foreground"] = ("rabbitmq-server",)
    ctl: Annotated[Words, "its tool"] = ("rabbitmqctl",)
    environment: Annotated[Mapping[str, str], "of both, besides the node's own"] = {}
    timeout: Annotated[Duration, "seconds that a command may take"] = 120.0


KINDS: Mapping[str, type] = {
    "commands": CommandsFile,
    "python": PythonFile,
    "joinproto": JoinprotoFile,
    "rabbitmq": RabbitFile,
}


@frozen(kw_only=True)
class NodeFile:
    """The file as it stands; paths in it are relative to it.  `service`: one of `KINDS`."""

    node: Annotated[str, "its name, as configs have it"]
    data: Annotated[str, "the service's data directory; the config is kept next to it"]
    listen: Annotated[str, "HOST:PORT for other nodes and operators, or PORT"]
    nodes: Annotated[Mapping[str, str], "NAME = HOST:PORT of other nodes"] = {}
    release: Annotated[Release, "seed: with shutdown_timeout; head: without it"] = Release.SEED
    events: Annotated[str | None, "a directory for event logs"] = None
    secret_file: Annotated[str | None, "as security.secret_file"] = None
    security: Annotated[Proofs, "how nodes and operators prove who they are"] = Proofs()
    insecure: Annotated[bool, "other machines may reach the port, which nothing protects"] = False
    timing: Annotated[Timing, "in seconds"] = Timing()
    service: Annotated[Any, "a table: what the node manages"] = None


@frozen(kw_only=True)
class Settings:
    """Validated settings of a node.  `service`: makes the service; a Python object's module is
    imported then.
    """

    node: str
    data: Path
    listen: Address
    nodes: Mapping[str, Address]
    release: Release
    events: Path | None
    secret: bytes = field(repr=False)
    tls: TlsFiles | None
    timing: Timing
    service: Callable[[], Service]


def read_settings(path: Path) -> Settings:
    """Return the settings in a file; raises `UsageProblem` that names the place in it."""
    return toml_file.read_settings(path, NodeFile, settings_of, next=TOLD)


def settings_of(file: NodeFile, top: Path) -> Settings:
    """Return the settings; `top`: the directory that paths are relative to."""
    for path, name in (("node", file.node), *((f"nodes.{name}", name) for name in file.nodes)):
        if not 0 < len(name) <= NAME_CHARS_MAX or not name.isprintable() or name == ANY:
            raise DoesNotFit(path, f"{name[:60]!r} is not a name", next="such as rabbit@hostA")
    listen = Address.parse_local(file.listen)
    secret, tls = file.security.secret(top), file.security.tls(top)
    if file.secret_file is not None:
        secret = read_secret("secret_file", top / file.secret_file)
    if not (listen.is_loopback or secret or tls or file.insecure):
        raise DoesNotFit(
            "listen",
            f"{listen} is for other machines, and nothing protects it: any of them that reaches it"
            " can wipe this node",
            next="[security]; or a firewall before it, and insecure = true",
        )
    require_times(file.timing.silence, file.timing.heartbeat, "a connection")
    data = top / file.data
    return filled(
        Settings,
        file,
        data=data,
        listen=listen,
        nodes={name: Address.parse(text) for name, text in file.nodes.items() if name != file.node},
        secret=secret,
        tls=tls,
        events=None if file.events is None else top / file.events,
        service=_service(file.service, file.node, data, top),
    )


def _service(found: Any, node: str, data: Path, top: Path) -> Callable[[], Service]:
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise DoesNotFit(
            "service.kind" if isinstance(found, dict) else "service",
            "missing" if kind is None else f"{kind!r} is no kind of service",
            next=f"[service] with kind = one of {', '.join(KINDS)}",
        )
    try:
        file: Any = toml_file.structured(found, KINDS[kind], next=TOLD)
    except DoesNotFit as error:
        path = f"service.{error.path}" if error.path else "service"
        raise DoesNotFit(path, error.message, next=error.next) from None
    match file:
        case CommandsFile():
            return lambda: filled(
                Commands,
                file,
                node=node,
                data=data,
                stop_command=file.stop,
                wipe_command=file.wipe,
                status_command=file.status,
                join=file.join or None,
            )
        case PythonFile():
            return lambda: _object(file, node, data)
        case JoinprotoFile():
            listen, clients = (Address.parse_local(one) for one in (file.listen, file.clients))
            members = {name: Address.parse(text) for name, text in file.members.items()}
            members.pop(node, None)
            places = {"listen": listen, "clients": clients, "members": members}
            return lambda: filled(JoinprotoNode, file, node=node, data=data, **places)
    return lambda: filled(RabbitMQ, file, node=node, data=data)


def _object(file: PythonFile, node: str, data: Path) -> Service:
    module, _, name = file.object.partition(":")
    try:
        made = getattr(import_module(module), name)
        found: Service = made(node=node, data=data, settings=file.settings)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageProblem(
            f"service.object {file.object}: {error}",
            next="MODULE:NAME of what takes node, data and settings",
        ) from error
    needed = ("boot", "stop", "wipe", "status", "forget", "end")
    lacking = [one for one in needed if not hasattr(found, one)]
    if lacking:
        raise UsageProblem(
            f"service.object {file.object}: no {', '.join(lacking)}",
            next="the methods of joinproto.apps.clusterer.service.Service",
        )
    return found
