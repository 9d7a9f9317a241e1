"""Names that modules had before; they go with the next version."""

import sys
import warnings
from importlib import import_module


def renamed(old: str, new: str) -> None:
    """Let `old`, which is being imported, be the module `new`, and warn of it."""
    # Out of here, the file of the old name, and importlib's frames, which warnings skip.
    warnings.warn(f"{old} is called {new} now", DeprecationWarning, stacklevel=3)
    sys.modules[old] = import_module(new)
