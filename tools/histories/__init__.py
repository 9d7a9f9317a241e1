"""Histories of real clusters: what clients knew to be acknowledged, against what `recover` says.

A rig (`rabbitmq.py`, `galera.py`) forms a cluster, plays events that a seed draws, and leaves data
directories; then it starts each store alone and asks what it has.  `judged.py` gives every subset
of the directories to `recover pick` and compares.
"""
