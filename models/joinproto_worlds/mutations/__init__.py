"""Mutations: each leaves one rule out of the product, from outside, for a search that must fail."""
