"""Addresses, frames, peer proof, TLS and the links between members."""
