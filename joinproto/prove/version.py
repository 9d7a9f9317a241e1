"""Z3: its version, and an option that it must not have."""

import z3


def solver_version() -> str:
    """Return the solver's name and version as results record them."""
    return f"Z3 {z3.get_version_string()}"


def leave_ctrl_c() -> None:
    """Make Ctrl-C reach Python; by default Z3 takes it, and only ends the present question."""
    z3.set_param("ctrl_c", False)
