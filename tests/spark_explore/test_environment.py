"""Missing requirements of Spark, and the number of cores of a master."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.errors import EnvironmentProblem
from spark_explore import session


def test_without_java_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The exit code is 4; the advice names a package, and the local engine, which needs no Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EnvironmentProblem, match="Java was not found") as caught:
        session.need_java()

    assert 4 == caught.value.code
    assert "openjdk-17" in caught.value.next
    assert "--engine local" in caught.value.next


@pytest.mark.parametrize(
    ("says", "found"),
    [('openjdk version "11.0.2"', "Java 11"), ('java version "1.8.0_1"', "Java 8")],
)
def test_an_old_java_is_refused_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, found: str
) -> None:
    """Spark's own message for this is a page long and names a class file version."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(EnvironmentProblem, match=f"is {found}; Spark needs Java 17 or later"):
        session.need_java()


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An operator has set it, and must correct it."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))

    with pytest.raises(EnvironmentProblem, match=r"JAVA_HOME is .*none"):
        session.need_java()


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[3]", 3), ("local[2, 1]", 2), ("spark://h:1", None)]
)
def test_the_number_of_cores_is_read_from_the_master(master: str, cores: int | None) -> None:
    """The cores of a cluster are not known."""
    assert cores == session.cores_of(master)
