"""The programs that joinproto is compared with: models of the same spaces for SPIN and for checkers
in Python, and a slow, plain search.
"""
