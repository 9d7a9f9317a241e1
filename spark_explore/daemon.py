"""Spark's Python daemon, which loads the compiled loops before it forks workers."""

from joinproto.check.engine import search  # noqa: F401  loads NumPy, numba and the loops


def main() -> None:
    """Serve until Spark closes the connection."""
    from pyspark import daemon

    daemon.manager()


if __name__ == "__main__":
    main()
