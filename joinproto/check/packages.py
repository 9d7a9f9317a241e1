"""The packages of this project and their folders, in an installation or a checkout."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

MODELS = ("joinproto", "joinproto_worlds")
"""The packages that hold the code of the shipped worlds' members."""

# The single-file archive (`make pyz`) holds only the first two packages.
ALL = (*MODELS, *(name for name in ("joinproto_claims", "spark_explore") if find_spec(name)))


@cache
def folder(package: str) -> Path:
    """Return the folder of a package, without importing the package."""
    spec = find_spec(package)
    assert spec is not None, package
    assert spec.origin is not None, package
    return Path(spec.origin).resolve().parent


@cache
def places() -> tuple[str, ...]:
    """Return the folders that a Python process needs on its path to import all packages."""
    return tuple(dict.fromkeys(str(folder(package).parent) for package in ALL))


def is_model_code(module: str) -> bool:
    """Return whether the module of this name belongs to one of the packages `MODELS`."""
    return module.partition(".")[0] in MODELS
