"""Classics of liveness, each with its usual claim over runs under its usual fairness."""
