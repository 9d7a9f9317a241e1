"""The rules of the releases: the first and the last release with each, and the place in their code.

`rules.tsv` is the one table behind `lint`, `list`, `boot`, `would-it-split` and `ask discovery.*`;
the page docs/discovery.md prints it.  Files are those of rabbitmq/rabbitmq-server at the release's
tag; plugins before 3.8.10 stand in rabbitmq/rabbitmq-peer-discovery-*.  Releases were compared tag
by tag, 3.7.0 to 4.3.5 (discovery, D1 to D4).
"""

from __future__ import annotations

from attrs import frozen

from joinproto.discovery.releases import Ages, Release, rows


@frozen
class ReleaseRule:
    """One thing that some releases do.  `source`: the file, and the text to search for in it."""

    ages: Ages
    what: str
    source: str

    def holds(self, at: Release) -> bool:
        """Return whether this release does it."""
        return self.ages.holds(at)


RULES = {
    name: ReleaseRule(Ages.read(ages), what, source)
    for name, ages, what, source in rows("rules.tsv")
}

FIRST_ANSWER = RULES["FIRST_ANSWER"]
RETRIES = RULES["RETRIES"]
BY_NAME = RULES["BY_NAME"]
SORTED = RULES["SORTED"]
REGISTERS_FIRST = RULES["REGISTERS_FIRST"]
DELAY = RULES["DELAY"]
AWS_DELAY = RULES["AWS_DELAY"]
K8S_DELAY = RULES["K8S_DELAY"]
GLOBAL_LOCK = RULES["GLOBAL_LOCK"]
K8S_LOCK = RULES["K8S_LOCK"]
LOCKED_BOOT = RULES["LOCKED_BOOT"]
CONSUL_LOCK = RULES["CONSUL_LOCK"]
SELECTS = RULES["SELECTS"]
ETCD_V3 = RULES["ETCD_V3"]
ADDS_ITSELF = RULES["ADDS_ITSELF"]
NOT_READY = RULES["NOT_READY"]
PODS = RULES["PODS"]
AWS_STATES = RULES["AWS_STATES"]
PLUGIN_NAMES = RULES["PLUGIN_NAMES"]
CLEANUP_ONE = RULES["CLEANUP_ONE"]
CLEANUP_SKIPS = RULES["CLEANUP_SKIPS"]
