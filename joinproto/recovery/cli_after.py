"""`joinproto recover verify` and `rehearse`: after the restart, and before it is tried."""

from __future__ import annotations

import json
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click

from joinproto.errors import StoreUnreadable, UsageProblem, missing_extra
from joinproto.recovery.cli_look import judgement_of, judging, looking


@click.command(epilog="Example: joinproto recover verify --config node.toml")
@click.option("--config", required=True, help="The node's configuration.")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def verify(config: str, as_object: bool) -> int:
    """After the restart: ask the live members whether they are one cluster again."""
    path = Path(config)
    try:
        tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageProblem(
            f"{path}: cannot be read: {error.strerror or error}", next="check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{path}: is no TOML: {error}", next="mend the file") from error
    problem = "no member answers: this version has no way to ask a running one"
    after = "look at each member's own log; or stop all, and joinproto recover pick"
    if not as_object:
        raise StoreUnreadable(problem, next=after)
    tree = {"stores": [], "groups": [], "verdict": None, "latest": [], "evidence": [problem]}
    click.echo(json.dumps({**tree, "missing": [], "next": after}))
    return 1


@click.command(epilog="Example: joinproto recover rehearse a.info b.info c.info")
@looking()
@judging
def rehearse(
    words: tuple[str, ...],
    kind: str,
    positions: tuple[str, ...],
    cluster: str,
    transient: tuple[str, ...],
    lost: tuple[str, ...],
    as_object: bool,
) -> int:
    """Say what follows at the restart from each choice of stores and marks.

    Feeds these stores to the model checker, so it needs the extra `check`.
    """
    judgement = judgement_of(words, kind, positions, cluster, transient, lost)
    if find_spec("numpy") is None:
        problem = missing_extra(ModuleNotFoundError("numpy", name="numpy"))
        assert problem is not None
        raise problem
    raise UsageProblem(
        f"rehearse cannot feed {len(judgement.stores)} stores to the checker yet: worlds that"
        " begin with given stores are not built",
        next=f"joinproto recover pick {' '.join(words)}",
    )
