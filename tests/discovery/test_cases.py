"""Each command of the table of operators' cases (docs/discovery.md) runs, and shows its case."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.running import ROOT, run_apart, run_here

pytestmark = pytest.mark.landing

SHOWS = {
    1: "“one cluster” is violated after 8 steps",
    2: "“one cluster” is violated after 6 steps",
    3: "“one cluster” is violated after 8 steps",
    4: "it has no lock",
    5: "“one cluster” is violated after 6 steps",
    6: "“one cluster” is violated after 6 steps",
    7: "all are in one",
    8: "“one cluster” is violated after 6 steps",
    9: "“no keeper crashes” is violated after 2 steps",
    10: '"deed": "remove"',
    11: '"deed": "remove"',
    12: "holds",
    13: "every other node that is not seen is removed",
    14: "“one cluster” is violated after 10 steps",
    15: "holds",
    16: '"goes": ["pod-2"]',
    17: "holds",
    18: "1 nodes are listed, but 3 are expected",
    19: "“one cluster” is violated after 7 steps",
    20: "rabbit@c is not in its own list",
    21: '"step": "standalone"',
    22: '"step": "join"',
    23: "the code drops it before the client sees it",
    24: "holds",
}
"""A text that the output of each case's command contains."""
ROW = re.compile(r"^\| (\d+) \| .*? \| `joinproto ([^`]+)` \| .+ \|$", re.MULTILINE)


def commands() -> dict[int, str]:
    """Return the commands of the table, by case."""
    text = (ROOT / "docs" / "discovery.md").read_text("utf-8")
    return {int(number): command for number, command in ROW.findall(text)}


def test_all_24_cases_are_in_the_table() -> None:
    assert list(range(1, 25)) == sorted(commands()) == sorted(SHOWS)


@pytest.mark.parametrize("case", [case for case in SHOWS if case != 18])
def test_a_command_shows_its_case(
    case: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = run_here(capsys, *shlex.split(commands()[case]))

    assert done.code in (0, 1, 3), done.err
    assert SHOWS[case] in done.out


def test_case_18_a_node_that_gives_up_has_its_own_exit_code(tmp_path: Path) -> None:
    """The node waits, says for which nodes, and ends with code 3."""
    words = shlex.split(commands()[18])
    copy = tmp_path / "alone.toml"
    shutil.copy(ROOT / words[-1], copy)
    done = run_apart(*words[:-1], str(copy))

    assert 3 == done.code
    assert SHOWS[18] in done.err
