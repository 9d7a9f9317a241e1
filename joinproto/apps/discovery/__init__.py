"""The part of discovery that acts: sends requests, looks names up in DNS, and waits.

It performs the flows of `joinproto.discovery` against real servers, behind one port (`port.py`),
and decides nothing.  Read `perform.py` first, then `http.py`.  It needs `joinproto[discovery]`.
"""
