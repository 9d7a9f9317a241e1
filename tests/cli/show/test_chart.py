"""The sequence chart on the terminal."""

import io
from collections import Counter
from collections.abc import Callable

import pytest
from attrs import fields
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from joinproto.check.report import Trace
from joinproto.cli.show.cells import width
from joinproto.cli.show.chart import chart
from joinproto.cli.show.glyphs import ASCII, BOXES, Glyphs, glyphs_for
from joinproto.cli.show.paint import paint_for
from joinproto.cli.show.pieces import Role, line, visible
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import closing, sentence, statements_of
from tests.cli.show import traces
from tests.cli.show.strategies import any_trace, texts

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("name", [name for name in traces.ALL if name != "odd"])
def test_the_chart_reads_as_expected(name: str, golden: Golden) -> None:
    """These are whole charts to be read; a change must make them easier to read."""
    golden(f"{name}.txt", chart(traces.ALL[name](), width=80))


@pytest.mark.parametrize("name", ["lasso", "split_and_heal", "odd"])
def test_the_chart_reads_in_ascii_too(name: str, golden: Golden) -> None:
    """On a terminal without box characters, no words are lost."""
    golden(f"{name}.ascii.txt", chart(traces.ALL[name](), width=80, glyphs=ASCII))


@given(any_trace(), st.integers(30, 130), st.sampled_from([BOXES, ASCII]))
def test_no_line_is_wider_than_asked(trace: Trace, columns: int, glyphs: Glyphs) -> None:
    """A chart is unreadable if a terminal breaks its lines."""
    text = chart(trace, width=columns, glyphs=glyphs)

    assert [] == [row for row in text.splitlines() if width(row) > columns]
    assert [] == [row for row in text.splitlines() if row != row.rstrip(" ")]


@given(any_trace())
def test_an_ascii_chart_has_only_ascii(trace: Trace) -> None:
    """Contents are escaped too, because otherwise the chart could not be written."""
    assert chart(trace, glyphs=ASCII).isascii()


@given(any_trace())
def test_no_character_moves_the_cursor(trace: Trace) -> None:
    """A content cannot clear the screen, ring the bell or reverse the line."""
    assert chart(trace).replace("\n", "").isprintable()


def test_every_statement_is_in_the_chart(trace: Trace) -> None:
    """The chart has every event, in order."""
    text = chart(trace, width=10_000)
    story = story_of(trace)
    wanted = [
        words.text
        for moment in story.moments[1:]
        for words in (sentence(moment, story), *statements_of(moment))
    ]

    at = 0
    for words in [*wanted, *(item.text for item in closing(story))]:
        at = text.index(words, at)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_narrow_chart_states_the_same_as_a_wide_one(trace: Trace, columns: int) -> None:
    """Breaking lines must not lose a character; only lifelines and names may repeat."""
    drawing = {str(getattr(BOXES, item.name)) for item in fields(Glyphs)}

    def characters(text: str) -> Counter[str]:
        rows = text.split("at first", 1)[1].splitlines()
        # Leave out rows of names: their number depends on the width.
        named = [row for row in rows if not set(row.split()) <= drawing | set(story.members)]
        return Counter(char for row in named for char in row if char not in drawing | {" "})

    story = story_of(trace)
    narrow, wide = characters(chart(trace, width=columns)), characters(chart(trace, width=4_000))
    # Long names are in rows of their own, among lifelines, and may be cut there.
    heads = Counter("".join(visible(name) for name in story.members) * 3 + "~" * 9)

    assert not (wide - narrow) - heads
    assert not (narrow - wide) - heads


def test_ten_members_have_their_lifelines_in_eighty_columns() -> None:
    names = [f"rm{number}" for number in range(1, 11)]
    run = traces.Run({name: {"state": "working"} for name in names})
    run.step("receive", "rm10", traces.message("rm1", None, "go"), now={"rm10": {"state": "up"}})

    row = next(row for row in chart(run.trace("any")).splitlines() if row.startswith("1 "))

    assert "├──┼──┼──┼──┼──┼──┼──┼──┼─►│" in row


def test_a_chart_of_too_many_members_has_no_lifelines() -> None:
    """The steps are a list, because the lifelines would not fit."""
    names = [f"m{number}" for number in range(40)]
    run = traces.Run({name: {"state": "working"} for name in names})
    run.step("stop", "m7", now={"m7": {"state": "stopped"}})

    rows = chart(run.trace("any")).splitlines()

    assert "1  m7: stop" in rows
    assert not any("│" in row for row in rows)


@given(texts)
@example("\U0001d360\u4dc0\u2630")  # wide since Unicode 16
def test_the_width_of_text_is_never_too_small(text: str) -> None:
    """The width is compared with that of a library that has tables of widths."""
    shown = visible(text)

    assert width(shown) >= cell_len(shown)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", BOXES), ("latin-1", ASCII), ("ascii", ASCII), ("unheard-of", ASCII)],
)
def test_the_glyphs_are_those_that_the_stream_can_write(encoding: str, expected: Glyphs) -> None:
    # A stream's own attribute is read-only; a subclass may have another.
    stream = type("Stream", (io.StringIO,), {"encoding": encoding})()

    assert expected is glyphs_for(stream)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_only_terminals_get_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets plain text, and so does a user who asked for no colour."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    assert paint_for(io.StringIO())("x", Role.CRASH) == "x"
    assert "\x1b[" in paint_for(Terminal())("x", Role.CRASH)

    monkeypatch.setenv("NO_COLOR", "1")

    assert paint_for(Terminal())("x", Role.CRASH) == "x"


def test_without_colours_the_chart_is_the_same_text(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text alone has everything that colours show."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    seen: list[str] = []

    def paint(text: str, _role: Role) -> str:
        seen.append(text)
        return text

    plain = chart(trace)

    assert plain == chart(trace, paint=paint)
    assert "".join(seen) == plain.replace("\n", "")


def test_empty_texts_add_no_pieces_to_a_line() -> None:
    assert line("", "").pieces == ()
