"""Every pure decision of the systems as a named question: JSON in, JSON out.

Through them, programs in other languages use our tables.  A system lists its questions in its own
`questions.py`, with the types of this package.  This package reads input strictly, derives schemas
from the types, and finds a question by its name.  It imports a system only when a question of that
system is asked.  Systems and `tools` import this package.
"""
