"""`joinproto recover verify`, for after the restart, and `rehearse`, for before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from joinproto.codec.json_form import printed
from joinproto.recovery import show, verification
from joinproto.recovery.cli_look import AS_OBJECT, judgement_of, judging_options, reading_options
from joinproto.recovery.found import Format
from joinproto.recovery.gather import gather, read
from joinproto.recovery.live import Live, ask
from joinproto.recovery.node_file import NodeFile, read_node_file
from joinproto.recovery.own import contents_of
from joinproto.recovery.sources import this_host
from joinproto.recovery.verification import AskedMember
from joinproto.recovery.writing import last_permission


@click.command(epilog="Example: joinproto recover verify --config node.toml")
@click.option(
    "--config",
    "configs",
    required=True,
    multiple=True,
    help="The configuration file of a node on this machine; may be repeated.",
)
@AS_OBJECT
def verify(configs: tuple[str, ...], as_object: bool) -> int:
    """After the restart: ask the live members whether they are one cluster again.

    Asks each node at its control socket, and looks at its store; changes nothing.  Exit code:
    0 the cluster runs; 1 no member answers; 3 different clusters; 4 two branches; 5 not yet.
    """
    nodes = [read_node_file(Path(config)) for config in dict.fromkeys(configs)]
    found = verification.verify([_ask_member(node) for node in nodes])
    if as_object:
        click.echo(printed(verification.result_of(found)))
    else:
        click.echo(show.verification_text(found))
    return found.code


def _ask_member(node: NodeFile) -> AskedMember:
    said = ask(node.control)
    store = read(gather(node.data, host=this_host(), kind=Format.JOINPROTO))
    contents = contents_of(store)
    return AskedMember(
        node=node,
        live=said if isinstance(said, Live) else None,
        problem=said if isinstance(said, str) else "",
        store=store,
        mark=None if contents is None else last_permission(contents),
    )


@click.command(epilog="Example: joinproto recover rehearse a.info b.info c.info")
@reading_options()
@judging_options
@click.option(
    "--max-states",
    "states_max",
    type=click.IntRange(min=1),
    default=300_000,
    show_default=True,
    help="End the search of a choice after this many states.",
)
@click.pass_obj
def rehearse(body: Callable[..., int], /, states_max: int, as_object: bool, **asked: Any) -> int:
    """Show the possible outcomes of the restart for each choice of marks.

    Starts the real members or brokers from these stores in the model checker, in every order of
    events; changes nothing.  It needs the extra `check`.  Exit code: 0 no choice can lose a frame
    or message that may have been acknowledged; 5 a choice can, the search is incomplete, or the
    store of a broker is not here.
    """
    judgement = judgement_of(command="rehearse", **asked)
    # The search is not a part of the recovery tool, which must run with the base install only.
    return body(judgement, outside=asked["register"], states_max=states_max, as_object=as_object)
