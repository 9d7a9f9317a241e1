"""Every pure decision of the systems as a named question: JSON in, JSON out.

It lets programs in other languages ask our tables.  A system lists its questions in its own
`questions.py`, of the types here; this package reads input strictly, derives schemas from the
types, and finds a question by its name, importing its system only then. Systems and `tools` import
it.
"""
