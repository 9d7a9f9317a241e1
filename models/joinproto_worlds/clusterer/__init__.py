"""Worlds of the Clusterer: stories searched in every order of their events.

A world has one member: the shipped simulation that plays stories, with its hosts, its network and
the steps of its nodes.  A question of a status round and its answer are one step here, as long as
no config is under way on that link.  Configs, boots, polls, actions and locks come in any order.
"""
