"""The answer of a backend: a list of nodes, one node, or an error.

An error is never the same as an empty list.

Source: discovery, D1.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Listed:
    """All nodes that the backend knows, in its order; an empty list is an answer, too."""

    nodes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.nodes) or 'no node'} listed"


@frozen
class Selected:
    """The one node that the backend has selected; all must join it."""

    node: str

    def __str__(self) -> str:
        return f"{self.node} selected"


@frozen
class Failed:
    """The backend could not be asked, or its answer could not be read."""

    why: str

    def __str__(self) -> str:
        return f"no answer: {self.why}"


Answer = Listed | Selected | Failed
