"""Lists the nodes of the backend that a file names: `joinproto discovery list FILE`."""

from __future__ import annotations

from typing import Annotated

import anyio
from attrs import frozen

from joinproto.apps.discovery.opened import opened
from joinproto.discovery.answers import Answer, Failed, Selected
from joinproto.discovery.chosen import chosen
from joinproto.discovery.contract import Variant
from joinproto.discovery.lint import LintInput
from joinproto.discovery.round import named


@frozen(kw_only=True)
class Listing:
    """The nodes that the backend lists."""

    backend: Annotated[str, "the backend that was asked"]
    nodes: Annotated[
        tuple[str, ...] | None, "the listed nodes, in the backend's order; null: not known"
    ]
    selected: Annotated[bool, "whether the backend names a single node, which all must join"]
    error: Annotated[str | None, "why the nodes are not known; null: they are known"]


def list_file(
    text: str | bytes,
    given: LintInput,
    *,
    variant: Variant = Variant.OURS,
    node: str | None = None,
) -> Listing:
    """Return the nodes of the backend that this `rabbitmq.conf` chooses.

    Nothing is written, and no lock is taken.  A server's error is in the answer.  Raises
    `UsageProblem` for a file with which no node starts.
    """
    found = chosen(text, given, variant=variant, node=node)

    async def asked() -> Answer:
        async with opened(found, locked=False) as port:
            return await port.list_nodes()

    answer = anyio.run(asked)
    error = answer.why if isinstance(answer, Failed) else None
    return Listing(
        backend=found.backend,
        nodes=named(answer) if error is None else None,
        selected=isinstance(answer, Selected),
        error=error,
    )
