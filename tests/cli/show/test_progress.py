"""The live line of a long search."""

import io

from joinproto.check.engine.stopping import Tick
from joinproto.cli.show.progress import Progress


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def tick(seconds: float, generated: int = 1_000) -> Tick:
    """Return a tick at that time."""
    return Tick(
        level=9,
        distinct=123_456,
        generated=generated,
        frontier=4_321,
        rss_bytes=98_234_112,
        seconds=seconds,
    )


def test_the_progress_line_shows_how_far_the_search_is() -> None:
    """It has level, distinct and generated states, rate, states to expand, memory and time."""
    stream = Terminal()

    Progress(stream)(tick(2.0, generated=2_000_000))

    expected = "level 9: 123 k distinct of 2.00 M, 1.00 M/s, queue 4.32 k, 98.2 MB, 2.00 s"
    assert f"\r{expected}" == stream.getvalue()


def test_the_rate_is_that_of_the_last_seconds() -> None:
    """The rate of a search that slows down falls, however fast the search began."""
    stream = Terminal()
    progress = Progress(stream)

    for second in range(20):
        progress(tick(float(second), generated=1_000_000 if second < 10 else 1_000_000 + second))

    assert ", 1/s," in stream.getvalue().rsplit("\r", 1)[1]


def test_a_log_gets_a_line_every_ten_seconds() -> None:
    """Without a terminal no line is overwritten, and a short search writes nothing."""
    stream = io.StringIO()

    with Progress(stream) as progress:
        for second in range(25):
            progress(tick(float(second)))

    rows = stream.getvalue().splitlines()
    assert ["10.0 s", "20.0 s"] == [row.rsplit(", ", 1)[1] for row in rows]
    assert "\r" not in stream.getvalue()


def test_ticks_that_come_too_fast_are_left_out() -> None:
    """If a terminal wrote all the time, it would take more time than the search."""
    stream = Terminal()
    progress = Progress(stream)

    for hundredth in range(100):
        progress(tick(hundredth / 100))

    assert 10 == stream.getvalue().count("\r")


def test_a_shorter_line_overwrites_all_of_a_longer_one() -> None:
    """Blanks overwrite the rest: every terminal understands them."""
    stream = Terminal()
    progress = Progress(stream)

    for seconds, generated in ((1.0, 999_000_000), (2.0, 999_000_001), (9.0, 999_000_001)):
        progress(tick(seconds, generated))
    rows = stream.getvalue().split("\r")[1:]
    screen = ""
    for row in rows:
        screen = row + screen[len(row) :]

    assert len(rows[0]) > len(rows[-1].rstrip())
    assert rows[-1].rstrip() == screen.rstrip()


def test_the_progress_line_is_removed_when_the_search_ends() -> None:
    """The report begins at the place of the line."""
    stream = Terminal()

    with Progress(stream) as progress:
        progress(tick(1.0))

    _, line, blanks, rest = stream.getvalue().split("\r")

    assert (len(line) * " ", "") == (blanks, rest)


def test_the_progress_line_leaves_the_last_column_free() -> None:
    """Some terminals break the line after the last column."""
    stream = Terminal()

    Progress(stream)(tick(1e9, generated=10**15))

    assert len(stream.getvalue()) - 1 <= 79
