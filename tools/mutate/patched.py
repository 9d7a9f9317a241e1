"""Import our modules again in this process, one of them from a patched source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from tools.mutate.patches import ROOT

KEPT = ("joinproto.errors.", "joinproto.__version__.", "joinproto.check.")
"""Modules that import no mutated module are not imported again."""

_OURS = (
    "joinproto.",
    "joinproto_worlds.",
    "joinproto_claims.",
    "tests.",
)


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        # Compiled files are neither read from a cache nor written to one.
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, module: str, source: bytes) -> None:
        self._module, self._source = module, source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self._source)
        return spec


def forget() -> None:
    """Have our modules imported again, except those that do not use the protocol."""
    for name in list(sys.modules):
        title = f"{name}."
        if title.startswith(_OURS) and not title.startswith(KEPT):
            del sys.modules[name]
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))


def patch(module: str, source: bytes) -> None:
    """Have this process import `module` from `source` from now on."""
    forget()
    sys.meta_path.insert(0, _Finder(module, source))
