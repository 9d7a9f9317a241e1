"""The join protocol that ships, in closed worlds."""
