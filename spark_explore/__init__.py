"""The same search, and the analyses over the state space, on Spark.

Each owner holds a share of all states, chosen by a hash, as sorted files on storage that every
executor can open.  A level is one exchange: owners expand their part of the frontier, send each
successor to its owner, and keep the new ones.  The driver alone calls members' code and gives out
numbers; executors ask it by RPC.
"""
