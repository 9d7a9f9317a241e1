"""A node of the Clusterer as a process: the steps of `coordinator` over TCP, with a real service.

The package may import all of `joinproto.clusterer`, the store's files and the drivers' frames.
"""
