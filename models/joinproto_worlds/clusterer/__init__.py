"""Worlds of the Clusterer: stories searched in every order of their events.

The simulation that plays stories is the one member: its hosts, its network and the steps of its
nodes are the code that ships.  The questions and answers of a status round are one step here, as
long as no config is under way on that link; configs, boots, polls, actions and locks come in any
order.
"""
