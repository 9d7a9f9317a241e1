"""Every label that a decision table or a docstring cites is in a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from joinproto.join.awaiting import awaiting
from joinproto.machine.tables import SILENT, Table
from joinproto_claims.tables import shipped

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("joinproto", "models", "proofs", "spark_explore", "tools")
TABLES: dict[str, Table[Any]] = {item.table.name: item.table for item in shipped()} | {
    awaiting().name: awaiting()
}
DOCUMENTS = {
    "chain": "protocol.md",
    "note": "protocol.md",  # its rules are the first section there
    "qpid": "note.md",
    "recover": "recovery.md",
    **{name: f"{name}.md" for name in ("clusterer", "discovery", "reconcile", "standby")},
}

NUMBER = re.compile(r"\b\d(?:\.\d)?\b")
RULE = re.compile(r"\b[WIJSPR]\d\b")
CITED = re.compile(r"join protocol,? (?:sections? )?(\d[^;:\n`]*)((?:; rules[^`\"]*)?)")


def anchors(document: str) -> set[str]:
    """Return the numbers of a document's sections, and the labels in its tables and drawings.

    A table is Markdown, or text in columns that a program writes.
    """
    text = (ROOT / "docs" / document).read_text()
    sections = re.findall(r"(?m)^#+ (\d(?:\.\d)?)\.? ", text)
    rows = re.findall(r"(?m)^\| (?:<a id=\"\w+\"></a>)?([\w ]+?) \|", text)
    rows += re.findall(r"(?m)^([A-Z]\d+|\d\.\d|silent)  +\S", text)
    rows += re.findall(r"(?m) \| (\d|in use) \|$", text)  # or in the last column
    drawn = re.findall(r"<br/>([\w ]+): ", text)
    return {*sections, *(drawn or rows), SILENT}


def missing_labels(labels: Iterable[str], document: str) -> set[str]:
    return set(labels) - anchors(document)


def citations() -> Iterator[tuple[str, set[str]]]:
    """Yield each place that cites the join protocol, and the cited sections and rules."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for found in CITED.finditer(path.read_text()):
                numbers, rules = found.groups()
                name = f"{path.relative_to(ROOT)}: {found.group()[:60]}"
                yield name, {*NUMBER.findall(numbers), *RULE.findall(rules)}


@pytest.mark.parametrize("name", TABLES)
def test_the_label_of_every_case_is_in_its_document(name: str) -> None:
    """Logs, traces and messages cite the label."""
    document = DOCUMENTS[name.partition("-")[0]]

    assert set() == missing_labels((case.label for case in TABLES[name].cases), document)


def test_sections_and_rules_that_the_code_cites_are_in_the_protocol() -> None:
    cited = dict(citations())

    assert len(cited) > 20
    assert {} == {
        name: found for name, of in cited.items() if (found := missing_labels(of, "protocol.md"))
    }


def test_an_unknown_section_or_rule_is_found() -> None:
    """The tests above can fail."""
    assert {"3.99", "I9"} == missing_labels(["3.4", "3.99", "I8", "I9"], "protocol.md")
