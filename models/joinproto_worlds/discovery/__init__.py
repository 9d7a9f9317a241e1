"""Worlds of discovery: the shipped boot rules where nodes start, are cut off and are wiped."""
