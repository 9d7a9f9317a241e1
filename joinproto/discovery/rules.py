"""The rules of the releases: in which releases each holds, and its place in their code.

`rules.tsv` is the one table behind `lint`, `list`, `boot`, `would-it-split` and `ask discovery.*`;
the page docs/discovery.md prints it.  It names files of rabbitmq/rabbitmq-server at the release's
tag; plugins before 3.8.10 are in rabbitmq/rabbitmq-peer-discovery-*.  All releases from 3.7.0 to
4.3.5 were compared by their tags (discovery, D1 to D4).
"""

from __future__ import annotations

from attrs import frozen

from joinproto.discovery.releases import Ages, Release, rows


@frozen
class ReleaseRule:
    """A rule of some releases.

    `what`: the rule in words.  `source`: the file, and the text to search for in it.
    """

    ages: Ages
    what: str
    source: str


RULES = {
    name: ReleaseRule(Ages.read(ages), what, source)
    for name, ages, what, source in rows("rules.tsv")
}


def does(release: Release, rule: str) -> bool:
    """Return whether this release does what the rule of this name says."""
    return RULES[rule].ages.holds(release)
