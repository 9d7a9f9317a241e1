"""Validation: the event logs of real members, replayed and judged."""
