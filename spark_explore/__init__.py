"""The search of `joinproto check` on Spark, and analyses of the states that it found.

A hash of a state decides which owner holds it.  Each owner holds its share of the states as sorted
files on storage that every executor can open.  A level takes one exchange: owners expand their part
of the frontier, send each successor to its owner, and keep the new states.  Only the driver calls
members' code and gives out numbers; executors ask it by RPC.
"""
