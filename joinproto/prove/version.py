"""The solver that proves: its version, and the options that it must not have."""

import z3


def solver_version() -> str:
    """Return the solver's name and version, as it is recorded with results."""
    return f"Z3 {z3.get_version_string()}"


def leave_ctrl_c() -> None:
    """Make Ctrl-C reach Python: a press while Z3 works would only end that one question."""
    z3.set_param("ctrl_c", False)
