"""The commands that documents show: each is known with its options, and pages of models are run.

`python -m tools.docs` writes the outputs that documents show, and tests/tools/test_docs.py compares
them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from joinproto.cli.main import cli
from tools import docs

ROOT = Path(__file__).resolve().parents[2]
RUN = (
    *("docs/tutorial.md", "docs/model.md", "docs/ci.md"),
    *(f"docs/coming-from-{name}.md" for name in ("tla", "quint", "p", "promela")),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/how-to").glob("*.md"))),
)
"""Pages whose commands a reader can type unchanged, in the root of a checkout."""
NOT_RUN = ("old/my_model.py", "my_ring.py", "processes=10")
"""Parts of commands that are not run: files of the reader, and a search of a million states."""


NO_COMMAND = "joinproto view 1"
"""Not a command: the first bytes from which a view's id is made (join protocol 3.1)."""


def commands(text: str, *, also_inline: bool = True) -> Iterator[list[str]]:
    """Yield the words of each command `joinproto` in a page's indented lines and in backquotes."""
    joined = re.sub(r"\\\n\s*", "", text)
    inline = [" ".join(found.split()) for found in re.findall(r"(?<!`)`(joinproto [^`]+)`", text)]
    for line in [
        *re.findall(r"(?m)^ {4,}(?:[$#>] )?(joinproto .*)$", joined),
        *(inline if also_inline else ()),
    ]:
        # After the command there may be an explanation, a pipe or a file.
        bare = re.split(r"\s{2,}|\s[|>&;]", line)[0]
        if bare == NO_COMMAND:
            continue
        try:
            yield shlex.split(bare, comments=True)
        except ValueError:  # an output that begins with our name
            continue


def unknown_words(words: list[str]) -> list[str]:
    """Return the words of a command that joinproto does not know as a command or option."""
    at: click.Command = cli
    rest = words[1:]
    while isinstance(at, click.Group) and rest and not rest[0].startswith("-"):
        context = click.Context(at, info_name=rest[0])
        inner = at.get_command(context, rest[0])
        if inner is None:
            return [] if rest[0].isupper() or rest[0].endswith(":") else [rest[0]]
        at, rest = inner, rest[1:]
    if at.context_settings.get("ignore_unknown_options"):
        return []  # the world's own options
    known = {"-h", "--help", "--version"} | {
        name for option in at.params for name in (*option.opts, *option.secondary_opts)
    }
    given = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    return [word for word in given if word not in known]


@pytest.mark.parametrize("path", docs.documents(), ids=lambda path: str(path.name))
def test_every_command_is_known_with_its_options(path: Path) -> None:
    found = {shlex.join(it): unknown_words(it) for it in commands(path.read_text("utf-8"))}

    assert {} == {line: words for line, words in found.items() if words}


def test_an_unknown_command_or_option_is_found() -> None:
    """The test above can fail."""
    (first, second) = commands("    joinproto serach join\n    $ joinproto prove --fast  # so\n")

    assert ["serach"] == unknown_words(first)
    assert ["--fast"] == unknown_words(second)


def test_the_pages_show_over_150_commands() -> None:
    shown = [words for path in docs.documents() for words in commands(path.read_text("utf-8"))]

    assert len(shown) > 150


@pytest.mark.landing
@pytest.mark.parametrize("page", RUN)
def test_every_command_of_a_page_about_models_runs(page: str, tmp_path: Path) -> None:
    """The exit code is 0, or 1 if a claim is violated; commands in `NOT_RUN` are left out."""
    for name in ("docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    codes = {}
    for words in commands((ROOT / page).read_text("utf-8"), also_inline=False):
        line = shlex.join(words)
        if any(part in line for part in NOT_RUN) or any(word.isupper() for word in words):
            continue  # a word in capitals stands for the reader's own word
        expanded = [
            str(path.relative_to(ROOT)) if "*" in word else word
            for word in words[1:]
            for path in (sorted(ROOT.glob(word)) if "*" in word else [ROOT])
        ]
        done = subprocess.run(
            [sys.executable, "-m", "joinproto", *expanded],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        codes[line] = done.returncode

    assert {} == {line: code for line, code in codes.items() if code not in (0, 1)}
