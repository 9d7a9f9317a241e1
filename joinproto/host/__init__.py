"""Drivers: a member with real time, a real network and a real disk around it.

    async with Cluster(config, host) as cluster:            cluster.py: asyncio and trio
        outcome = await cluster.wait_active(timeout=30)

    with ThreadCluster(config, host) as cluster:            threads.py: plain threads
        outcome = cluster.wait_active(timeout=30)

`ports.py` defines a host.  `joinproto/net/tcp.py` is a transport; a program may give another.
"""
