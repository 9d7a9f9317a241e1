"""`python -m tools.prose`: words written by hand, and mannered phrases, wherever a user reads them.

A user reads the documents, the help texts of commands, messages, and the docstrings of public
names.  Code, shown outputs and pages that a program writes do not count.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from joinproto.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
GENERATED = ("json.md", "api.md", "mutation.md")
PUBLIC = ("joinproto", "joinproto.check", "joinproto.simulating")
MESSAGES = ("joinproto", "spark_explore")
WORDS_OF_A_MESSAGE_MIN = 3
PHRASES = re.compile(
    r"\b(for who|from who|of who|so who|whoever|whom a |whose ballot|who has a|who is started"
    r"|who does not|who leaves|nobody|somebody|deeds?|strands?|the own|another one of"
    r"|beside(?!s)|says \[)\b",
    re.IGNORECASE,
)
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


def help_texts() -> dict[str, str]:
    """Return each command's help, as `--help` prints it."""
    return {f"joinproto {name}".strip(): text for name, text in _helps(cli, ())}


def _helps(one: click.Command, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    context = click.Context(one, info_name=" ".join(names))
    options = [getattr(option, "help", None) or "" for option in one.params]
    yield " ".join(names), "\n".join([one.help or "", one.epilog or "", *options])
    if isinstance(one, click.Group):
        for name in one.list_commands(context):
            inner = one.get_command(context, name)
            if inner is not None:
                yield from _helps(inner, (*names, name))


def messages() -> dict[str, str]:
    """Return what each file may print or raise: its texts of some words, docstrings left out."""
    found = {}
    for room in MESSAGES:
        for path in sorted((ROOT / room).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            told = [text for text in _texts(tree) if len(text.split()) >= WORDS_OF_A_MESSAGE_MIN]
            found[path.relative_to(ROOT).as_posix()] = "\n".join(told)
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    # A text that stands alone explains the name above it.
    docstrings |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if node not in docstrings and isinstance(node, ast.Constant) and type(node.value) is str:
            yield node.value


def docstrings() -> dict[str, str]:
    """Return the docstring of each public name, and those of its public methods."""
    found = {}
    for place in PUBLIC:
        module = importlib.import_module(place)
        for name in module.__all__:
            one = getattr(module, name)
            if not (inspect.isclass(one) or inspect.isfunction(one)):
                continue
            inner = vars(one).items() if inspect.isclass(one) else ()
            methods = [value for key, value in inner if not key.startswith("_")]
            found[f"{place}.{name}"] = "\n".join(inspect.getdoc(it) or "" for it in (one, *methods))
    return found


def mannered(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the mannered phrases of each text that has some."""
    found = {name: [one[0] for one in PHRASES.finditer(text)] for name, text in texts.items()}
    return {name: phrases for name, phrases in found.items() if phrases}


def long_sentences(text: str, *, lines: int = 40, most: int = 40) -> list[str]:
    """Return the sentences of a page's first `lines` lines that have more than `most` words.

    Tables and headings are no sentences; an item of a list begins a new one.
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
@click.option("--all", "show_all", is_flag=True, help="List the phrases of each place.")
def main(*, show_all: bool) -> None:
    """Count words written by hand, and mannered phrases."""
    written = pages()
    for name, text in sorted(written.items(), key=lambda page: -len(page[1].split())):
        click.echo(f"{len(text.split()):7,}  {name}")
    total = sum(len(text.split()) for text in written.values())
    click.echo(f"{total:7,}  words by hand")
    kinds = {
        "documents": written,
        "help texts": help_texts(),
        "messages": messages(),
        "docstrings": docstrings(),
    }
    for kind, texts in kinds.items():
        found = mannered(texts)
        click.echo(f"{sum(map(len, found.values())):7,}  mannered phrases in {kind}")
        for name, phrases in found.items() if show_all else ():
            click.echo(f"         {name}: {', '.join(phrases)}")


if __name__ == "__main__":
    main()
