"""The parts that all systems are written in: terms, decision tables, state machines made of
them.
"""
