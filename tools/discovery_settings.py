"""Make `joinproto/discovery/settings.tsv`: every setting, and the releases that accept it.

    python -m tools.discovery_settings

The source is `tests/discovery/releases/`: the mappings of the schemas in the 208 tagged releases of
rabbitmq/rabbitmq-server (3.7.0 to 4.3.5; before 3.8.10 with the tags of the plugins' own
repositories, rabbitmq/rabbitmq-peer-discovery-*).  The table there has only the datatype of the
latest release; `CHANGED` below adds validators, and datatypes of earlier releases.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "tests" / "discovery" / "releases"
TARGET = ROOT / "joinproto" / "discovery" / "settings.tsv"

SHARED = {"4.2": "4.2.7", "4.3": "4.3.1"}
"""The last releases whose table has the TLS keys; later ones have them in `ssl_options.partial`."""

CHANGED = {
    "peer_discovery_backend": "backend",
    "aws.hostname_path": "words",
    "aws.hostname_path.$": "words",
    "node_type": "enum:disc,disk,ram 4.3:enum:disc,disk",
    "discovery_retry_limit": "positive 4.0.8:retries",
    "consul.port": "port",
    "consul.svc_port": "port",
    "randomized_startup_delay_range.max": "integer 3.8.18:string",
    "randomized_startup_delay_range.min": "integer 3.8.18:string",
    "k8s.token_path": "string 3.13.2:file",
    "k8s.namespace_path": "string 3.13.2:file",
    "k8s.cert_path": "string 3.13.2:file 4.3:pem",
    "quorum_queue.segment_max_entries": "short",
    **{f"k8s.tls.{one}": "file 4.3:pem" for one in ("cacertfile", "certfile", "keyfile")},
    **{
        f"{backend}.ssl_options.{one}": datatype
        for backend in ("consul", "etcd")
        for one, datatype in (
            ("depth", "byte"),
            ("dhfile", "file"),
            *((name, "file 4.3:pem") for name in ("cacertfile", "certfile", "keyfile")),
        )
    },
}


def datatype_of(key: str, found: str) -> str:
    """Return the datatype of a key in our words; `RELEASE:DATATYPE` holds from a release on."""
    short = key.removeprefix("cluster_formation.")
    if short in CHANGED:
        return CHANGED[short]
    if found.startswith("[tagged"):
        return "secret"
    if choice := re.search(r"enum, \[([^\]]*)\]", found):
        return f"enum:{choice[1].replace(' ', '')}"
    if number := re.search(r"integer, (\w+)", found):
        return number[1]
    return re.sub(r"\W", "", found.partition(",")[0])


def ages_of(accepted: str, tags: list[str]) -> str:
    """Return the releases from which each series accepts a key; `!SERIES`: it refuses the key."""
    ranges = dict(re.findall(r"([\d.]+)(\[\S+\])?", accepted))
    ages: list[str] = []
    is_open = False
    for series, group in groupby(tags, key=lambda tag: tag.rpartition(".")[0]):
        patches = list(group)
        first, last = patches[0], patches[-1]
        if series not in ranges:
            ages += [f"!{series}"] if is_open else []
            is_open = False
            continue
        since, _, until = ranges[series].strip("[]").partition("..")
        if until not in ("", last) and SHARED.get(series) != until:
            raise SystemExit(
                f"{series}{ranges[series]}: a patch release refuses the key; no file can say so"
            )
        if since in ("", first):
            ages += [] if is_open else [series]
            is_open = True
        else:
            ages.append(since)
    return " ".join(ages)


def made() -> str:
    lines = (SOURCE / "tags.txt").read_text("utf-8").splitlines()
    tags = [line for line in lines if not line.startswith("#")]
    rows = ["# made by tools/discovery_settings.py from the schemas of the tagged releases"]
    for line in (SOURCE / "settings.tsv").read_text("utf-8").splitlines()[1:]:
        key, plugin, variable, datatype, accepted = line.split("\t")
        shown = re.sub(r"\$\w+", "$", key)
        row = (shown, plugin, variable, datatype_of(shown, datatype), ages_of(accepted, tags))
        rows.append("\t".join(row))
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    TARGET.write_text(made(), "utf-8")
