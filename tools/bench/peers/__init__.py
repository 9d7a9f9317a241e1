"""The tools that joinproto is compared with: SPIN's models of the same spaces, and a slow, plain
search.
"""
