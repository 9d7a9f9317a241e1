"""Pictures of state machines and decision tables, made from the tables themselves."""
