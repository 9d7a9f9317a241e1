"""The metrics of a broker for Prometheus."""

from __future__ import annotations

from joinproto.host.process.http import Measures
from joinproto.standby.broker import Role

GAUGES = {
    "generation": "Of the last primary that is known.",
    "serves": "1 while clients are served.",
    "peers": "Brokers to which there is a session.",
    "up_to_date": "Backups that have all that is confirmed; of a primary.",
    "queues": "Queues.",
    "messages": "Messages in them.",
    "pending": "Messages and acknowledgements that wait to be confirmed.",
    "to_copy": "Messages that are still to be copied to backups; of a primary.",
    "clients": "Connections of clients.",
    "journal_bytes": "Size of frames.log.",
}
COUNTERS = {
    "confirmed": "Messages that were confirmed to their senders.",
    "acknowledged": "Acknowledgements that were confirmed.",
    "promotions": "How often it became primary.",
    "refused_clients": "Clients that were refused, for this is a backup.",
}
BROKER = Measures("joinproto_standby", ("role", Role), GAUGES, COUNTERS)
