"""The growth of a search on its page: the plot, the sums and the table."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from joinproto.check.report import Growth
from joinproto.cli.show.page_growth import growth, plot


def test_the_title_of_the_plot_describes_it() -> None:
    """A screen reader reads the title; the drawing is well-formed."""
    drawn = ET.fromstring(plot([1, 5, 30, 4]))

    assert "New states by level: the most, 30, at level 2 of 3" in ET.tostring(drawn, "unicode")


def test_a_run_of_one_level_can_be_drawn() -> None:
    ET.fromstring(plot([1]))


def test_only_levels_on_spark_have_costs() -> None:
    """Levels that were searched in this process exchanged no bytes."""
    levels = [Growth(0, 10), Growth(1, 30, "spark", 100, 2.0, 400, 800)]

    text = growth(levels)

    assert "1 of 2 levels on Spark, in 2.0 s of jobs" in text
    assert "10.0 bytes for each distinct state" in text


def test_a_local_run_has_no_cost_by_level() -> None:
    """A figure that was not measured is not shown as 0."""
    assert "on Spark" not in growth([Growth(0, 1), Growth(1, 2)])
