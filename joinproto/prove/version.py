"""Which solver it is that proves."""

import z3


def solver_version() -> str:
    """Return the solver's name and version, as it is recorded with results."""
    return f"Z3 {z3.get_version_string()}"
