"""Rules for all files of the project: no paths of one machine, no registries, docstrings, modes."""

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("joinproto", "models", "proofs", "spark_explore", "tools")

# Paths in folders whose content differs from machine to machine.
OWN_PATHS = re.compile(r"(?<![\w.~}$-])/(?:work|root|home|Users|opt|mnt)/[\w.-]+")
REGISTRIES = re.compile(
    r"pypi\.org|pythonhosted\.org|anaconda\.org|npmjs\.(?:org|com)|crates\.io|rubygems\.org"
    r"|maven\.(?:org|apache\.org)|proxy\.golang\.org|docker\.io|ghcr\.io|quay\.io",
    re.IGNORECASE,
)


def files() -> list[Path]:
    """Return the files that git knows; outside git (a source archive), all files but caches."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = [ROOT / name for name in listed.split("\0") if name]
    else:
        found = [file for file in ROOT.rglob("*") if not is_in_ignored_folder(file)]
    return [file for file in found if file.is_file()]


def is_in_ignored_folder(file: Path) -> bool:
    """Return whether `file` is in a folder of caches or of a virtual environment."""
    parts = file.relative_to(ROOT).parts
    return any(p == "__pycache__" or p == ".venv" or p.endswith("_cache") for p in parts)


def texts() -> list[tuple[str, str]]:
    """Return the path and the content of every text file."""
    found = []
    for file in files():
        content = file.read_bytes()
        if b"\0" not in content:
            found.append((file.relative_to(ROOT).as_posix(), content.decode("utf-8")))
    return found


def hits(pattern: re.Pattern[str], named: list[tuple[str, str]]) -> list[str]:
    """Return "path:line: match" for each match."""
    return [
        f"{path}:{number}: {match.group()}"
        for path, text in named
        for number, line in enumerate(text.splitlines(), start=1)
        for match in pattern.finditer(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    """A command that a reader copies must run on another machine."""
    patterns = [OWN_PATHS]
    if len(ROOT.parts) > 2:
        patterns.append(re.compile(re.escape(str(ROOT))))

    found = [hit for pattern in patterns for hit in hits(pattern, texts())]

    assert [] == found


def test_no_file_names_a_package_registry() -> None:
    """The installer decides where packages come from."""
    assert [] == hits(REGISTRIES, texts())


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (OWN_PATHS, "cd " + "/" + "home/somebody/joinproto"),
        (OWN_PATHS, 'open("' + "/" + 'root/x")'),
        (REGISTRIES, "https://" + "pypi" + ".org/simple"),
    ],
)
def test_a_forbidden_line_is_found(pattern: re.Pattern[str], line: str) -> None:
    """The two tests above can fail."""
    assert 1 == len(hits(pattern, [("file", line)]))


@pytest.mark.parametrize("line", ["tests/work/x", "/var/lib/broker-2", "$HOME/opt/x", "./opt/x"])
def test_a_harmless_path_is_allowed(line: str) -> None:
    """Paths of a server and relative paths are allowed."""
    assert [] == hits(OWN_PATHS, [("file", line)])


def test_architecture_names_only_files_that_exist() -> None:
    """A reader of ARCHITECTURE.md continues with these files."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = re.findall(r"`((?:joinproto|models|proofs|spark_explore|tools|tests)/[\w./]+)`", text)

    assert len(named) > 10
    assert [] == [name for name in named if not (ROOT / name).exists()]


def test_every_module_outside_tests_has_a_docstring() -> None:
    """A reader who opens a module learns its subject from the docstring."""
    written = [
        file
        for file in files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in PACKAGES
    ]
    silent = [file for file in written if not ast.get_docstring(ast.parse(file.read_text("utf-8")))]

    assert [] == silent


def test_every_folder_with_modules_is_a_package() -> None:
    """Without `__init__.py`, Python prefers any other package of that name on the path."""
    folders = {
        file.parent
        for file in files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in PACKAGES
    }

    assert [] == [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    """The commit that makes a change for users also describes it there."""
    assert re.search(r"^## Unreleased$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


def test_no_extra_holds_development_tools() -> None:
    """Packages that only a checkout needs are in dependency groups, which no wheel mentions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

    def names(wanted: list[str]) -> set[str]:
        return {re.split(r"[<>=\[]", one)[0] for one in wanted}

    published = [names(wanted) for wanted in project["project"]["optional-dependencies"].values()]

    for group in project["dependency-groups"].values():
        assert set() == names(group) & set().union(*published)


def test_a_script_with_an_interpreter_line_is_executable() -> None:
    """Otherwise `./script` fails in every new checkout."""
    scripts = [ROOT / path for path, text in texts() if text.startswith("#!")]

    assert [] == [script.name for script in scripts if not os.access(script, os.X_OK)]
