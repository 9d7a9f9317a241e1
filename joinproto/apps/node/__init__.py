"""A member as a process, with a small replicated log behind it: `joinproto node`.

This node shows the promises of the protocol, and how a program uses the drivers.
`joinproto.run_node` runs it with another server for clients; torture and the benchmark start it as
a process.
"""
