"""The places of the checkout's files in the site, and their links there.

Besides `docs/`, the site has pages for four files in the checkout's root, for each file of
`docs/examples`, and for each incident among the worlds.  The page of an incident has other words
that people use for it, so that the site's search finds the page.
"""

from __future__ import annotations

import os
import re
from itertools import groupby
from pathlib import Path, PurePosixPath

from joinproto.cli.show.amounts import plural
from joinproto_worlds.incidents.entries import ENTRIES, incident_of

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".c": "c", ".service": "ini"}


def source_of(page: str) -> PurePosixPath:
    """Return the checkout's path of the source of a page."""
    for source, name in ROOT_PAGES.items():
        if name == page:
            return PurePosixPath(source)
    return PurePosixPath("docs", page)


def page_of(source: str) -> str | None:
    """Return the page for a path of the checkout; None if there is none."""
    if source in ROOT_PAGES:
        return ROOT_PAGES[source]
    if not source.startswith("docs/"):
        return None
    inside = source.removeprefix("docs/")
    if source == "docs/examples" or (
        source.startswith("docs/examples/") and (ROOT / source).is_dir()
    ):
        return f"{inside}/index.md"
    return f"{inside}.md" if source.startswith("docs/examples/") else inside


def relinked(text: str, page: str) -> str:
    """Return a page's text with links for the site.

    A link to a file that is not in the site becomes plain text.
    """
    source, here = source_of(page).parent, str(PurePosixPath(page).parent)

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, hash_, anchor = target.partition("#")
        place = page_of(os.path.normpath(source / path))
        if place is None:
            return words.removeprefix("[").removesuffix("]")
        return f"{words}({os.path.relpath(place, here)}{hash_}{anchor})"

    return LINK.sub(link, text)


def examples() -> dict[str, str]:
    """Return the pages of `docs/examples`: a page for each file, and a list for each folder."""
    top = ROOT / "docs" / "examples"
    pages = {}
    folders: dict[Path, list[Path]] = {top: []}
    for path in sorted(top.rglob("*")):
        if any(part.startswith(("data-", "__", ".")) for part in path.parts):
            continue
        folders[path.parent].append(path)
        if path.is_dir():
            folders[path] = []
            continue
        inside = path.relative_to(top.parent).as_posix()
        text = path.read_text(encoding="utf-8").rstrip()
        language = LANGUAGES.get(path.suffix, "text")
        pages[f"{inside}.md"] = (
            f"# {path.name}\n\n`docs/{inside}`\n\n````{language}\n{text}\n````\n"
        )
    for folder, paths in folders.items():
        name = folder.relative_to(top.parent).as_posix()
        lines = [
            f"* [{path.name}]({path.name}{'/index.md' if path.is_dir() else '.md'}){_about(path)}"
            for path in paths
        ]
        title = "Examples" if folder == top else folder.name
        pages[f"{name}/index.md"] = f"# {title}\n\n`docs/{name}`\n\n" + "\n".join(lines) + "\n"
    return pages


def _about(path: Path) -> str:
    """Return the first line of a Python file's docstring."""
    if path.suffix != ".py":
        return ""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return f": {first.strip(chr(34))}" if first.startswith('"""') else ""


def incidents() -> dict[str, str]:
    """Return a page for each incident: its story, other words for it, and its worlds."""
    pages = {}
    for name, items in groupby(ENTRIES, lambda item: incident_of(item.name)):
        worlds = list(items)
        first = worlds[0]
        lines = [
            f"* `{item.name}`: {item.about}; "
            + (
                item.expected
                if item.steps is None
                else f"violated after {plural(item.steps, 'step')}"
            )
            for item in worlds
        ]
        pages[f"incidents/{name}.md"] = (
            f"# {name}\n\n{first.happened}\n\nAlso: {first.spoken}.\n\n"
            f"    joinproto check {first.name}\n\n" + "\n".join(lines) + "\n\n"
            f"[Source]({first.link}). [All incidents](../incidents.md).\n"
        )
    return pages


def incident_links() -> str:
    """Return the links to these pages, for the page about all of them."""
    names = (PurePosixPath(page).stem for page in incidents())
    links = " · ".join(f"[{name}](incidents/{name}.md)" for name in names)
    return f"\n## A page for each incident\n\n{links}\n"
