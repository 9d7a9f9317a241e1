"""Help texts, messages and docstrings say who does what, in plain words."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("joinproto", "models", "proofs", "spark_explore", "tools")
PHRASES = re.compile(
    r"\b(for who|from who|of who|so who|whoever|whom a |whose ballot|who has a|who is started"
    r"|who does not|who leaves|nobody|somebody|deeds?|strands?|the own|another one of"
    r"|beside(?!s))\b",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"`[^`]*`|--[\w-]+|\b\w+-[\w-]+\b|[\w./]+\.(?:py|pml)\b"
    r"|choose, from who [\w ]+|boot beside|set of nobody|StateTransfer Strand"
)
"""Names are no prose: what is quoted, options, worlds, mistakes, files; and the exceptions: three
labels of steps that proofs and mappings share, a kind of network, and a public class."""
LOGGED = {
    *(f"joinproto/join/{name}.py" for name in ("admission", "answers", "awaiting", "succession")),
    "models/joinproto_worlds/mutations/succeeding.py",
}
"""Files whose texts stand in event logs: `joinproto validate` compares them with logs of earlier
releases, word by word.  Their docstrings are looked at all the same."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that have a blank, with their lines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def found_in(text: str) -> list[str]:
    """Return the phrases of a text, names left out."""
    return PHRASES.findall(NAMES.sub("", text))


def test_no_mannered_phrase_is_left() -> None:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", *ROOMS],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = [
        f"{name}:{line}: {phrase}"
        for name in listed
        if name.endswith(".py") and (ROOT / name).is_file() and name != "tools/prose.py"
        for line, text in texts(ROOT / name)
        if name not in LOGGED or "\n" in text or text.endswith(".")
        for phrase in found_in(text)
    ]

    assert [] == found


def test_a_mannered_phrase_is_found() -> None:
    """The test above can fail; names are no prose."""
    assert ["nobody", "whoever"] == found_in("Nobody knows it, whoever asks.".lower())
    assert [] == found_in("`nobody`, --beside, and the world nobody-keeps-it")
