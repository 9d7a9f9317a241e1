"""A world from a user's own file: `path/to/my_model.py`, or `my_model.py::name`.

The file is loaded under a private module name, and it can import from its own folder.  Errors in
it are reported with file and line, because the person who reads the error wrote the file.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from attrs import evolve

from joinproto.check.loaded import Loaded
from joinproto.check.options import converted, listed, typed
from joinproto.check.problems import ModelProblem, kind_words
from joinproto.check.tracebacks import errors_of_model, private_name, short
from joinproto.check.world import World

EXPECTED = "`world = World(...)`, or a function `world(*, members=3)` that returns one"


def is_file(target: str) -> bool:
    """Return whether `target` names a file rather than a world that ships."""
    path, _, _ = target.partition("::")
    return path.endswith(".py") or "/" in path or target != path


def load_file(target: str, options: Mapping[str, Any]) -> Loaded:
    """Return the world that `target` names, built with `options`; raises `ModelProblem`."""
    module, file = load_module(target.partition("::")[0])
    return load_from(module, file, target, options)


def load_from(module: ModuleType, file: Path, target: str, options: Mapping[str, Any]) -> Loaded:
    """Return the world as `load_file` does, from a `module` already loaded from `file`."""
    path, _, wanted = target.partition("::")
    name = wanted or _only_world(module, path, file)
    made = named_world(module, path, name)
    place = f"{path}:{_line_of(module, name)}"
    if isinstance(made, World):
        if options:
            raise ModelProblem(
                f"{name} is one fixed world and takes no {listed(options)}",
                next=f"make it a function: def {name}(*, {', '.join(options)}): ...",
                place=place,
            )
        world = _checked(made, place, target, options)
        return Loaded(world, target, options, file=file, place=place)
    takes = _check_options(made, name, options, place)
    options = converted(options, made, place=place)

    def build(more: Mapping[str, Any]) -> World:
        try:
            with errors_of_model(file, what=f"{name}()"):
                built = made(**more)
        except ModelProblem as problem:
            blamed = _options_at_fault(made, more)
            if not blamed:
                raise
            hint = "give another value, or leave it out"
            if "() raised " not in problem.message:
                hint = problem.next  # an error of the checker, which says what is expected
            raise ModelProblem(
                f"{name}() cannot be built with {blamed}: {_text_of_error(problem)}",
                next=f"{hint}; without {blamed} it can be built",
                place=problem.place,
            ) from problem
        return _checked(built, place, target, more, called=True)

    members = options.get("members")
    if members is None and "members" in takes:
        members = inspect.signature(made).parameters["members"].default
    has_sizes = isinstance(members, int)
    return Loaded(
        build(options),
        target,
        options,
        file=file,
        place=place,
        members=members if has_sizes else None,
        sized=(lambda members: build({**options, "members": members})) if has_sizes else None,
    )


def load_module(path: str) -> tuple[ModuleType, Path]:
    """Return the module of a file, loaded under a private name, and the file's full path."""
    file = _existing(path)
    with errors_of_model(file):
        return _module(file), file


def named_world(module: ModuleType, path: str, name: str) -> Any:
    """Return the module's world, or the function that makes it; raises `ModelProblem`.

    `name`: "" means the world called `world`, or else the only world.
    """
    name = name or _only_world(module, path, Path(path))
    made = getattr(module, name, None)
    if made is None:
        raise ModelProblem(
            f"{path} defines no {name!r}", next=_one_of(module, path) or f"expected {EXPECTED}"
        )
    if not isinstance(made, World) and (not callable(made) or isinstance(made, type)):
        found = "a class" if isinstance(made, type) else kind_words(made)
        place = f"{path}:{_line_of(module, name)}"
        raise ModelProblem(f"{name} is {found}", next=f"expected {EXPECTED}", place=place)
    return made


def signature_of(made: Callable[..., Any], name: str, place: str = "") -> inspect.Signature:
    """Return a function's signature; raises `ModelProblem` if Python has none."""
    try:
        return inspect.signature(made)
    except (ValueError, TypeError) as error:
        raise ModelProblem(f"{name} cannot be called: {error}", place=place) from error


def _existing(path: str) -> Path:
    file = Path(path)
    try:
        if not file.exists():
            raise ModelProblem(
                f"there is no file {path}",
                next="check the path; joinproto models lists the worlds that ship",
            )
        if not file.is_file():
            raise ModelProblem(
                f"{path} is a folder, not a file"
                if file.is_dir()
                else f"{path} is not a regular file",
                next=f"name the file in it that defines {EXPECTED}",
            )
        file.open("rb").close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelProblem(
            f"{path} cannot be read: {reason}", next="check its path and rights"
        ) from error
    return file.resolve()


class _Source(SourceFileLoader):
    """A loader that never uses cached bytecode.

    Python compares only the size and the second of the source file with the cache, so it would
    miss an edit within a second of the previous one.
    """

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(path)


def _module(file: Path) -> ModuleType:
    # Files of the same name get two modules, and neither hides an installed one.  The module is
    # put into sys.modules, because attrs and pickle look modules up there.
    name = private_name(file)
    # Not spec_from_file_location, which guesses the loader from the file's ending: a path with
    # a slash may have any ending.
    spec = ModuleSpec(name, _Source(name, str(file)), origin=str(file))
    spec.has_location = True
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(file.parent)
    # While the file runs, its folder comes first, as Python itself does for a script.
    sys.path.insert(0, folder)
    try:
        assert spec.loader is not None
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        # A file with a syntax error has no frame in the traceback; the error names the line.
        if isinstance(error, SyntaxError) and Path(error.filename or "").is_file():
            raise ModelProblem(
                f"syntax error: {error.msg}",
                next=f"correct `{error.text.strip()}`" if error.text else "correct the file",
                place=f"{short(Path(str(error.filename)))}:{error.lineno or 1}",
            ) from error
        raise
    finally:
        sys.path.remove(folder)
        # A member may import something when it first runs; at the end the folder hides no module.
        sys.path.append(folder)
    return module


# -- choosing and checking -------------------------------------------------------------


def worlds_in(module: ModuleType) -> list[str]:
    """Return the names in a file that are worlds, or functions annotated to return a `World`.

    A function called `world` needs no annotation.
    """
    found = []
    for name, value in vars(module).items():
        own = inspect.isfunction(value) and value.__module__ == module.__name__
        says = own and "World" in str(getattr(value, "__annotations__", {}).get("return", ""))
        says = says or (own and name == "world")
        if not name.startswith("_") and (isinstance(value, World) or says):
            found.append(name)
    return found


def _only_world(module: ModuleType, path: str, file: Path) -> str:
    if hasattr(module, "world"):
        return "world"
    found = worlds_in(module)
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelProblem(
            f"{path} defines several worlds", next=_one_of(module, path), place=f"{path}:1"
        )
    functions = [
        name
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]
    # A function without `-> World` may still return one, so the last function is suggested.
    named = f"; or name one: {path}::{functions[-1]}" if functions else ""
    raise ModelProblem(
        f"{path} defines no world", next=f"expected {EXPECTED}{named}", place=f"{path}:1"
    )


def _one_of(module: ModuleType, path: str) -> str:
    found = worlds_in(module)
    return f"choose one: {', '.join(f'{path}::{name}' for name in found)}" if found else ""


def _line_of(module: ModuleType, name: str) -> int:
    """Return the line that defines `name` in the file."""
    assert module.__file__ is not None
    try:
        tree = ast.parse(Path(module.__file__).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return 1
    line = 1
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        if name in names:
            line = node.lineno
    return line


def _check_options(
    made: Callable[..., Any], name: str, options: Mapping[str, Any], place: str
) -> frozenset[str]:
    """Return the names that `made` takes; raises `ModelProblem` for unknown or missing options."""
    parameters = signature_of(made, name, place).parameters
    named = {
        key: value
        for key, value in parameters.items()
        if value.kind in (value.POSITIONAL_OR_KEYWORD, value.KEYWORD_ONLY)
    }
    takes_all = any(value.kind is value.VAR_KEYWORD for value in parameters.values())
    for key in options:
        if key not in named and not takes_all:
            raise ModelProblem(
                f"{name}() takes no {listed([key])}",
                next=f"it takes {listed(named)}" if named else "it takes no options",
                place=place,
            )
    missing = [
        key
        for key, value in parameters.items()
        if value.default is value.empty
        and value.kind not in (value.VAR_KEYWORD, value.VAR_POSITIONAL)
        and key not in options
    ]
    if missing:
        hint = f"give {listed(missing)}" if set(missing) <= named.keys() else "use keywords"
        raise ModelProblem(
            f"{name}() has no default for {', '.join(missing)}",
            next=f"{hint}, or give it a default",
            place=place,
        )
    return frozenset(named)


def _options_at_fault(made: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Return the option, or all options, as typed, without which the world can be built, or ""."""
    whole = [*options]
    # Leave out each option alone, then all.  A world that fails without any is itself at fault.
    for left_out in [*([key] for key in whole), whole]:
        try:
            made(**{key: value for key, value in options.items() if key not in left_out})
        except (MemoryError, BrokenPipeError, KeyboardInterrupt):
            raise
        except BaseException:  # noqa: BLE001  any error means that it cannot be built
            continue
        return " ".join(word for key in left_out for word in typed(key, options[key]))
    return ""


def _text_of_error(problem: ModelProblem) -> str:
    """Return the error's text without its place and without "f() raised "."""
    message = problem.message.removeprefix(f"{problem.place}: ")
    return message.partition("() raised ")[2] or message


def _checked(
    made: Any, place: str, target: str, options: Mapping[str, Any], *, called: bool = False
) -> World:
    """Return `made` with `source` set: file and options; raises `ModelProblem` if not a world."""
    if not isinstance(made, World):
        if inspect.iscoroutine(made):
            made.close()  # or Python complains that it was not awaited
        raise ModelProblem(
            f"{'the function returned' if called else 'it is'} {kind_words(made)}, not a World",
            next=f"expected {EXPECTED}",
            place=place,
        )
    return evolve(made, source={"file": target, **options})
