"""An etcd as the outside register of the view chain, and its faults.

Each node reaches the etcd by its own link, which can be cut for that node alone.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from attrs import define, field

from tools.boots.servers import Etcd, etcds
from tools.faults.proxy import Link

HOST = "127.0.0.1"
KINDS = ("register_kill", "register_hang", "register_cut")


def member(name: str) -> str:
    """Return the name under which a node is a member if it finds its peers by discovery."""
    return f"{name}@{HOST}"


@define(eq=False)
class Register:
    """The register.  `links`: node to its link."""

    etcd: Etcd
    links: dict[str, Link]
    _stack: ExitStack = field(factory=ExitStack)

    @classmethod
    def start(cls, top: Path, names: Iterable[str]) -> Register:
        """Start the register; raises `MissingProgram` if etcd is not installed."""
        with ExitStack() as stack:
            (top / "register").mkdir()
            (etcd,) = stack.enter_context(etcds(top / "register"))
            links = {name: Link(etcd.client) for name in names}
            for link in links.values():
                stack.callback(link.close)
            return cls(etcd, links, stack.pop_all())

    def tables(self, name: str) -> str:
        """Return the part of a node's file that names its peers and its register."""
        return "\n".join(
            [
                f'[discovery]\nbackend = "config"\nregister = "etcd"\nexpected = {len(self.links)}',
                "interval = 0.3\n[discovery.settings]",
                f"classic_config.nodes = {json.dumps([member(one) for one in self.links])}",
                f'etcd.endpoints = ["{HOST}:{self.links[name].port}"]\n',
            ]
        )

    def strike(self, kind: str, chance: random.Random, say: Callable[[str], None]) -> None:
        """Cause a fault of `KINDS`, and end it after some seconds."""
        seconds = chance.uniform(0.5, 5.0)
        if kind == "register_cut":
            cut = chance.sample(sorted(self.links), chance.randint(1, len(self.links)))
            say(f"register cut off from {' '.join(sorted(cut))}")
            for name in cut:
                self.links[name].cut()
        elif kind == "register_hang":
            say("SIGSTOP register")
            self.etcd.pause()
        else:
            say("kill -9 register")
            self.etcd.stop()
        time.sleep(seconds)
        self.heal()

    def heal(self) -> None:
        for link in self.links.values():
            link.heal()
        self.etcd.go_on()
        self.etcd.start()

    def close(self) -> None:
        self.etcd.go_on()
        self._stack.close()
