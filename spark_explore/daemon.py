"""Spark's Python daemon, with the compiled loops loaded before it forks a worker."""

from joinproto.check.engine import search  # noqa: F401  loads NumPy, numba and the loops


def main() -> None:
    """Serve until Spark hangs up."""
    from pyspark import daemon

    daemon.manager()


if __name__ == "__main__":
    main()
