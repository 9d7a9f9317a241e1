"""Boots: nodes start at the same time and find each other by a real server.

    python -m tools.boots --backend etcd --times 200

The clusters that they form are counted.  Read `boot.py` first, then `places.py` (the settings for
each backend) and `weather.py` (the errors of a server).  The servers of Kubernetes' API and Consul
are simulated from recorded answers (`recorded.py`), because no package has the real servers.
"""
