"""Refinement mappings, which give states of searched worlds in the relations of the layers."""
