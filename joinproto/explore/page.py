"""The page as one document with its style, script and data, and their hashes for a policy.

A browser that asks for one document shows it sooner than one that asks for fifteen files, and a
document that needs no other file also works from disk (`export.py`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from attrs import frozen

STATIC = Path(__file__).with_name("static")


@frozen
class Document:
    """A page's text, and the hashes of its style and its script for a policy (CSP)."""

    text: str
    style: str
    script: str


def document(entry: str, data: str, *, kind: str, head: str = "") -> Document:
    """Return the page that the module `entry` of the folder `static` starts.

    `data`: the text that the script finds in the element `data`, of the media type `kind`; the text
    must not contain `</script`.  `head`: another part of the document's head, in which `{style}`
    and `{script}` become hashes.
    """
    style = (STATIC / "explore.css").read_text(encoding="utf-8")
    script = bundled(entry)
    hashes = {"style": _hash(style), "script": _hash(script)}
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{head.format_map(hashes)}<link rel="icon" href="data:,">
<title>joinproto explore</title>
<style>{style}</style>
</head>
<body>
<div id="explore"><p class="loading">Loading the world…</p></div>
<noscript>This page needs JavaScript.</noscript>
<script type="{kind}" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
    return Document(text, **hashes)


def embedded(found: Any) -> str:
    """Return JSON that can stand in a script element, with any names in it."""
    return json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


_IMPORT = re.compile(r'^import \{ (.*) \} from "\./(.*)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const)) (\w+)", re.MULTILINE)


def bundled(entry: str) -> str:
    """Return the page's modules as one script: each is a function that returns its exports."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(source):
            add(other)
        body = _IMPORT.sub(lambda one: f"const {{ {one[1]} }} = of_{one[2]};\n", source)
        names = [name for _, name in _EXPORT.findall(body)]
        body = _EXPORT.sub(r"\1 \2", body)
        done[name] = (
            f"const of_{name} = (() => {{\n{body}\nreturn {{ {', '.join(names)} }};\n}})();"
        )

    add(entry)
    # The text of a script must not end it.
    return "\n".join(done.values()).replace("</script", "<\\/script")
