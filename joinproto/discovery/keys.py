"""Every setting of discovery and of quorum queues: its kind, default, variable, and releases.

`settings.tsv` has the rules of the tagged releases' schemas: the key (a part `$` stands for any
label), the plugin that knows it, the name in Erlang terms, the datatype, and the releases that
accept it.  `tools/discovery_settings.py` makes this table.  `settings_code.tsv` tells how the
releases' code uses the value: its default, the environment variable that overrides it, and the
releases whose code does not read it (discovery, D6).
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.discovery.findings import SettingEffect
from joinproto.discovery.releases import Ages, Release, at_release, rows
from joinproto.discovery.values import Kind, kind_of

PREFIX = "cluster_formation"
ROOTS = (PREFIX, "quorum_queue", "cluster_nodes")
"""First parts of keys below which every setting is known, so any other key is refused.

`cluster_nodes` is not a key, but a name in Erlang terms.
"""


class Owner(Enum):
    """The owner of a key: the server itself, or a plugin that must be enabled."""

    CORE = "rabbit"
    COMMON = "rabbitmq_peer_discovery_common"
    AWS = "rabbitmq_peer_discovery_aws"
    K8S = "rabbitmq_peer_discovery_k8s"
    CONSUL = "rabbitmq_peer_discovery_consul"
    ETCD = "rabbitmq_peer_discovery_etcd"
    AWS_LIBRARY = "rabbitmq_aws"


@frozen(kw_only=True)
class Setting:
    """One setting, by its key.

    `owner`: the plugin that knows it, or the server.  `term`: its name in Erlang terms, with dots.
    `ages`: the releases that accept it.  `datatype`, `default`: the texts for `at_release`, because
    they may differ by release.  `variable`: its name in the environment, with or without
    `RABBITMQ_`, or "".  `idle`: the releases that accept it but do not read it, for the reason
    `why_idle`.
    """

    key: str
    owner: Owner
    term: str
    datatype: str
    ages: Ages
    default: str = ""
    variable: str = ""
    idle: Ages | None = None
    why_idle: str = ""

    @property
    def short(self) -> str:
        """Return the key without `cluster_formation.`."""
        return self.key.removeprefix(f"{PREFIX}.")

    def kind(self, at: Release) -> Kind:
        """Return the kind of values that this release accepts."""
        return kind_of(at_release(self.datatype, at))

    @property
    def term_kind(self) -> Kind:
        """Return the kind of values that the code reads from Erlang terms; no schema checks it."""
        first = self.datatype.partition(" ")[0]
        if first in ("boolean", "words", "retries"):
            return kind_of(first)
        is_number = first in ("positive", "non_negative", "byte", "short", "port", "integer")
        return kind_of("integer" if is_number else "string")

    @property
    def is_secret(self) -> bool:
        return self.datatype == "secret"

    def status(self, at: Release) -> tuple[SettingEffect, str]:
        """Return the key's status in this release, and the reason."""
        if not self.ages.holds(at):
            return SettingEffect.UNKNOWN, f"accepted {self.ages}"
        if self.idle is not None and self.idle.holds(at):
            return SettingEffect.IGNORED, self.why_idle
        return SettingEffect.ACCEPTED, ""

    def default_at(self, at: Release) -> str | None:
        """Return the default in this release, or None."""
        return at_release(self.default, at) or None


def _settings() -> tuple[Setting, ...]:
    code = {row[0]: row[1:] for row in rows("settings_code.tsv")}
    found = []
    for key, owner, term, datatype, ages in rows("settings.tsv"):
        nothing = ["", "", "", ""]
        default, variable, idle, why = code.get(key.removeprefix(f"{PREFIX}."), nothing)
        found.append(
            Setting(
                key=key,
                owner=Owner(owner),
                term=term,
                datatype=datatype,
                ages=Ages.read(ages),
                default=default,
                variable=variable,
                idle=Ages.read(idle) if idle else None,
                why_idle=why,
            )
        )
    return tuple(found)


SETTINGS = _settings()

_BY_PARTS: dict[tuple[str, ...], Setting] = {tuple(one.key.split(".")): one for one in SETTINGS}
_LABELLED = {parts[:-1]: one for parts, one in _BY_PARTS.items() if parts[-1] == "$"}


def setting_of(parts: tuple[str, ...]) -> Setting | None:
    """Return the setting of a key, None if no release knows the key."""
    return _BY_PARTS.get(parts) or _LABELLED.get(parts[:-1])
