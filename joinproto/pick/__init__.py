"""Picking: the latest of several stores, and the proof.  Deciding only."""
