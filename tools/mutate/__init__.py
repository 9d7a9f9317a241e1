"""Mutation testing: whether a check would notice a small change of the protocol, and which one.

If a rule of the protocol can be changed and no world, test, link or random run notices, the rule
is redundant or not checked, and reading alone does not find that out.  A mutation is a patch to the
source, applied in a child process: the product has no switch for it.
"""
