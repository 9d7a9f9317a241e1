"""The metrics of a broker for Prometheus."""

from __future__ import annotations

from joinproto.host.process.http import Measures
from joinproto.standby.broker import Role

GAUGES = {
    "generation": "Generation of the last primary that is known.",
    "serves": "1 while clients are served.",
    "peers": "Brokers with which there is a session.",
    "up_to_date": "On a primary: backups that have every confirmed message.",
    "queues": "Queues.",
    "messages": "Messages in all queues.",
    "pending": "Messages and acknowledgements that wait to be confirmed.",
    "to_copy": "On a primary: messages that must still be copied to backups.",
    "clients": "Connections of clients.",
    "journal_bytes": "Size of frames.log.",
}
COUNTERS = {
    "confirmed": "Messages that were confirmed to their senders.",
    "acknowledged": "Acknowledgements that were confirmed.",
    "promotions": "How often this broker became primary.",
    "refused_clients": "Clients that were refused because this broker is a backup.",
}
BROKER_METRICS = Measures("joinproto_standby", ("role", Role), GAUGES, COUNTERS)
