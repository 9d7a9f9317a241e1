"""HTML and SVG as values: any text that is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from joinproto.cli.show.pieces import Line, Piece, Role

EMPTY_ELEMENTS = {"circle", "img", "line", "link", "meta", "path", "rect"}
"""Elements without content: of HTML without an end tag, of SVG closed at once."""


class Markup(str):
    """Text that is markup; made only here, and by joining other markup."""

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
    """Return the parts one after another."""
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


TAGS = {Role.OLD: "del", Role.NEW: "ins", Role.MESSAGE: "code"}
"""Roles with a meaning of their own in HTML, so that a reader's voice tells them apart."""


def spoken(line: Line) -> Markup:
    """Return `line` as HTML, each piece with the class of its role."""
    return join(map(_spoken, line.pieces))


def _spoken(piece: Piece) -> Markup:
    if piece.role is Role.PLAIN:
        return text(piece.text)
    return element(TAGS.get(piece.role, "span"), piece.text, class_=piece.role.value)


def drawn(line: Line, **attributes: str | float) -> Markup:
    """Return `line` as SVG text."""
    pieces = (
        text(piece.text)
        if piece.role is Role.PLAIN
        else element("tspan", piece.text, class_=piece.role.value)
        for piece in line.pieces
    )
    return element("text", *pieces, **attributes)
