"""joinproto: the join protocol of a replicated cluster, as a library.

A broker embeds a member from here: `from joinproto import Member`.  The public names are those in
`__all__`, which `docs/api.md` describes, and the modules `joinproto.check` (a model of your own),
`joinproto.simulating` (random runs) and `joinproto.errors`.  All other names may change without
notice.

A name is imported at its first use, so an embedder with a host of its own loads no event loop.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

# The one place that holds the version: the build reads it from this line.
__version__ = "0.1.0"

if sys.version_info < (3, 11):  # noqa: UP036  a checkout may be run by any Python
    _HERE = ".".join(map(str, sys.version_info[:2]))
    _TOO_OLD = f"joinproto needs Python 3.11 or later, and this is Python {_HERE}"
    if sys.argv[:1] == ["-m"]:
        sys.exit(_TOO_OLD)
    raise ImportError(_TOO_OLD)

if TYPE_CHECKING:
    from joinproto.apps.contrib.amqtt import ClusteredBroker
    from joinproto.apps.node.process import run_node
    from joinproto.apps.node.reporting import log_to_stderr
    from joinproto.apps.node.settings import read_settings
    from joinproto.codec.malformed import Malformed
    from joinproto.errors import JoinprotoError
    from joinproto.host.cluster import Cluster
    from joinproto.host.failures import Aborted, NotActive
    from joinproto.host.nodata import NoData
    from joinproto.host.outcome import Outcome
    from joinproto.host.ports import EventLoop, Host, Service, StateTransfer
    from joinproto.host.threads import ThreadCluster
    from joinproto.join import wire
    from joinproto.join.config import Config, TotalFailure
    from joinproto.join.frames import FrameVerdict
    from joinproto.join.inputs import UpdateDone, UpdateProgress
    from joinproto.join.member import Member
    from joinproto.join.messages import (
        Abort,
        Action,
        Batch,
        Closing,
        CompareAndSet,
        Event,
        Forbids,
        JoinMessage,
        Learned,
        OpenForClients,
        PhaseChanged,
        Proposes,
        ReadRegister,
        Refusal,
        Sent,
        ServeUpdate,
        StartUpdate,
        Stop,
        Waiting,
    )
    from joinproto.join.perform import Ports, perform, performing
    from joinproto.join.phases import Phase
    from joinproto.join.store import StoreRecord
    from joinproto.join.view import Position, Seat, View
    from joinproto.log.disk import Disk, open_disk
    from joinproto.log.entry import Entry
    from joinproto.log.keeper import Keeping, Remembering
    from joinproto.log.replicated import Application, JournalFrame, ReplicatedLog
    from joinproto.machine.vocabulary import Reason
    from joinproto.net.addresses import Address
    from joinproto.net.network import Network
    from joinproto.net.tcp import TcpTransport
    from joinproto.net.tls import TlsFiles
    from joinproto.store.handle import StoreHandle, create_store, open_store

    # The former names: see `_FORMER`.
    Frame = FrameVerdict
    Message = JoinMessage
    Store = StoreHandle

__all__ = [
    "Abort",
    "Aborted",
    "Action",
    "Address",
    "Application",
    "Batch",
    "Closing",
    "Cluster",
    "ClusteredBroker",
    "CompareAndSet",
    "Config",
    "Disk",
    "Entry",
    "Event",
    "EventLoop",
    "Forbids",
    "FrameVerdict",
    "Host",
    "JoinMessage",
    "JoinprotoError",
    "JournalFrame",
    "Keeping",
    "Learned",
    "Malformed",
    "Member",
    "Network",
    "NoData",
    "NotActive",
    "OpenForClients",
    "Outcome",
    "Phase",
    "PhaseChanged",
    "Ports",
    "Position",
    "Proposes",
    "ReadRegister",
    "Reason",
    "Refusal",
    "Remembering",
    "ReplicatedLog",
    "Seat",
    "Sent",
    "ServeUpdate",
    "Service",
    "StartUpdate",
    "StateTransfer",
    "Stop",
    "StoreHandle",
    "StoreRecord",
    "TcpTransport",
    "ThreadCluster",
    "TlsFiles",
    "TotalFailure",
    "UpdateDone",
    "UpdateProgress",
    "View",
    "Waiting",
    "__version__",
    "create_store",
    "log_to_stderr",
    "open_disk",
    "open_store",
    "perform",
    "performing",
    "read_settings",
    "run_node",
    "wire",
]

# Where each name is found: the same as above, for the interpreter.  A test compares the two.
_PLACES = {
    "apps.contrib.amqtt": "ClusteredBroker",
    "join": "wire",
    "join.config": "Config TotalFailure",
    "join.frames": "FrameVerdict",
    "codec.malformed": "Malformed",
    "join.inputs": "UpdateDone UpdateProgress",
    "join.member": "Member",
    "join.messages": (
        "Abort Action Batch Closing CompareAndSet Event Forbids JoinMessage Learned"
        " OpenForClients PhaseChanged Proposes ReadRegister Refusal Sent ServeUpdate StartUpdate"
        " Stop Waiting"
    ),
    "join.perform": "Ports perform performing",
    "join.phases": "Phase",
    "join.store": "StoreRecord",
    "join.view": "Position Seat View",
    "net.addresses": "Address",
    "host.cluster": "Cluster",
    "host.failures": "Aborted NotActive",
    "host.nodata": "NoData",
    "host.outcome": "Outcome",
    "host.ports": "Host Service StateTransfer EventLoop",
    "net.network": "Network",
    "net.tcp": "TcpTransport",
    "host.threads": "ThreadCluster",
    "net.tls": "TlsFiles",
    "errors": "JoinprotoError",
    "log.disk": "Disk open_disk",
    "log.entry": "Entry",
    "log.keeper": "Keeping Remembering",
    "log.replicated": "Application JournalFrame ReplicatedLog",
    "apps.node.process": "run_node",
    "apps.node.settings": "read_settings",
    "apps.node.reporting": "log_to_stderr",
    "store.handle": "StoreHandle create_store open_store",
    "machine.vocabulary": "Reason",
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}

_FORMER = {"Frame": "FrameVerdict", "Message": "JoinMessage", "Store": "StoreHandle"}
"""Former name -> present name.  The former names meant two things; they still work."""


def __getattr__(name: str) -> object:
    if name in _FORMER:
        from warnings import warn  # inside: `import joinproto` imports no more

        now = _FORMER[name]
        warn(
            f"joinproto.{name} is called joinproto.{now} now; the next version has that name alone",
            DeprecationWarning,
            stacklevel=2,
        )
        return __getattr__(now)
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "wire":
        found: object = import_module(f"{__name__}.{place}.{name}")
    else:
        found = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
