"""`python -m tools.prose`: words written by hand, and mannered phrases, by page and file.

The program reads documents, and all texts of Python files: messages, help texts and docstrings.  It
leaves out code, shown outputs, and pages that a program writes.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
GENERATED = ("json.md", "api.md", "mutation.md")
FOLDERS = ("joinproto", "models", "proofs", "spark_explore", "tools")
ITSELF = "tools/prose.py"
PHRASES = re.compile(
    r"\b(for who|from who|of who|so who|whoever|whom a |whose ballot|who has a|who is started"
    r"|who does not|who leaves|nobody|somebody|deeds?|strands?|the own|another one of"
    r"|beside(?!s)|says \[)\b",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"`[^`]*`|--[\w-]+|\b\w+-[\w-]+\b|[\w./]+\.(?:py|pml)\b"
    r"|choose, from who [\w ]+|boot beside|set of nobody"
)
"""Names, which are not prose: quoted text, options, worlds, mistakes, files; and exceptions: three
labels of steps that proofs and mappings share, a kind of network, and a public class.
"""
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])")


def prose(text: str) -> str:
    """Return a page without its code, comments and shown outputs."""
    without = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"(?m)^    .*$", "", without)


def pages() -> dict[str, str]:
    """Return each document that is written by hand: its path, and its prose."""
    found = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in ROOT_PAGES)]
    return {
        path.relative_to(ROOT).as_posix(): prose(path.read_text("utf-8"))
        for path in found
        if path.name not in GENERATED
    }


def texts() -> dict[str, str]:
    """Return, for each Python file, its strings with a blank, without names."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", *FOLDERS],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return {
        name: NAMES.sub("", "\n".join(_texts((ROOT / name).read_text("utf-8"))))
        for name in listed
        if name.endswith(".py") and (ROOT / name).is_file() and name != ITSELF
    }


def _texts(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


KINDS = {"documents": pages, "texts": texts}


def mannered(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the mannered phrases of each text that has any."""
    found = {name: [one[0] for one in PHRASES.finditer(text)] for name, text in texts.items()}
    return {name: phrases for name, phrases in found.items() if phrases}


def long_sentences(text: str, *, lines: int = 40, most: int = 40) -> list[str]:
    """Return the sentences of a page's first `lines` lines that have more than `most` words.

    Tables and headings are not sentences; each item of a list begins a new sentence.
    """
    plain = "\n".join(
        "" if line.startswith(("|", "#", "<")) else re.sub(r"^\s*(?:[*-]|\d+\.) ", "\n\n", line)
        for line in text.split("\n")[:lines]
    )
    sentences = [
        sentence for part in re.split(r"\n\s*\n", plain) for sentence in SENTENCE.split(part)
    ]
    return [" ".join(one.split()) for one in sentences if len(one.split()) > most]


@click.command(epilog="Example: python -m tools.prose")
@click.option(
    "--all", "show_all", is_flag=True, help="List the mannered phrases of each page and file."
)
def main(*, show_all: bool) -> None:
    """Count words written by hand, and mannered phrases."""
    written = pages()
    for name, text in sorted(written.items(), key=lambda page: -len(page[1].split())):
        click.echo(f"{len(text.split()):7,}  {name}")
    total = sum(len(text.split()) for text in written.values())
    click.echo(f"{total:7,}  words by hand")
    for kind, made in KINDS.items():
        found = mannered(written if made is pages else made())
        click.echo(f"{sum(map(len, found.values())):7,}  mannered phrases in {kind}")
        for name, phrases in found.items() if show_all else ():
            click.echo(f"         {name}: {', '.join(phrases)}")


if __name__ == "__main__":
    main()
