"""The packages of this project, and where they lie: all in one folder, or in a checkout."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

MODELS = ("joinproto", "joinproto_worlds")
"""The packages that members of shipped worlds are made of."""

# The one file (`make pyz`) holds the first two alone.
ALL = (*MODELS, *(name for name in ("joinproto_claims", "spark_explore") if find_spec(name)))


@cache
def folder(package: str) -> Path:
    """Return the folder of a package, which is not imported."""
    spec = find_spec(package)
    assert spec is not None, package
    assert spec.origin is not None, package
    return Path(spec.origin).resolve().parent


@cache
def places() -> tuple[str, ...]:
    """Return the folders that a Python needs on its path to import all of them."""
    return tuple(dict.fromkeys(str(folder(package).parent) for package in ALL))


def is_model_code(module: str) -> bool:
    """Return whether a module, by its name, is of `MODELS`."""
    return module.partition(".")[0] in MODELS
