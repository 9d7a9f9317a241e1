"""docs/recovery.md agrees with the tool: picture, example, exit codes; and the output is narrow."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from joinproto.recovery import info
from joinproto.recovery.gather import gather
from joinproto.recovery.judgement import EXIT
from tests.cli.running import Done
from tests.recovery.asking import ask
from tests.recovery.disks import lay
from tests.recovery.page import PAGE, regenerate


def test_the_generated_parts_are_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rewrite: bool
) -> None:
    """`pytest tests/recovery --rewrite` writes them again."""

    def run(*words: str) -> Done:
        return ask(capsys, *words)

    text = PAGE.read_text("utf-8")
    made = regenerate(text, tmp_path, run)
    if rewrite:
        PAGE.write_text(made, "utf-8")
        return

    assert made == text


def test_every_exit_code_is_explained() -> None:
    """The codes of verdicts are in the table of the page."""
    text = PAGE.read_text("utf-8")

    for code in EXIT.values():
        assert f"\n| {code} | " in text


def test_the_output_fits_a_terminal_of_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At three in the morning it may be a console.  Only a command to type may be longer."""
    files = []
    for name, path in lay(
        tmp_path, "F C1:ab@F.5", a="C1 C1.6", b="C1 C1.7", c="F F.5 of F"
    ).items():
        raw = evolve(gather(path, host=f"broker-{name}.example.org"), path="/var/lib/broker/data")
        files.append(tmp_path / f"{name}.info")
        files[-1].write_text(info.write([raw], tool="0"))

    for words in (
        ("inspect", *files),
        ("compare", *files),
        ("pick", *files),
        ("pick", *files[::2]),
    ):
        lines = ask(capsys, *words).out.splitlines()

        long = [line for line in lines if len(line) > 80 and not line.startswith("next: joinproto")]
        assert [] == long, words
        assert any(line.startswith(("next:", "  signature")) for line in lines)


def test_ten_stores_are_not_repeated_in_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next command refers to them without repeating all names."""
    names = "abcdefghij"
    paths = lay(tmp_path, f"F:{names}", **dict.fromkeys(names, "F F.5"))

    done = ask(capsys, "pick", *paths.values())

    asked = "next: joinproto recover plan [the same 10 directories and files] -o plan.json"
    assert asked in done.out.splitlines()
