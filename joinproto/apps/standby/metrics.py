"""What a broker shows of itself to Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from joinproto import __version__
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


@frozen
class BrokerCollector(Collector):
    """Reads the broker on each request, so nothing is counted twice."""

    facts: Callable[[], dict[str, Any]]

    def collect(self) -> Iterable[Metric]:
        facts = self.facts()
        build = GaugeMetricFamily("joinproto_build_info", "1.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build
        role = GaugeMetricFamily(
            "joinproto_standby_role", "1 for the present one.", labels=["role"]
        )
        for one in Role:
            role.add_metric([one.value], float(facts["phase"] == one.value))
        yield role
        for name, about in GAUGES.items():
            yield GaugeMetricFamily(f"joinproto_standby_{name}", about, value=float(facts[name]))
        for name, about in COUNTERS.items():
            yield CounterMetricFamily(f"joinproto_standby_{name}", about, value=float(facts[name]))
