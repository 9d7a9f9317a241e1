"""The hosts that Spark prefers for an owner's tasks."""

from __future__ import annotations

from typing import Any

from spark_explore.homes import Homes


def _itself(owner: int) -> int:
    return owner


def test_an_exchange_keeps_its_items_and_prefers_a_host(context: Any) -> None:
    items = [(owner, owner * number) for owner in range(3) for number in range(100)]
    homes, scheduler = Homes(context, 3, _itself), context._jsc.sc()

    for _ in range(2):
        flow = homes.prefer(context.parallelize(items, 2).partitionBy(3, _itself))

        assert [{0}, {1}, {2}] == flow.keys().glom().map(set).collect()
        assert sorted(items) == sorted(flow.collect())
        hosts = [scheduler.getPreferredLocs(flow._jrdd.rdd(), owner).size() for owner in range(3)]
        assert [1, 1, 1] == hosts
