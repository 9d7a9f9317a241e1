"""Boots: nodes that start at once and find each other by a real server; how many clusters.

    python -m tools.boots --backend etcd --times 200

Read `boot.py` first, then `places.py` (the requirements of each backend) and `weather.py` (the
errors of a server).  Kubernetes' API and Consul are servers made from recorded shapes
(`recorded.py`): there is no package of them here, and no more is shown with them than that.
"""
