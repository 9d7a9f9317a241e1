"""Write reports to the files that a command line names, or as annotations on GitHub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from joinproto.cli.reports.verdicts import CheckEnd, Failed, Finding, Outcome
from joinproto.cli.show.write import write_text
from joinproto.errors import EnvironmentProblem, JoinprotoError, UsageProblem

Writer = Callable[[Sequence[CheckEnd]], str]


def _report_text(name: str, outcomes: Sequence[CheckEnd]) -> str:
    # Imported here, because a check without a report needs no writer.
    text: str = getattr(import_module(f"joinproto.cli.reports.{name}"), name)(outcomes)
    return text


FORMATS: tuple[tuple[tuple[str, ...], str, Writer], ...] = (
    ((".xml",), "JUnit", partial(_report_text, "junit")),
    ((".sarif", "sarif.json"), "SARIF", partial(_report_text, "sarif")),
    ((".md",), "Markdown", partial(_report_text, "markdown")),
)


def writer_of(path: Path) -> Writer:
    """Return the writer of the format that the name of `path` selects."""
    for endings, _, writer in FORMATS:
        if path.name.lower().endswith(endings):
            return writer
    known = "; ".join(f"{' or '.join(endings)}: {about}" for endings, about, _ in FORMATS)
    raise UsageProblem(
        f"--report: {path.name or path} does not say in which format to write",
        next=f"use one of these endings: {known}",
    )


def refuse_unknown(paths: Sequence[Path]) -> None:
    """Raise `UsageProblem` for a file of no known format, before a long search begins."""
    for path in paths:
        writer_of(path)
        refuse_folder(path, "--report")


def refuse_folder(path: Path, flag: str) -> None:
    """Raise `UsageProblem` for a folder, or a file in no folder, before a long search begins."""
    found = f"it is a folder: {path}" if path.is_dir() else ""
    if not path.parent.is_dir():
        found = f"there is no folder {path.parent}"
    if found:
        raise UsageProblem(f"{flag}: {found}", next="name a file in a folder that exists")


@contextmanager
def reporting(
    name: str, outcomes: Sequence[Outcome], paths: Sequence[Path], *, github: bool
) -> Iterator[None]:
    """Write a report of the final `outcomes` to each of `paths`, and annotations for GitHub.

    `name`: the worlds that are checked.  Until the end, the files say that the check did not come
    to its end; their former content is lost.  If an error ends the check, they report the error.
    """
    _write([Failed(name, "the check did not come to its end")], paths)
    try:
        yield
    except BaseException as error:
        why = error.message if isinstance(error, JoinprotoError) else f"{error!r}"
        ended: list[CheckEnd] = [*outcomes, Failed(name, f"the check ended with an error: {why}")]
        with suppress(JoinprotoError):  # the error that ended the check is raised instead
            _write(ended, paths)
            if github:
                _annotate(ended)
        raise
    _write(outcomes, paths)
    for path in paths:
        click.echo(f"wrote {path}", err=True)
    if github:
        _annotate(outcomes)


def _write(outcomes: Sequence[CheckEnd], paths: Sequence[Path]) -> None:
    for path in paths:
        write_text(path, writer_of(path)(outcomes))


def _annotate(outcomes: Sequence[CheckEnd]) -> None:
    for line in workflow_commands(outcomes):
        click.echo(line, err=True)
    add_to_summary(outcomes)


# -- on GitHub --------------------------------------------------------------------------


def workflow_commands(outcomes: Sequence[CheckEnd]) -> Iterator[str]:
    """Yield a workflow command for each finding that is not as expected.

    Source: GitHub's documentation, "Workflow commands for GitHub Actions".
    """
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            title = _property(f"undetermined: {outcome.name}")
            yield f"::error title={title}::{_data(outcome.why)}"
            continue
        for item in outcome.findings():
            if not item.is_as_expected:
                yield _annotation(outcome, item)


def _annotation(outcome: Outcome, item: Finding) -> str:
    from joinproto.cli.reports import places

    place = places.of_claim(outcome.loaded, item.claim)
    file = place.below_here or place.file.as_posix()
    title = f"{item.verdict}: {item.name}"
    where = f"file={_property(file)},line={place.line},title={_property(title)}"
    return f"::error {where}::{_data(f'“{item.name}” in {outcome.name}: {item.words}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def add_to_summary(outcomes: Sequence[CheckEnd]) -> None:
    """Add the Markdown report to the summary of the job, if GitHub names a file for it."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if name:
        try:
            with Path(name).open("a", encoding="utf-8") as summary:
                summary.write(_report_text("markdown", outcomes))
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write {name}: {error.strerror or error}",
                next="GITHUB_STEP_SUMMARY names the file; unset it, or leave out --github",
            ) from error
