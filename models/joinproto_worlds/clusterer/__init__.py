"""Worlds of the Clusterer: stories searched in every order of what may happen.

The simulation that plays stories is the one member: its hosts, its network and the steps of its
nodes are the code that ships.  What a status round asks and hears is one step here, as long as
no config is under way on that link; configs, boots, polls, actions and locks come in any order.
"""
