"""Mutation testing: which check notices a small change of the protocol, if any.

If a rule of the protocol can be changed and no world, test, link or random run notices, the rule
is redundant or not checked.  A mutation is a patch to the source, applied in a child process: the
product has no switch for it.
"""
