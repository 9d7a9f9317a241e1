"""Mutation by program: whether a small change of the protocol would be noticed, and by which check.

It has one reason to exist: a rule of the protocol that could be changed without any world, test,
link or random run noticing is either redundant or unguarded, and that is not found out by
reading. Mutations are patches to the source, applied from outside, in a child process: no switch in
the product knows of them.
"""
