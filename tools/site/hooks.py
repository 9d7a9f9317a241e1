"""The hooks that MkDocs calls while it builds the site (`hooks` in mkdocs.yml).

Pages of the checkout's root and the examples are added to the pages of `docs/`, links are rewritten
for the site, and words of the glossary become links.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site import form, places, words
from tools.site.__main__ import mermaid

ASSETS = Path(__file__).with_name("assets")
DRAWN = re.compile(r"(?s)<pre class=\"mermaid\">.*?</pre>")


@event_priority(-50)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation: entries of folders get their pages, `*` gets pages without an entry."""
    nav: list[Any] = config.nav or []
    docs = Path(config.docs_dir)
    for folder in ("decisions", "policies"):
        inside = sorted(path.relative_to(docs).as_posix() for path in docs.glob(f"{folder}/*.md"))
        _replace(nav, f"{folder}/*", inside)
    named = set(_pages_in(nav))
    others = sorted(
        name
        for path in docs.rglob("*.md")
        if (name := path.relative_to(docs).as_posix()) not in {*named, "benchmarks-summary.md"}
    )
    _replace(nav, "*", others)
    # The plugin `offline` adds a script that would be fetched; our own script replaces it.
    config.extra["polyfills"] = ["assets/offline.js"]
    return config


def _pages_in(nav: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry
        found += _pages_in(inner) if isinstance(inner, list) else [inner]
    return found


def _replace(nav: list[Any], mark: str, names: list[str]) -> None:
    """Replace the entry `mark` by names; remove sections that are empty then."""
    if mark in nav:
        nav[nav.index(mark) : nav.index(mark) + 1] = names
    for entry in list(nav):
        if isinstance(entry, dict):
            (inner,) = entry.values()
            if isinstance(inner, list):
                _replace(inner, mark, names)
                if not inner:
                    nav.remove(entry)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, examples and incidents, and the site's own style and scripts."""
    for path in [file.src_uri for file in files]:
        # Each example gets its own page instead.
        if path.startswith("examples/"):
            files.remove(files.src_uris[path])
    for source, name in places.ROOT_PAGES.items():
        text = (places.ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for name, text in {**places.examples(), **places.incidents()}.items():
        files.append(File.generated(config, name, content=text))
    for name in ("site.css", "offline.js"):
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(ASSETS / name)))
    program = str(mermaid())
    files.append(File.generated(config, "assets/mermaid.min.js", abs_src_path=program))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page's text, rewritten for MkDocs and with links to the glossary."""
    name = page.file.src_uri
    if name.startswith(("examples/", "incidents/")):
        return markdown
    if name == "index.md":
        page.meta["hide"] = ["navigation"]
    text = places.relinked(form.adapted(markdown), name)
    if name == "incidents.md":
        text += places.incident_links()
    if name == "glossary.md":
        return words.anchored(text)
    if name in ("api.md", "check/api.md", "json.md", "changelog.md"):
        return text
    return words.linked(text, name, os.path.relpath("glossary.md", PurePosixPath(name).parent))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put each drawing into a box that scrolls on a narrow screen."""

    def box(found: re.Match[str]) -> str:
        kind = "drawing states" if "stateDiagram" in found[0] else "drawing"
        return f'<div class="{kind}">{found[0]}</div>'

    return DRAWN.sub(box, html)
