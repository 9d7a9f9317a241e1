"""The doing part of discovery: requests that are sent, look-ups that are made, time that passes.

One reason to exist: to perform the flows of `joinproto.discovery` against real servers, behind one
port (`port.py`).  It decides nothing.  Read `perform.py` first, then `http.py`.  `tools` and a
node import it; needs `joinproto[discovery]`.
"""
