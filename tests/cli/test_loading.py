"""A user's model: `joinproto check path/to/my_model.py`, and possible errors in it.

For every error: exit code 2, file and line, and the expected value; never a traceback.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from joinproto.check.files import load_file
from joinproto.check.problems import ModelProblem
from tests.cli.running import FUNCTION, MEMBER, WORLD, Run, model, run_here


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto check` here."""
    return lambda *words: run_here(capsys, "check", *words)


@pytest.fixture(autouse=True)
def restored_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the entries that loading a file adds to `sys.path`."""
    monkeypatch.setattr(sys, "path", list(sys.path))


# -- valid models ------------------------------------------------------------------------


def test_a_users_model_is_checked_like_a_shipped_one(run: Run, tmp_path: Path) -> None:
    """Each of two counters has 4 counts, so there are 16 states."""
    found = run(model(tmp_path), "--json").object

    assert ("counters", "holds", 16) == (found["world"], found["result"], found["distinct"])


def test_a_function_gets_the_options(run: Run, tmp_path: Path) -> None:
    """Options reach the function only when given; --set reaches any parameter."""
    path = model(tmp_path, world=FUNCTION)

    assert 16 == run(path, "--json").object["distinct"]
    assert 64 == run(path, "--members", "3", "--json").object["distinct"]
    assert 1 == run(path, "--set", "top=2").code


def test_one_of_several_worlds_is_chosen_by_name(run: Run, tmp_path: Path) -> None:
    """The world is given as FILE.py::name."""
    second = WORLD.replace("world =", "single =").replace(', "b": Counter', "")
    path = model(tmp_path, world=WORLD.replace("world =", "double =") + second)

    assert 4 == run(f"{path}::single", "--json").object["distinct"]
    assert 16 == run(f"{path}::double", "--json").object["distinct"]
    assert f"choose one: {path}::double, {path}::single" in run(path).err
    assert f"choose one: {path}::double" in run(f"{path}::triple").err


def test_the_only_world_of_a_file_needs_no_name(run: Run, tmp_path: Path) -> None:
    """The world may have any name; a function must say that it returns a World."""
    made = FUNCTION.replace("def world(", "def counters(").replace("top=3):", "top=3) -> World:")

    assert 0 == run(model(tmp_path, world=WORLD.replace("world =", "mine ="))).code
    assert 0 == run(model(tmp_path, world=made)).code


def test_a_path_with_a_slash_needs_no_ending(run: Run, tmp_path: Path) -> None:
    """A path ends in .py or holds a slash."""
    other = Path(model(tmp_path)).rename(tmp_path / "model")

    assert 0 == run(str(other)).code


def test_a_model_imports_files_of_its_folder(run: Run, tmp_path: Path) -> None:
    """The model can import them also later, when members run."""
    (tmp_path / "the_top.py").write_text("TOP = 3\n")
    (tmp_path / "the_step.py").write_text("STEP = 1\n")
    importing = "from the_step import STEP\n        self.count += STEP"
    path = model(tmp_path, replace=("self.count += 1", importing))
    Path(path).write_text(f"from the_top import TOP\n{Path(path).read_text()}")

    assert 0 == run(path).code


def test_a_model_named_like_a_module_does_not_replace_it(run: Run, tmp_path: Path) -> None:
    """The loaded module has its own name, although the file is named like one of Python's."""
    import json

    path = Path(model(tmp_path)).rename(tmp_path / "json.py")

    assert 0 == run(str(path), "--json").code
    assert sys.modules["json"] is json


def test_two_files_of_one_name_are_two_models(run: Run, tmp_path: Path) -> None:
    """Both are loaded in one process, one after the other."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one = model(tmp_path / "one")
    two = model(tmp_path / "two", replace=('"b": Counter', '"b": Counter, "c": Counter'))

    assert [16, 64] == [run(path, "--json").object["distinct"] for path in (one, two)]


def test_a_pasted_run_names_the_file(run: Run, tmp_path: Path) -> None:
    """The test that --trace writes loads the world from its file."""
    path = model(tmp_path, world=FUNCTION)

    run(path, "--set", "top=2", "--trace", str(tmp_path / "test_it.py"))

    source = (tmp_path / "test_it.py").read_text()
    assert f'"{path}"' in source
    assert "top=2" in source


def test_smaller_sizes_of_a_file_give_an_estimate(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4^8 = 65,536 states, predicted from the smaller sizes."""
    monkeypatch.setattr("joinproto.cli.estimate.SECONDS_MAX", 600.0)
    done = run(model(tmp_path, world=FUNCTION), "--members", "8", "--estimate")

    assert "about 65.5 k states" in done.err


# -- invalid models ---------------------------------------------------------------------

# Name -> (text replaced in the model, text of the message, text of the line that it names).
RECEIVE, DEFINED = "def receive", "world = World("
BAD = {
    "syntax": (("def low(view):", "def low(view:"), "syntax error", "def low"),
    "indentation": (("    return 3 in", "return 3 in"), "syntax error", "return 3 in"),
    "never closed": (("world = World", "world = [World"), "syntax error", "[World"),
    "import": (("class", "import not_here\n\nclass"), "install not_here", "import not_here"),
    "raising": (("def low(view):", "1 / 0\ndef low(view):"), "ZeroDivisionError", "1 / 0"),
    "exiting": (("def low(view):", "exit(0)\ndef low(view):"), "SystemExit: 0", "exit(0)"),
    "a member that raises": (("self.count += 1", "{}[event]"), "KeyError", "{}[event]"),
    "a member that exits": (("self.count += 1", "exit(0)"), "SystemExit: 0", "exit(0)"),
    "a member gives up": (("self.count += 1", "raise GeneratorExit"), "GeneratorExit", "raise"),
    "an endless one": (("self.count += 1", "self.receive(event)"), "RecursionError", "self.rec"),
    "no member": (("self.count = 0", "raise OSError('no disk')"), "OSError: no disk", "no disk"),
    "a module": (("self.count += 1", "import os; self.count = os"), "of a state", RECEIVE),
    "a thing": (("self.count += 1", "self.count = object()"), "by identity", RECEIVE),
    "a thing in itself": (
        ("self.count += 1", "x = []; x.append(x); self.count = x"),
        "holds itself",
        RECEIVE,
    ),
    "a new attribute": (("self.count += 1", "self.other = 1"), "comes or goes", RECEIVE),
    "no effect": (("self.count += 1", "return [5]"), "5 is not an effect", RECEIVE),
    "no choices": (('yield "count on"', "return 5"), "choices() raised TypeError", ""),
    "a forgotten yield": (('yield "count on"', '"count on"'), "write yield 'count on'", "count on"),
    "a method without self": (("choices(self)", "choices()"), "of all others self alone", ""),
    "a step that waits": (("def receive", "async def receive"), "without async", RECEIVE),
    "a class as effect": (
        ("self.count += 1", "from joinproto.check import Persist; return [Persist]"),
        "write Persist(...)",
        RECEIVE,
    ),
    "a function as attribute": (
        ("self.count = 0", "self.count = lambda: 0"),
        "hold a function of the module",
        "",
    ),
    "no such disk": (
        ("    def __init__", "    persistent = ['x']\n\n    def __init__"),
        "attributes are count",
        "",
    ),
    "a view's attribute": (("low(view):", "low(view):\n    view.a\n"), "view['a']", "view.a"),
    "compared as a whole": (("shows(self)", "state(self)"), "shown.NAME", "count <= 3"),
    "a claim without its name": (
        ('always("low", low)', "always(low)"),
        "name, holds",
        "always(low)",
    ),
    "a forgotten import": (
        ("world = World", "world = Together('x', {}) or World"),
        "import it",
        "",
    ),
    "a monitor that is called": (
        ("name=", "monitor=lambda a, b: a, name="),
        "no argument",
        DEFINED,
    ),
    "a claim that raises": (("count <= 3", "count.x"), "property 'low' raised", "count.x"),
    "a claim that exits": (("return 3", "exit(0) or 3"), "SystemExit: 0", "exit(0)"),
    "no maker": (('"b": Counter', '"b": Counter()'), "lambda: Counter(...)", DEFINED),
    "a list of members": (('{"a": Counter, "b": Counter}', '["a"]'), "expected a dict", DEFINED),
    "a number as name": (('{"a":', "{1:"), "a member is named 1", DEFINED),
    "a number as world's name": (('name="counters"', "name=5"), "name is 5", DEFINED),
    "a text as network": (("name=", 'network="bag", name='), "expected MessageSet()", DEFINED),
    "a dict as faults": (("name=", "faults={}, name="), "Faults(crashes=1)", DEFINED),
    "no splits": (("name=", "faults=Faults(splits=5), name="), "a tuple of", DEFINED),
    "an unknown start": (("name=", 'start="sideways", name='), '"up" or "down"', DEFINED),
    "a text as names": (("name=", 'interchangeable="ab", name='), "a list of texts", DEFINED),
    "a number as show": (("name=", "show=5, name="), "expected a function", DEFINED),
    "a value as claim": (('always("low", low)', 'always("low", True)'), "a function", DEFINED),
    "no claims": (
        ('[always("low", low), sometimes("three", three)]', "[]"),
        "no properties",
        DEFINED,
    ),
    "a monitor of numbers": (("name=", "monitor=lambda: 5, name="), "no method", DEFINED),
}


@pytest.mark.parametrize(("replace", "text", "line"), BAD.values(), ids=BAD.keys())
def test_a_bad_model_exits_2_with_file_and_line(
    run: Run, tmp_path: Path, replace: tuple[str, str], text: str, line: str
) -> None:
    """The mistakes are in the syntax, the members, the claims, or the arguments of `World`."""
    path = model(tmp_path, replace=replace)

    done = run(path)

    assert 2 == done.code
    assert text in done.err
    place = re.search(r"my_model\.py:(\d+): ", done.err)
    assert place is not None
    assert line in Path(path).read_text().splitlines()[int(place[1]) - 1]
    assert "" == done.out


WRONG = {
    "no world": ("", "defines no world"),
    "a number": ("world = 7\n", "world is a value of type int"),
    "nothing": ("def world():\n    return None\n", "the function returned None, not a World"),
    "a coroutine": ("async def world():\n    return None\n", "of type coroutine"),
    "a class": ("class world:\n    pass\n", "world is a class"),
    "raising": ("def world():\n    raise ValueError('no')\n", "world() raised ValueError: no"),
    "wanting more": ("def world(colour):\n    return None\n", "--set colour=..."),
    "out of range": ("world = World(faults={'crashes': -1})\n", "TypeError"),
}


@pytest.mark.parametrize(("world", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_file_without_a_world_is_refused_with_the_reason(
    run: Run, tmp_path: Path, world: str, text: str
) -> None:
    """The command exits 2 and names the file."""
    done = run(model(tmp_path, world=world))

    assert 2 == done.code
    assert text in done.err
    assert "my_model.py:" in done.err


def test_an_option_that_the_function_lacks_is_refused(run: Run, tmp_path: Path) -> None:
    """The message names the options that the function takes."""
    done = run(model(tmp_path, world=FUNCTION), "--crashes", "1")

    assert 2 == done.code
    assert "world() takes no --crashes" in done.err
    assert "it takes --members, --set top=..." in done.err


def test_a_value_that_the_function_cannot_use_is_reported_by_its_option(
    run: Run, tmp_path: Path
) -> None:
    """The file is right, so the message is about the command."""
    lossy = (
        FUNCTION.replace("top=3", "top=3, losses=None")
        .replace('name="counters",', 'name="counters", network=MessageBag(),')
        .replace("properties=", "faults=Faults(losses=losses or 0), properties=")
    )
    path = model(tmp_path, replace=("Faults,", "Faults, MessageBag,"), world=lossy)

    done = run(path, "--members", "3", "--set", "losses=x")
    both = run(path, "--set", "losses=x", "--set", "members=y")

    assert 2 == done.code
    assert "world() cannot be built with --set losses=x: Faults(losses='x')" in done.err
    expected = "expected a whole number from 0 on; without --set losses=x it can be built"
    assert expected in done.err
    assert "--set members=y does not fit: members must be a whole number" in both.err
    assert 0 == run(path, "--set", "losses=1").code


def test_a_function_that_fails_by_itself_is_not_blamed_on_an_option(
    run: Run, tmp_path: Path
) -> None:
    made = FUNCTION.replace('    low = always("low"', '    1 / 0\n    low = always("low"')

    done = run(model(tmp_path, world=made), "--members", "3")

    assert "world() raised ZeroDivisionError" in done.err
    assert "next: correct the file" in done.err


def test_the_private_name_of_the_file_is_not_shown(run: Run, tmp_path: Path) -> None:
    """A user knows my_model.py, and not the name under which its module is loaded."""
    thing = "class Thing:\n    pass\n\n\nclass Counter:"
    for mistake, message in (
        ("self.count = Thing()", "a my_model.Thing cannot be part of a state"),
        ("return [Thing()]", "<my_model.Thing object at"),
        ("raise SystemExit(Thing)", "<class 'my_model.Thing'>"),
    ):
        path = model(tmp_path, replace=("self.count += 1", mistake))
        text = Path(path).read_text().replace("class Counter:", thing)
        Path(path).write_text(text)

        done = run(path)

        assert 2 == done.code
        assert message in done.err
        assert "@" not in done.err


def test_an_option_for_a_fixed_world_is_refused(run: Run, tmp_path: Path) -> None:
    """The message shows the function to write."""
    done = run(model(tmp_path), "--members", "3")

    assert 2 == done.code
    assert "next: make it a function: def world(*, members): ..." in done.err


def test_a_path_that_is_no_readable_file_is_refused(run: Run, tmp_path: Path) -> None:
    """There is no such file, or the path is a folder, a device, or too long."""
    for path, text in (
        (tmp_path / "gone.py", "there is no file"),
        (tmp_path, "is a folder"),
        ("/dev/null", "is not a regular file"),
        ("x" * 5000 + ".py", "cannot be read"),
    ):
        done = run(str(path))

        assert 2 == done.code
        assert text in done.err


def test_a_model_with_bytes_that_are_not_text_is_refused(run: Run, tmp_path: Path) -> None:
    for content in (b"x = 1\ny = '\xff'\n", b"x = '\0'\n"):
        (tmp_path / "my_model.py").write_bytes(content)
        done = run(str(tmp_path / "my_model.py"))

        assert 2 == done.code
        assert "my_model.py:" in done.err


def test_an_error_in_an_imported_file_is_reported_with_its_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "my_model.py"
    path.write_text("import the_neighbour\n" + MEMBER + WORLD)
    (tmp_path / "the_neighbour.py").write_text("\n1 / 0\n")
    raising = run(str(path))
    (tmp_path / "the_neighbour.py").write_text("\n\nx = (\n")
    wrong = run(str(path))

    assert "the_neighbour.py:2: loading the file raised ZeroDivisionError" in raising.err
    assert "the_neighbour.py:3: syntax error" in wrong.err


def test_a_bug_of_joinproto_is_not_blamed_on_the_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code 10 is only for a bug of joinproto, which is never reported as a bad model."""

    def broken(search: object, began: float) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(import_module("joinproto.check.plain").PlainSearch, "run", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    done = run(model(tmp_path))

    assert 10 == done.code
    assert "this is a bug in joinproto" in done.err


def test_a_file_can_be_loaded_without_the_command(tmp_path: Path) -> None:
    """A notebook gets the same world and the same errors."""
    path = model(tmp_path, world=FUNCTION)

    found = load_file(path, {"members": 3})

    assert 3 == len(found.world.members)
    with pytest.raises(ModelProblem, match="takes no --crashes"):
        load_file(path, {"crashes": 1})


# -- values of --set ---------------------------------------------------------------------

TYPED = """
from typing import Literal
import enum
from joinproto.check import World, sometimes

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

class M:
    def __init__(self, seen):
        self.seen = seen
    def receive(self, event):
        return None

def world(
    fair: bool = True,
    most: int = 1,
    share: float = 0.5,
    name="n",
    guessed=False,
    way: Literal["up", "down"] = "up",
    colour: Colour = Colour.RED,
    least: int | None = None,
    pair=(1, 2),
    any=None,
):
    seen = (fair, most, share, name, guessed, way, colour.name, least, pair, any)
    return World(name="w", members={"a": lambda: M(repr(seen))}, properties=[
        sometimes("seen", lambda view: view["a"].seen == WANTED)])
"""


@pytest.mark.parametrize(
    ("words", "place", "value"),
    [
        ("fair=false", 0, False),
        ("fair=no", 0, False),
        ("fair=1", 0, True),
        ("most=7", 1, 7),
        ("share=2", 2, 2.0),
        ("name=7", 3, "7"),
        ("guessed=true", 4, True),
        ("way=down", 5, "down"),
        ("colour=blue", 6, "BLUE"),
        ("least=3", 7, 3),
        ("least=none", 7, None),
        ("pair=(3, 4)", 8, (3, 4)),
        ("any=[1]", 9, [1]),
        ("any=x", 9, "x"),
    ],
)
def test_a_value_has_the_type_that_the_function_annotates(
    tmp_path: Path, run: Run, words: str, place: int, value: object
) -> None:
    """The annotation decides, or else the default: `fair=false` is False, and not a true text."""
    seen: list[object] = [True, 1, 0.5, "n", False, "up", "RED", None, (1, 2), None]
    seen[place] = value
    path = tmp_path / "typed.py"
    path.write_text(TYPED.replace("WANTED", repr(repr(tuple(seen)))))

    assert 0 == run(str(path), "--set", words).code


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fair=flase", "true or false"),
        ("most=1.5", "a whole number"),
        ("share=much", "a number"),
        ("guessed=2", "true or false"),
        ("way=left", "one of up, down"),
        ("colour=green", "one of red, blue"),
        ("least=x", "a whole number or none"),
        ("pair=3", "a value of type tuple"),
    ],
)
def test_a_value_that_does_not_fit_is_bad_usage(
    tmp_path: Path, run: Run, words: str, message: str
) -> None:
    path = tmp_path / "typed.py"
    path.write_text(TYPED.replace("WANTED", "None"))

    done = run(str(path), "--set", words)

    assert 2 == done.code
    assert f"--set {words} does not fit" in done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ((": Counter", ": Named"), "in a function: lambda: Named(...)"),
        (("properties=", "propertys="), "did you mean properties? World takes name, members"),
        (("import World, ", "import Wolrd, World, "), "did you mean World? correct the import"),
        (("from joinproto.check import", "from joinproto.chek import"), "did you mean check?"),
        (
            ("lambda view:", "lambda view, more:"),
            "the function takes the view alone: lambda view: ...",
        ),
        (("self.count += 1", "self.count += self.coun"), "did you mean count?"),
    ],
)
def test_the_error_for_a_usual_mistake_has_a_hint(
    run: Run, tmp_path: Path, change: tuple[str, str], hint: str
) -> None:
    path = tmp_path / "mistaken.py"
    path.write_text(MISTAKEN)
    assert 0 == run(str(path)).code

    path.write_text(MISTAKEN.replace(*change))
    done = run(str(path))

    assert 2 == done.code
    assert hint in done.err
    assert "violated" not in done.err


MISTAKEN = """
from joinproto.check import World, always


class Counter:
    def __init__(self):
        self.count = 0

    def choices(self):
        return ["count"] if self.count < 2 else []

    def receive(self, event):
        self.count += 1


class Named(Counter):
    def __init__(self, name):
        self.name = name
        self.count = 0


def world():
    return World(
        name="w",
        members={"a": Counter},
        properties=[always("few", lambda view: view["a"].count < 3)],
    )
"""
