"""Proofs for any number of members: logic, readers (Z3, finite), obligations, link to the code."""
