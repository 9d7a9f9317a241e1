"""joinproto: the join protocol of a replicated cluster, as a library.

A broker embeds a member from here; the names a broker may use are the ones
listed in `__all__`.  Everything else in this package may change without notice,
except `joinproto.checking` (a model of one's own) and `joinproto.errors`.
"""

# The one place that holds the version: the build reads it from this line.
__version__ = "0.1.0"

__all__ = ["__version__"]
