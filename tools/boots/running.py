"""A node in its own process, which is forked from one that has loaded all modules."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from joinproto.apps.node.process import run_node
from joinproto.apps.node.reporting import log_to_stderr
from joinproto.apps.node.settings import read_settings
from joinproto.errors import JoinprotoError
from joinproto.host.process.exits import BUG
from tools.boots.spaces import enter


def run(
    config: str, log: str, environment: Mapping[str, str], namespace: str | None = None
) -> None:
    """Run a node with this configuration file; its output goes to the file `log`."""
    os.environ.update(environment)
    if namespace is not None:
        enter(namespace)
    with Path(log).open("a", encoding="utf-8") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            settings = read_settings(Path(config))
            log_to_stderr(settings.config.member, verbose=False)
            code = run_node(settings)
        except JoinprotoError as error:
            logging.getLogger("joinproto.node").error("%s; next: %s", error.message, error.next)
            code = error.code
        except Exception:  # noqa: BLE001  a process ends here, and reports the error
            traceback.print_exc()
            code = BUG
    sys.exit(code)
