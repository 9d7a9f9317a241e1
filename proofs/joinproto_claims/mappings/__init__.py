"""Refinement mappings: the states of searched worlds, given in the relations of the layers."""
