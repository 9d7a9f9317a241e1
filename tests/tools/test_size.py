"""The size of the code: which lines and tokens count, and which files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.size import ROOT, main, size_of, wheel_folders

CODE = "def f(a):\n    x = (a,\n         1)\n    return x\n"
WORDY = '''"""What it is."""


def f(a):  # told
    """Why.

    More.
    """
    x = (a,

         # no code
         1)
    return x
'''


def test_comments_blank_lines_and_docstrings_are_not_counted() -> None:
    assert (4, 15) == size_of(CODE) == size_of(WORDY)


def test_the_same_code_in_fewer_lines_has_as_many_tokens() -> None:
    assert (3, 15) == size_of(CODE.replace("(a,\n         1)", "(a, 1)"))


def test_the_lines_of_a_string_that_is_no_docstring_are_counted() -> None:
    assert (3, 3) == size_of('TEXT = """one\n\nthree"""\n')


def test_every_module_of_the_wheel_is_counted_once() -> None:
    """The packages of pyproject.toml: joinproto, the worlds, the claims, Spark."""
    places = ("joinproto", "models/joinproto_worlds", "proofs/joinproto_claims", "spark_explore")
    carried = {file for place in places for file in (ROOT / place).rglob("*.py")}

    folders = wheel_folders()
    counted = [file for one in folders for file in (one.rglob("*.py") if one.is_dir() else [one])]

    assert sorted(carried) == sorted(counted)


def test_folders_are_printed_with_their_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "b.py").write_text("x = 1\n")

    main([str(tmp_path), str(tmp_path / "b.py")])

    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert [
        ["lines", "tokens", "files"],
        ["5", "18", "2"],
        ["1", "3", "1"],
        ["6", "21", "3"],
    ] == rows


def test_a_missing_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["nowhere"])
    assert ended.value.code == 2
    assert "no such folder or file: nowhere" in capsys.readouterr().err
