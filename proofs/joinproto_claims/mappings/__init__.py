"""Searched worlds in the words of the layers: one refinement mapping for each system."""
