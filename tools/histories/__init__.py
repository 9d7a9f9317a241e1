"""Histories of real clusters: acknowledged writes, compared with the verdicts of `recover`.

A rig (such as `rabbitmq.py`) forms a cluster, plays events that a seed draws, and leaves data
directories; then it starts or reads each store alone, to learn the store's data.  `judged.py` gives
every subset of the directories to `recover pick` and compares the verdicts with the data.
"""
