"""What joinproto is compared with: SPIN's model of the same space, and a slow, plain search."""
