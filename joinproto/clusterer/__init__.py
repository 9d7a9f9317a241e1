"""Clusterer: declarative cluster configs that a set of nodes reaches by itself.

Source: the Clusterer's document, as rules U1 to U7 in docs/clusterer.md; the behaviour of the real
Clusterer, as read from its modules.  Read `tables.py` first: it has the tables of decisions.
`coordinator.py`, `transitioner.py` and `beginning.py` have the steps of one node;
`simulator.py` plays stories of many nodes.
"""
