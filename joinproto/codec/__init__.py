"""Values as arrays, JSON, TOML and Erlang terms."""
