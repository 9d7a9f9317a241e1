"""The view chain: the protocol that joinproto ships.  `docs/protocol.md` tells it."""
