"""Mutations: the product with one rule left out, made from outside, for searches that must fail."""
