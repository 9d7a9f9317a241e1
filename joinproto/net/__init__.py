"""The mesh of all systems: addresses, frames, proofs of identity, TLS and links between members."""
