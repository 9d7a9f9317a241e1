"""Textbook examples of liveness, each with its usual claim about runs under its usual fairness."""
