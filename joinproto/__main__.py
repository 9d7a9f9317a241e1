"""The command `joinproto`, also `python -m joinproto`.

Here a failure becomes an exit code and a text.  The commands are in `joinproto/cli/commands`, and
`recover` is in `joinproto/recovery`.  A command is imported when it is run.

    0 done, all hold          3 stopped at a limit          130 interrupted (Ctrl-C)
    1 violated, a proof fails 4 the machine lacks something 141 the reader of our output
    2 usage, a bad model      10 a bug of ours                  went away (as SIGPIPE does)

`joinproto recover` has its own list, in which a missing extra is 11.  With `--json` a failure is
one object on standard output: {"error": {"code", "message", "next"}}.
"""

import errno
import gc
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from joinproto import __version__
from joinproto.errors import (
    EnvironmentProblem,
    JoinprotoError,
    LimitReached,
    UsageProblem,
    did_you_mean,
    missing_extra,
)

if TYPE_CHECKING:
    import click

BUG = 10
INTERRUPTED = 130
READER_GONE = 141
RECOVER_WRITE_FAILED = 9
RECOVER_EXTRA_MISSING = 11


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.  `arguments` default to the command line's."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    # No command multiplies matrices, and NumPy's threads for that use CPU when they start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = _run(given)
        # Flushed here and not at exit, so that a full disk or a closed pipe still sets the exit
        # code.  (Standard output is None if the caller started this process with it closed.)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # `joinproto models | head -1`.  There is no reader, so no error is printed.
        _drop_output()
        return READER_GONE
    except KeyboardInterrupt as error:
        return _fail(given, error, JoinprotoError("interrupted", code=INTERRUPTED))
    except Exception as error:  # noqa: BLE001  this function is the last resort
        return _fail(given, error, _explain(error, given))
    if arguments is None:
        # The process ends here, so the collector need not look at all objects once more.
        gc.freeze()
    return code


def _drop_output() -> None:
    """Drop the unwritten output: Python would try again at its end, and give its own exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    import click  # inside, so that a missing click is explained, too

    command, words, name = _command_for(arguments)
    if "_JOINPROTO_COMPLETE" in os.environ:
        command.main(prog_name="joinproto")  # a shell asks for completions; does not return
    # Not command.main(): it answers a closed pipe with exit code 1, which here means violated.
    try:
        with command.make_context(name, words, obj=_rehearse) as context:
            result = command.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        failed_in = getattr(error, "ctx", None)
        failed = failed_in.command_path if failed_in else "joinproto"
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            message = f"{failed}: no command given"
            if "--json" not in arguments:
                click.echo(error.format_message(), err=True)
                return 2
        else:
            message = error.format_message()
        near = ""
        if failed_in is not None and isinstance(failed_in.command, click.Group):
            wrong = message.removeprefix("No such command ").strip("'. ")
            near = did_you_mean(wrong, failed_in.command.list_commands(failed_in))
        raise UsageProblem(message, next=f"{near}{failed} --help") from error
    return result if type(result) is int else 0


def _command_for(arguments: list[str]) -> "tuple[click.Command, list[str], str]":
    """Return the command to run, its arguments as a list that click may change, and its name."""
    if arguments[:1] == ["recover"] and "_JOINPROTO_COMPLETE" not in os.environ:
        # No other module is loaded: this must work if half of an installation is missing.
        from joinproto.recovery.cli import recover

        return recover, arguments[1:], "joinproto recover"
    from joinproto.cli.main import cli

    return cli, list(arguments), "joinproto"


def _rehearse(*judgement: Any, **options: Any) -> int:
    """Run the body of `recover rehearse`, which searches; the recovery tool has no search."""
    from joinproto.cli.commands.rehearse import rehearse_restart

    return rehearse_restart(*judgement, **options)


def _explain(error: Exception, arguments: list[str]) -> JoinprotoError | None:
    """Return `error` in words for its reader; None if it can only be a bug."""
    problem: JoinprotoError | None = None
    if isinstance(error, JoinprotoError):
        problem = error
    elif isinstance(error, ImportError):
        problem = missing_extra(error, _command(arguments))
    elif isinstance(error, MemoryError):
        problem = LimitReached("out of memory", next="search a smaller world, or --max-states")
    elif isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        problem = EnvironmentProblem(f"no space left: {error}", next="free some space")
    if _command(arguments) == "recover":
        if isinstance(error, OSError) and error.errno == errno.EIO:
            # Commands have their own messages for a store; this error is of the output, or of a
            # file next to it.
            advice = "check the disk, then run the same command again"
            problem = EnvironmentProblem(f"a read or a write failed: {error}", next=advice)
        # In `recover`, 3 and 4 are verdicts (different clusters, diverged), and never other errors.
        if isinstance(problem, EnvironmentProblem) and problem.code == problem.default_code:
            is_disk = isinstance(error, OSError)
            problem.code = RECOVER_WRITE_FAILED if is_disk else RECOVER_EXTRA_MISSING
        if isinstance(error, MemoryError):
            return None
    return problem


def _command(arguments: list[str]) -> str:
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def _fail(arguments: list[str], error: BaseException, problem: JoinprotoError | None) -> int:
    """Report the error in the requested form; return the exit code."""
    if os.environ.get("JOINPROTO_DEBUG") == "1":
        import traceback  # inside, because most runs do not need it

        traceback.print_exception(error)
    if problem is None:
        problem = JoinprotoError(
            f"this is a bug in joinproto: {_last_line(error)}",
            next=_next_for_bug(arguments, error),
            code=BUG,
        )
    if "--json" in arguments:
        words = {"code": problem.code, "message": problem.message, "next": problem.next}
        if (run := getattr(problem, "led_to", None)) is not None:
            words["run"] = [f"{one.member or 'together'}: {one.label}" for one in run.steps]
        try:
            print(json.dumps({"error": words}), flush=True)  # noqa: T201
            return problem.code
        except OSError:
            _drop_output()  # such as a full disk: then the error is printed below
    # The text may have paths and names of peers, so signs that a terminal obeys are replaced.
    text = "".join(c if c.isprintable() or c == "\n" else "?" for c in str(problem))
    print(f"joinproto: {text}", file=sys.stderr)  # noqa: T201
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_output()
    return problem.code


def _next_for_bug(arguments: list[str], error: BaseException) -> str:
    """Write the command, the versions and the traceback to a file; return advice that names it."""
    if os.environ.get("JOINPROTO_DEBUG") == "1":
        return "report it to the project, with the traceback on standard error"
    import platform
    import tempfile
    import traceback

    story = (
        f"command: {['joinproto', *arguments]}\n"
        f"joinproto {__version__}, Python {sys.version}\n"
        f"{platform.platform()}\n\n"
        f"{''.join(traceback.format_exception(error))}"
    )
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="joinproto-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(story)
    except OSError:
        return "report it to the project; run it again with JOINPROTO_DEBUG=1 for the traceback"
    return f"report it to the project, with {file.name} (the command line and the traceback)"


def _last_line(error: BaseException) -> str:
    import traceback

    return traceback.format_exception_only(error)[-1].strip()


if __name__ == "__main__":
    sys.exit(main())
