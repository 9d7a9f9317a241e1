"""The old name of `joinproto.check`; the next version removes it."""

import warnings

from joinproto.check import *  # noqa: F403  all of its names, with their types
from joinproto.check import __all__  # noqa: F401

warnings.warn("joinproto.checking is called joinproto.check now", DeprecationWarning, stacklevel=2)
