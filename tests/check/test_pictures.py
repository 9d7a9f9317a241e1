"""A model's own pictures of states: in runs, on the terminal, in pages and in JSON."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from joinproto.__main__ import main
from joinproto.check import ModelProblem, World, always
from joinproto.check.check import check
from joinproto.check.plain import check_small
from joinproto.check.report import Report
from joinproto.check.simulate import simulate
from joinproto.cli.show.chart import chart
from joinproto.cli.show.page import page

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert({})</script></svg>'


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def choices(self) -> list[str]:
        return ["count on"] if self.count < 3 else []

    def receive(self, event: Any) -> None:
        self.count += 1


def bars(view: Any) -> str:
    return "\n".join(f"  {name} |{'#' * shown.count}" for name, shown in view.items())


def counting(picture: Any) -> World:
    small = always("small", lambda view: view["a"].count + view["b"].count < 3)
    members = {"a": Counter, "b": Counter}
    return World(name="counting", members=members, properties=[small], picture=picture)


def report(picture: Any) -> Report:
    return check(counting(picture))


def test_a_run_has_a_picture_of_each_state() -> None:
    found = report(bars)

    assert found.trace is not None
    assert found.trace.pictures == (
        "  a |\n  b |",
        "  a |#\n  b |",
        "  a |##\n  b |",
        "  a |###\n  b |",
    )
    assert found.properties[0].trace == found.trace
    drawn = simulate(counting(bars), runs=50).trace
    assert drawn is not None
    assert len(drawn.pictures) == len(drawn.steps) + 1


def test_the_terminal_shows_texts_with_their_blanks() -> None:
    found = report(bars)
    assert found.trace is not None

    rows = chart(found.trace, width=100).splitlines()

    assert "    a |" in rows
    assert [row for row in rows if row.endswith("    a |##")]


def test_the_terminal_leaves_svg_out() -> None:
    found = report(lambda view: SVG.format(view["a"].count))
    assert found.trace is not None

    assert "svg" not in chart(found.trace, width=100)


def test_a_page_shows_svg_as_an_image_in_which_no_script_runs() -> None:
    """The page's policy allows only data images; a script in a picture stays in its image."""
    found = report(lambda view: SVG.format(view["a"].count))

    shown = page(found)

    story = shown[shown.index('class="story"') : shown.index('class="closing"')]
    assert "<script>alert" not in story
    images = re.findall(r'<img class="picture" src="data:image/svg\+xml;base64,([^"]+)"', story)
    assert [SVG.format(count) for count in range(4)] == [
        base64.b64decode(image).decode() for image in images
    ]
    assert "default-src 'none'; img-src data:;" in shown


def test_a_page_escapes_texts() -> None:
    shown = page(report(lambda view: "<b>\n\u202ebold"))

    assert '<pre class="picture">&lt;b&gt;\n\\u202ebold</pre>' in shown


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (lambda view: 3, "returned a value of type int"),
        (lambda view: view["c"], "asks for 'c'"),
        ("text", "picture is a value of type str"),
    ],
)
def test_a_picture_that_is_not_a_text_or_fails_is_reported(picture: Any, expected: str) -> None:
    with pytest.raises(ModelProblem, match=expected):
        report(picture)


def test_plain_python_and_the_engine_draw_the_same_pictures() -> None:
    small = check_small(counting(bars))

    assert small is not None
    assert check(counting(bars)).trace == small.trace


MODEL = """
from joinproto.check import World, always


class Lamp:
    def __init__(self):
        self.lit = False

    def choices(self):
        yield "switch"

    def receive(self, event):
        self.lit = not self.lit


def world():
    dark = always("dark", lambda view: not view["lamp"].lit)
    return World(
        name="lamp",
        members={"lamp": Lamp},
        properties=[dark],
        picture=lambda view: "(*)" if view["lamp"].lit else "( )",
    )
"""


def test_the_command_shows_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "lamp.py"
    model.write_text(MODEL)

    assert main(["check", str(model)]) == 1
    assert "(*)" in capsys.readouterr().out
    assert main(["check", str(model), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["pictures"] == ["( )", "(*)"]
