"""Boots: nodes start at once and find each other by a real server; their clusters are counted.

    python -m tools.boots --backend etcd --times 200

Read `boot.py` first, then `places.py` (what each backend needs) and `weather.py` (the errors of a
server).  The servers of Kubernetes' API and Consul are our own, made from recorded answers
(`recorded.py`), because no package of the real ones is available here.
"""
