"""HTML and SVG as values: any text that is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from joinproto.cli.show.pieces import Line, Piece, Role

EMPTY_ELEMENTS = {"circle", "img", "line", "link", "meta", "path", "rect"}
"""Elements without content; they are written as `<name/>`."""


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


Child = str | Markup | None


def text(value: str) -> Markup:
    """Return `value` escaped, for a place between tags or within quotes."""
    if isinstance(value, Markup):
        return value
    # A lone surrogate cannot be written in any encoding; it is written as an escape.
    clean = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(html.escape(clean, quote=True))


def join(parts: Iterable[Child], between: str = "") -> Markup:
    """Return the parts one after another, with `between` between them."""
    return Markup(text(between).join(text(part) for part in parts if part is not None))


def element(name: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    `class_` is written class, `aria_label` aria-label; False and None leave an attribute
    out, True writes it without a value.
    """
    written = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in EMPTY_ELEMENTS:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-") if key != "viewBox" else key
    if value is True:
        return f" {name}"
    plain = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{text(plain)}"'


def table(
    heads: Iterable[str], rows: Iterable[Iterable[Child]], caption: str, *, kind: str = ""
) -> Markup:
    """Return a table; `kind`: another class for it."""
    top = element("tr", *(element("th", head, scope="col") for head in heads))
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element(
        "table",
        element("caption", caption),
        element("thead", top),
        element("tbody", *body),
        class_=f"list {kind}".rstrip(),
    )


def folded(title: str, content: Markup) -> Markup:
    """Return content that is shown when its title is clicked."""
    return element("details", element("summary", title), content, class_="fold")


def items(texts: Iterable[Child], kind: str | None = None) -> Markup:
    """Return a list."""
    return element("ul", *(element("li", one) for one in texts), class_=kind)


TAGS = {Role.OLD: "del", Role.NEW: "ins", Role.MESSAGE: "code"}
"""Roles for which HTML has an element, so that a screen reader tells them apart."""


def as_html(line: Line) -> Markup:
    """Return `line` as HTML, each piece with the class of its role."""
    return join(_piece(piece, TAGS.get(piece.role, "span")) for piece in line.pieces)


def as_svg_text(line: Line, **attributes: str | float) -> Markup:
    """Return `line` as SVG text."""
    return element("text", *(_piece(piece, "tspan") for piece in line.pieces), **attributes)


def _piece(piece: Piece, tag: str) -> Markup:
    if piece.role is Role.PLAIN:
        return text(piece.text)
    return element(tag, piece.text, class_=piece.role.value)
