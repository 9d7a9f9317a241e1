"""The view chain: the protocol that joinproto ships.  `docs/protocol.md` explains it."""
