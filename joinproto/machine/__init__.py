"""The parts in which all systems are written: terms, decision tables and state machines."""
