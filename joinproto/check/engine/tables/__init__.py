"""The numbered world: all that members' code answered, as arrays of numbers.

Read `kernel.py` first: which tables there are, and how a compiled loop reads one.  `tables.py` asks
the code and fills them, `arrays.py` makes arrays of them, and `queues.py` and `contents.py` number
the contents under way.  `numbering.py`, `answers.py` and `kept_*.py` keep all of it for the next
search.
"""
