"""A configuration from file and environment: values by key, and facts derived from them.

Source: discovery, D6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from joinproto.discovery import values
from joinproto.discovery.findings import Found, Problem, SettingEffect, Severity
from joinproto.discovery.keys import PREFIX, setting_of
from joinproto.discovery.releases import Release
from joinproto.discovery.rules import does

BACKEND = "peer_discovery_backend"
KEY_PREFIXES = {
    values.CLASSIC: "classic_config",
    values.DNS: "dns",
    values.AWS: "aws",
    values.K8S: "k8s",
    values.CONSUL: "consul",
    values.ETCD: "etcd",
}
"""The first part of the keys of each backend."""
PLUGINS = (values.AWS, values.K8S, values.CONSUL, values.ETCD)


def variable(environment: Mapping[str, str], name: str) -> str | None:
    """Return a variable of the node's environment, with or without the prefix RABBITMQ_."""
    return environment.get(f"RABBITMQ_{name}", environment.get(name)) if name else None


@frozen
class Configuration:
    """The values in force, by key without `cluster_formation.`.

    `lines`: the line of each key in the file, 0 for a key that the environment sets.  `written`:
    all keys, including keys that keep the node from starting.
    """

    release: Release
    node: str | None
    values: dict[str, Any]
    lines: dict[str, int]
    written: frozenset[str] = frozenset()
    statuses: dict[str, SettingEffect] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=dict)

    @classmethod
    def of(
        cls,
        found: Iterable[Found],
        release: Release,
        node: str | None,
        environment: Mapping[str, str] | None = None,
    ) -> Configuration:
        """Return the configuration of these settings; of two for one key, the later one counts.

        Ignored settings have a value, too.
        """
        short = {one.key.removeprefix(f"{PREFIX}."): one for one in found}
        told = {
            key: one
            for key, one in short.items()
            if one.status in (SettingEffect.ACCEPTED, SettingEffect.IGNORED)
        }
        return cls(
            release,
            node,
            {key: one.value for key, one in told.items()},
            {key: one.line for key, one in told.items()},
            frozenset(short),
            {key: one.status for key, one in told.items()},
            environment or {},
        )

    def get(self, name: str) -> Any:
        """Return the value of a key, or else its default in this release, or None."""
        if name in self.values:
            return self.values[name]
        setting = setting_of((PREFIX, *name.split(".")))
        if setting is None or (default := setting.default_at(self.release)) is None:
            return None
        return setting.kind(self.release).read(default)

    def below(self, prefix: str) -> dict[str, Any]:
        """Return all values below a prefix, by key."""
        return {name: one for name, one in self.values.items() if name.startswith(f"{prefix}.")}

    def problem(self, severity: Severity, name: str, why: str, next: str, rule: str) -> Problem:
        """Return a problem at a key."""
        line, key = self.lines.get(name, 0), f"{PREFIX}.{name}"
        return Problem(severity=severity, line=line, key=key, why=why, next=next, rule=rule)

    @property
    def backend(self) -> str:
        """Return the name of the backend's module, also if its plugin is named (since 3.8.5)."""
        name = str(self.get(BACKEND))
        module = name.replace("rabbitmq_", "rabbit_", 1)
        is_alias = does(self.release, "PLUGIN_NAMES") and module in PLUGINS
        return module if is_alias else name

    @property
    def key_prefix(self) -> str:
        """Return the first part of the keys of this backend, or "" for an unknown backend."""
        return KEY_PREFIXES.get(self.backend, "")

    @property
    def is_chosen(self) -> bool:
        """Return whether the file or the environment sets the nodes or the backend."""
        return bool(BACKEND in self.values or self.below("classic_config.nodes"))
