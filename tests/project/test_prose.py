"""Plain English in documents, and in all texts of Python files.

`mannered.txt` lists the exceptions, a line for each place and phrase; `--rewrite` writes the file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tools import prose

NAMED = Path(__file__).with_name("mannered.txt")


def mannered_phrases() -> Counter[str]:
    """Return each mannered phrase with its kind and place, and how often it occurs there."""
    return Counter(
        f"{kind}: {place}: {phrase.lower()}"
        for kind, texts in prose.KINDS.items()
        for place, phrases in prose.mannered(texts()).items()
        for phrase in phrases
    )


def exceptions() -> Counter[str]:
    """Return the exceptions."""
    lines = NAMED.read_text("utf-8").splitlines()
    return Counter({line.rpartition(" x ")[0]: int(line.rpartition(" x ")[2]) for line in lines})


def test_every_mannered_phrase_is_a_listed_exception(rewrite: bool) -> None:
    """Replace a new phrase by plain words, or add its line.

    Texts of joinproto/join are in event logs, so they stay: `joinproto validate` compares them with
    logs of earlier releases, word by word.
    """
    now = mannered_phrases()
    if rewrite:
        lines = [f"{name} x {times}\n" for name, times in sorted(now.items())]
        NAMED.write_text("".join(lines), "utf-8")

    assert {} == dict(now - exceptions())


READ_FIRST = [page for page in prose.pages() if not page.startswith("docs/decisions/")]
"""The pages that a reader may read first, so without the decision records."""


@pytest.mark.parametrize("page", READ_FIRST)
def test_no_sentence_of_a_page_s_first_lines_is_long(page: str) -> None:
    """A sentence has at most 40 words."""
    assert [] == prose.long_sentences(prose.pages()[page])


def test_a_mannered_phrase_and_a_long_sentence_are_found() -> None:
    """The tests above can fail."""
    assert {"page": ["Whoever"]} == prose.mannered({"page": "Whoever reads"})
    assert [] == prose.long_sentences("word " * 40)
    assert 1 == len(prose.long_sentences("word " * 41))


def test_code_and_outputs_do_not_count_as_prose() -> None:
    assert "a\n\nb\n" == prose.prose("a\n```\nnobody\n```\nb\n    nobody").replace("\n\n\n", "\n\n")


def test_names_do_not_count_as_prose() -> None:
    assert "  and the world " == prose.NAMES.sub("", "`nobody` --beside and the world nobody-keeps")


def test_documents_and_texts_of_python_files_are_found() -> None:
    """Without texts, no phrase would be found."""
    assert all(len(texts()) > 20 for texts in prose.KINDS.values())
    assert "Search a world breadth first" in prose.texts()["joinproto/cli/commands/check.py"]
