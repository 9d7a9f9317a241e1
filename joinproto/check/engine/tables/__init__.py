"""The numbered world: all that members' code answered, as arrays of numbers.

Read `kernel.py` first: it says which tables there are, and how a compiled loop reads them.
`tables.py` calls members' code and fills the tables, `arrays.py` gives the tables to the loops, and
`queues.py` and `contents.py` number the messages under way.  `numbering.py`, `answers.py` and
`kept_*.py` keep all of it for the next search.
"""
