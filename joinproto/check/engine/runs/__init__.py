"""Runs: the way to a state, random walks, and the results that are told of a finished search.

Read `paths.py` first: how a shortest run is found again without parent pointers.
"""
