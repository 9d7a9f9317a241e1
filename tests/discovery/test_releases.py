"""Every pair of a setting and a release, against the schemas of the tagged releases.

`releases/settings.tsv` has the releases that accept each key, and `releases/tags.txt` all releases.
`tools/discovery_settings.py` makes the package's tables from them; these tests read them in another
way.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joinproto.discovery.findings import SettingEffect
from joinproto.discovery.keys import SETTINGS
from joinproto.discovery.lint import LintInput, lint
from joinproto.discovery.releases import Ages, Release, release
from tools.discovery_settings import TARGET, made

SOURCE = Path(__file__).parent / "releases"
TAGS = [tag for tag in (SOURCE / "tags.txt").read_text("utf-8").split("\n") if tag[:1].isdigit()]
SAMPLE = {
    "true or false": "true",
    "a text": "text",
    "disc or disk or ram": "disc",
    "words with commas between them": "a,b",
    "the name of a backend, or of a module": "classic_config",
}
"""A value of some kinds; for the other kinds, 7 or the first word is one."""


def rows() -> list[tuple[str, set[str]]]:
    """Return each key as the table writes it, with all releases that accept it."""
    found = []
    for line in (SOURCE / "settings.tsv").read_text("utf-8").splitlines()[1:]:
        key, *_, accepted = line.split("\t")
        found.append((key, {tag for part in accepted.split() for tag in tags_of(part)}))
    return found


def tags_of(part: str) -> list[str]:
    """Return the releases of a part as `3.10`, `3.8[3.8.4..]` or `4.2[4.2.0..4.2.7]`."""
    series, _, limits = part.rstrip("]").partition("[")
    tags = [tag for tag in TAGS if tag.rpartition(".")[0] == series]
    if not limits:
        return tags
    first, _, last = limits.partition("..")
    return tags[tags.index(first) : tags.index(last) + 1 if last else None]


def value_of(key: str, at: Release) -> str:
    """Return a value that the setting accepts."""
    setting = next(one for one in SETTINGS if one.key == re.sub(r"\$\w+", "$", key))
    about = setting.kind(at).about
    return SAMPLE.get(about) or ("7" if "number" in about or "port" in about else about.split()[0])


def test_every_pair_of_a_key_and_a_release_agrees_with_the_schemas() -> None:
    """There are 144 keys and 208 releases; the table has one known defect.

    Since 4.2.8 and 4.3.2 the schemas of Consul and etcd include their TLS keys from
    `ssl_options.partial` (all but `fail_if_no_peer_cert`, `dh` and `dhfile` for etcd).  The table
    does not follow this include, and lacks these keys, which are accepted.
    """
    table = rows()
    assert (144, 208) == (len(table), len(TAGS))
    differ = []
    for tag in TAGS:
        at = release(tag)
        text = "".join(
            f"{re.sub('[$][a-z]+', '1', key)} = {value_of(key, at)}\n" for key, _ in table
        )
        found = lint(text, LintInput(release=at)).settings
        for (key, accepted), one in zip(table, found, strict=True):
            if (one.status in (SettingEffect.ACCEPTED, SettingEffect.IGNORED)) is not (
                tag in accepted
            ):
                differ.append((key, tag))

    tails = {tag for tag in TAGS if (4, 2, 8) <= tuple(map(int, tag.split("."))) < (4, 3)}
    tails |= {tag for tag in TAGS if (4, 3, 2) <= tuple(map(int, tag.split(".")))}
    assert all(".ssl_options" in key and tag in tails for key, tag in differ)
    assert {tag for _, tag in differ} == tails


def test_the_shipped_table_is_made_from_the_source() -> None:
    assert made() == TARGET.read_text("utf-8")


def test_the_releases_that_accept_a_key_are_reported_with_all_backports() -> None:
    """The hint came with 3.8.24, 3.9.9 and 3.10."""
    text = "cluster_formation.target_cluster_size_hint = 3\n"

    (problem,) = lint(text, LintInput(release=release("3.8.14"))).problems

    assert "accepted since 3.8.24, 3.9.9 and 3.10: 3.8.14 does not start" == problem.why
    assert not lint(text, LintInput(release=release("3.8.24"))).problems
    assert not lint(text, LintInput(release=release("4.2"))).problems


@pytest.mark.parametrize(
    ("at", "holds"),
    [("3.8.3", False), ("3.8.4", True), ("3.8.99", True), ("3.9.0", True), ("4.1", False)],
)
def test_a_rule_holds_in_its_series_and_after_the_last_one(at: str, holds: bool) -> None:
    assert holds is Ages.read("3.8.4 3.9 !4.1").holds(release(at))


def test_a_backport_holds_only_in_its_own_series() -> None:
    ages = Ages.read("3.7.27 3.8.4 3.9")

    assert [True, False, True] == [ages.holds(release(at)) for at in ("3.7.28", "3.8.3", "3.10")]
    assert "since 3.7.27, 3.8.4 and 3.9" == str(ages)
