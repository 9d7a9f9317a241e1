"""joinproto: the join protocol of a replicated cluster, as a library.

A broker embeds a member from here: `from joinproto import Member`.  Public are the names listed
in `__all__`, which `docs/api.md` describes, and the modules `joinproto.checking` (a model of
one's own), `joinproto.simulating` (random runs) and `joinproto.errors`.  Everything else may
change without notice.

A name is imported when it is first asked for: a host of its own needs no event loop, and pays
for none.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# The one place that holds the version: the build reads it from this line.
__version__ = "0.1.0"

if TYPE_CHECKING:
    from joinproto.contrib.amqtt import ClusteredBroker
    from joinproto.drivers.addresses import Address
    from joinproto.drivers.cluster import Cluster
    from joinproto.drivers.failures import Aborted, NotActive
    from joinproto.drivers.network import Network
    from joinproto.drivers.nodata import NoData
    from joinproto.drivers.outcome import Outcome
    from joinproto.drivers.ports import Host, Service, StateTransfer, Strand
    from joinproto.drivers.tcp import TcpTransport
    from joinproto.drivers.threads import ThreadCluster
    from joinproto.drivers.tls import TlsFiles
    from joinproto.errors import JoinprotoError
    from joinproto.join import wire
    from joinproto.join.config import Config, TotalFailure
    from joinproto.join.frames import Frame
    from joinproto.join.malformed import Malformed
    from joinproto.join.member import Member
    from joinproto.join.messages import (
        Abort,
        Action,
        Batch,
        Closing,
        CompareAndSet,
        Event,
        Forbids,
        Learned,
        Message,
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
    from joinproto.log.replicated import Application, ReplicatedLog
    from joinproto.node.process import run_node
    from joinproto.node.settings import read_settings
    from joinproto.node.telling import log_to_stderr
    from joinproto.store.handle import Store, create_store, open_store
    from joinproto.tables.vocabulary import Reason

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
    "Forbids",
    "Frame",
    "Host",
    "JoinprotoError",
    "Keeping",
    "Learned",
    "Malformed",
    "Member",
    "Message",
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
    "Store",
    "StoreRecord",
    "Strand",
    "TcpTransport",
    "ThreadCluster",
    "TlsFiles",
    "TotalFailure",
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
    "contrib.amqtt": "ClusteredBroker",
    "join": "wire",
    "join.config": "Config TotalFailure",
    "join.frames": "Frame",
    "join.malformed": "Malformed",
    "join.member": "Member",
    "join.messages": (
        "Abort Action Batch Closing CompareAndSet Event Forbids Learned Message"
        " OpenForClients PhaseChanged Proposes ReadRegister Refusal Sent ServeUpdate StartUpdate"
        " Stop Waiting"
    ),
    "join.perform": "Ports perform performing",
    "join.phases": "Phase",
    "join.store": "StoreRecord",
    "join.view": "Position Seat View",
    "drivers.addresses": "Address",
    "drivers.cluster": "Cluster",
    "drivers.failures": "Aborted NotActive",
    "drivers.nodata": "NoData",
    "drivers.outcome": "Outcome",
    "drivers.ports": "Host Service StateTransfer Strand",
    "drivers.network": "Network",
    "drivers.tcp": "TcpTransport",
    "drivers.threads": "ThreadCluster",
    "drivers.tls": "TlsFiles",
    "errors": "JoinprotoError",
    "log.disk": "Disk open_disk",
    "log.entry": "Entry",
    "log.keeper": "Keeping Remembering",
    "log.replicated": "Application ReplicatedLog",
    "node.process": "run_node",
    "node.settings": "read_settings",
    "node.telling": "log_to_stderr",
    "store.handle": "Store create_store open_store",
    "tables.vocabulary": "Reason",
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> object:
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
