"""The link: what the shipped code does, step by step, held against the relations proved."""
