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

ADVICE = "docs/clusterer.md has an example of the file"
Words = tuple[str, ...]
Command = Annotated[Words, Sized(1, 1_000)]


@frozen(kw_only=True)
class CommandsFile:
    """A service behind commands; each is a list of words."""

    kind: Annotated[Literal["commands"], "the kind of the service"]
    start: Annotated[Command, "starts the service"]
    stop: Annotated[Command, "stops the service"]
    wipe: Annotated[Command, "removes the service's data"]
    status: Annotated[Command, "exits with 0 if the service runs"]
    join: Annotated[
        Words | None, "starts the service without data, if others run; null: as start"
    ] = None
    timeout: Annotated[Duration, "seconds that a command may take"] = 60.0


@frozen(kw_only=True)
class PythonFile:
    """A service that is a Python object."""

    kind: Annotated[Literal["python"], "the kind of the service"]
    object: Annotated[str, "MODULE:NAME, called with node, data (Path) and settings"]
    settings: Annotated[Mapping[str, str], "settings for the object"] = {}


@frozen(kw_only=True)
class JoinprotoFile:
    """The service `joinproto node`."""

    kind: Annotated[Literal["joinproto"], "the kind of the service"]
    listen: Annotated[str, "HOST:PORT for the other members"]
    clients: Annotated[str, "HOST:PORT for its clients"]
    members: Annotated[Mapping[str, str], "NAME = HOST:PORT of the other members"] = {}
    cluster: Annotated[str, "the cluster's name"] = "clusterer"
    timeout: Annotated[Duration, "the most seconds until it answers, and until it ends"] = 30.0


@frozen(kw_only=True)
class RabbitFile:
    """RabbitMQ with Mnesia; tested with 3.10 and 4.0."""

    kind: Annotated[Literal["rabbitmq"], "the kind of the service"]
    server: Annotated[Words, "starts the server in the foreground"] = ("rabbitmq-server",)
    ctl: Annotated[Words, "the server's tool"] = ("rabbitmqctl",)
    environment: Annotated[Mapping[str, str], "variables of both, besides the node's own"] = {}
    timeout: Annotated[Duration, "seconds that a command may take"] = 120.0


KINDS: Mapping[str, type] = {
    "commands": CommandsFile,
    "python": PythonFile,
    "joinproto": JoinprotoFile,
    "rabbitmq": RabbitFile,
}


@frozen(kw_only=True)
class NodeFile:
    """The file before its validation; its paths are relative to its directory.

    `service`: one of `KINDS`.
    """

    node: Annotated[str, "the node's name, as in configs"]
    data: Annotated[str, "the service's data directory; the config is stored next to it"]
    listen: Annotated[str, "HOST:PORT for other nodes and operators, or PORT"]
    nodes: Annotated[Mapping[str, str], "NAME = HOST:PORT of other nodes"] = {}
    release: Annotated[Release, "seed: with shutdown_timeout; head: without it"] = Release.SEED
    events: Annotated[str | None, "a directory for event logs"] = None
    secret_file: Annotated[str | None, "the same as security.secret_file"] = None
    security: Annotated[Proofs, "how nodes and operators prove their identity"] = Proofs()
    insecure: Annotated[bool, "permit an unprotected port that other machines reach"] = False
    timing: Annotated[Timing, "times, in seconds"] = Timing()
    service: Annotated[Any, "a table: the service that the node manages"] = None


@frozen(kw_only=True)
class Settings:
    """Validated settings of a node.

    `service`: makes the service; only this imports a Python object's module.
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
    return toml_file.read_settings(path, NodeFile, settings_of, next=ADVICE)


def settings_of(file: NodeFile, top: Path) -> Settings:
    """Return the settings; `top`: the directory to which paths are relative."""
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
            f"other machines can reach {listen}, which nothing protects: any of them can wipe this"
            " node",
            next="set up [security], or a firewall for the port and insecure = true",
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
            "missing" if kind is None else f"{kind!r} is not a kind of service",
            next=f"write [service] with kind = one of {', '.join(KINDS)}",
        )
    try:
        file: Any = toml_file.structured(found, KINDS[kind], next=ADVICE)
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
            next="give MODULE:NAME of a callable that takes node, data and settings",
        ) from error
    needed = ("boot", "stop", "wipe", "status", "forget", "end")
    lacking = [one for one in needed if not hasattr(found, one)]
    if lacking:
        raise UsageProblem(
            f"service.object {file.object}: it lacks {', '.join(lacking)}",
            next="implement the methods of joinproto.apps.clusterer.service.Service",
        )
    return found
