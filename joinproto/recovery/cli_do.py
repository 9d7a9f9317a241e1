"""`joinproto recover plan`, `apply`, `undo`, `mark-clean`: commands that write, and the plan."""

from __future__ import annotations

import getpass
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import click
from attrs import evolve, frozen

from joinproto import __version__
from joinproto.codec.json_form import printed
from joinproto.durable.filesystem import REAL, put_new
from joinproto.errors import StoreUnreadable, StoreWriteFailed, UsageProblem
from joinproto.pick.table import Verdict
from joinproto.recovery import schema, show, writing
from joinproto.recovery.access import SUDO, WRITE_ERROR
from joinproto.recovery.cli_look import (
    AS_OBJECT,
    judgement_of,
    judging_options,
    reading_options,
    with_options,
)
from joinproto.recovery.found import Format, State
from joinproto.recovery.judgement import Judgement, judge, result_of, store_result
from joinproto.recovery.plan import (
    DECLINED,
    HASH_SHOWN,
    Plan,
    Refused,
    describe,
    dump,
    forced_plan,
    load,
    plan_for,
)
from joinproto.recovery.sources import look, this_host
from joinproto.recovery.unused import NAMES
from joinproto.recovery.words import typed
from joinproto.recovery.writing import Done, Outcome, Stale
from joinproto.store.slots import FOLDER

PLAN_BYTES_MAX = 64 << 20


UNPROVEN = click.option("--unproven", is_flag=True, help="Accept a choice that is not proven.")
WHY = click.option("--why", default="", help="The reason, for the history in the store.")
agreeing_options = with_options(
    click.option("--yes", is_flag=True, help="Do not ask; needs --plan-hash."),
    click.option("--plan-hash", default="", help="The hash that the plan must have."),
    UNPROVEN,
    WHY,
    AS_OBJECT,
)
"""Adds the options with which a script agrees to a change; see `Agreement`."""


@frozen(kw_only=True)
class Agreement:
    """How the operator, or a script, agrees to a change."""

    yes: bool
    plan_hash: str
    unproven: bool
    why: str
    as_object: bool

    def require(self, made: str, *, is_proven: bool, to_type: str) -> None:
        """Return if the operator agrees to the plan with the hash `made`.

        The operator agrees by typing `to_type`, a script by `--yes` with the hash.  Raises
        `Refused` (8) or `Stale` (7) otherwise.
        """
        if not self.yes:
            _require_typed(to_type, made)
            return
        if len(self.plan_hash) < HASH_SHOWN or not made.startswith(self.plan_hash):
            raise Stale(
                f"--plan-hash {self.plan_hash or 'is not given'}: the plan's hash is {made}",
                next="look at the plan; if it is right, give its hash",
            )
        if not is_proven and not self.unproven:
            raise Refused(
                "this plan is not proven, and --yes alone does not accept that",
                next="look at the missing stores; then, if you must, give --unproven",
                code=DECLINED,
            )


@click.command(epilog="Example: joinproto recover plan a.info b.info c.info -o plan.json")
@reading_options()
@judging_options
@click.option(
    "-o", "--output", help="The plan's file, which must not exist.  Default: only show the plan."
)
@click.option(
    "--electors", default="", help="For hosts lost for good: the members that vote from now on."
)
@click.option(
    "--wait-for", type=click.IntRange(min=1), help="With --electors: the new N.  Default: keep it."
)
@UNPROVEN
@WHY
def plan(
    output: str | None,
    electors: str,
    wait_for: int | None,
    unproven: bool,
    why: str,
    as_object: bool,
    **asked: Any,
) -> int:
    """Write down the change that apply would make, bound by a hash to the inspected stores.

    The stores themselves are not touched.  With --electors the cluster begins again
    with these members: that is never proven, and apply asks for more than the cluster's name.
    """
    judgement = judgement_of(command="plan", **asked)
    names = [name for name in electors.split(",") if name]
    try:
        if names:
            made = forced_plan(
                judgement,
                electors=names,
                wait_for=wait_for,
                nonce=token_hex(16),
                time=int(time.time() * 1000),
            )
        else:
            made = plan_for(judgement, unproven=unproven)
    except Refused as refused:
        return _print_refusal(judgement, refused, as_object)
    made = evolve(made, made=_maker(why))
    if output is None:
        after = "the same command with -o plan.json writes the plan's file, for apply"
    else:
        _write_new(Path(output), dump(made))
        after = f"on {made.step.host}: joinproto recover apply {typed(output)}"
    if as_object:
        planned = schema.Planned(output, made.hash)
        click.echo(printed(evolve(result_of(judgement), next=after, plan=planned)))
    else:
        click.echo(show.judgement_text(judgement, is_brief=True))
        click.echo("\nthe plan; no store is changed yet")
        for line in describe(made):
            show.say(f"  {line}")
        click.echo(f"\n{show.next_text(after)}")
    return 0


@click.command(epilog="Example: joinproto recover apply plan.json")
@click.argument("file", metavar="PLAN")
@agreeing_options
def apply(file: str, **agreed: Any) -> int:
    """Carry out a plan, on the machine that holds its store.

    Shows what changes and asks for the cluster's name.  May be repeated: after an
    interruption it finishes, after success it does nothing.
    """
    return _apply(load(_read(Path(file)), name=file), Agreement(**agreed))


@click.command(epilog="Example: joinproto recover mark-clean /var/lib/broker")
@reading_options(many="DIR [DIR|INFO...]", as_json=False)
@agreeing_options
def mark_clean(words: tuple[str, ...], kind: str, positions: tuple[str, ...], **agreed: Any) -> int:
    """Write a permission to restart into one store: plan and apply in one, with the same checks.

    One store of several proves little; pick, with all stores, proves more.  For hot standby, the
    stores of the other brokers may follow, as evidence; the first store is marked.
    """
    agreement = Agreement(**agreed)
    judgement = judgement_of(words=words, kind=kind, positions=positions)
    if any(one.format is Format.STANDBY for one in judgement.stores):
        return _mark_broker(judgement, words, agreement)
    if len(words) != 1 or os.path.isfile(words[0]):  # noqa: PTH113  never an error
        raise UsageProblem(
            "mark-clean takes one directory on this machine",
            next="for several stores: joinproto recover plan DIR|INFO... -o plan.json",
        )
    try:
        made = plan_for(judgement, unproven=agreement.unproven)
    except Refused as refused:
        return _print_refusal(judgement, refused, agreement.as_object)
    if not agreement.as_object:
        click.echo(show.judgement_text(judgement, is_brief=True) + "\n")
    return _apply(made, agreement)


@click.command(epilog="Example: joinproto recover undo /var/lib/broker")
@click.argument("directory", metavar="DIR")
@WHY
@AS_OBJECT
def undo(directory: str, why: str, as_object: bool) -> int:
    """Undo apply, unless a successor of the marked view was accepted.

    The store keeps its promises since then; only the permission is removed.
    """
    path = Path(os.path.realpath(directory))
    _require_ours(path, directory)
    done = writing.undo(path, host=this_host(), made=_maker(why))
    after = "joinproto recover pick, with the stores of all members"
    _print_done(done, [directory], after, as_object)
    return 0


def _require_ours(path: Path, word: str) -> None:
    """Raise `UsageProblem` for a store of another program: `apply` never wrote there."""
    if os.path.lexists(path / FOLDER) or not path.is_dir():
        return
    (found,) = look([word], command="undo").stores
    if found.format is not None or found.state is State.UNKNOWN:
        kind = "another program" if found.format is None else NAMES[found.format]
        raise UsageProblem(
            f"{show.clean(word)}: is a store of {kind}, and apply never writes into one",
            next=f"nothing must be undone there; joinproto recover inspect {typed(word)} shows it",
        )


# -- agreement ---------------------------------------------------------------------------------


def _apply(agreed: Plan, agreement: Agreement) -> int:
    host = this_host()
    after = (
        f"start all members of {agreed.cluster_name}; then"
        " joinproto recover verify --config node.toml"
    )
    if writing.check(agreed, host=host) is None:
        for line in (*describe(agreed), *_not_examined_again(agreed, host)):
            click.echo(show.clean(line), err=agreement.as_object)
        agreement.require(agreed.hash, is_proven=agreed.is_proven, to_type=agreed.to_type)
    done = writing.apply(agreed, host=host, made={**agreed.made, **_maker(agreement.why)})
    _print_done(done, [agreed.step.path], after, agreement.as_object, agreed=agreed)
    return 0


def _mark_broker(judgement: Judgement, words: Sequence[str], agreement: Agreement) -> int:
    from joinproto.recovery import brokers_mark

    try:
        one = brokers_mark.target_of(judgement, Path(os.path.realpath(words[0])))
    except Refused as refused:
        return _print_refusal(judgement, refused, agreement.as_object)
    after = f"start the brokers, and promote {one.member} first"
    is_proven = judgement.verdict is Verdict.PROVEN
    if brokers_mark.is_clean(one):
        done = Done(outcome=Outcome.NOTHING, said=(f"{one.name} is clean already",))
    else:
        if not agreement.as_object:
            click.echo(show.judgement_text(judgement, is_brief=True) + "\n")
        to_type = one.member if is_proven else f"{one.member} unproven"
        made = brokers_mark.hash_of(judgement, one)
        agreement.require(made, is_proven=is_proven, to_type=to_type)
        done = brokers_mark.mark(one, _maker(agreement.why), is_proven=is_proven)
    _print_done(done, words, after, agreement.as_object, kind=None)
    return 0


def _not_examined_again(agreed: Plan, host: str) -> list[str]:
    """Return a line about the plan's stores that cannot be examined again on this machine."""
    near = writing.other_inputs_here(agreed, host)
    step = agreed.step
    far = [
        one.name
        for one in agreed.inputs
        if one not in near and (one.host, one.path) != (step.host, step.path)
    ]
    return [f"not examined again: {', '.join(far)}"] if far else []


def _require_typed(to_type: str, made: str) -> None:
    if not sys.stdin.isatty():
        raise Refused(
            "confirmation is impossible: standard input is not a terminal; nothing was changed",
            next=f"run it in a terminal, or with --yes --plan-hash {made}",
            code=DECLINED,
        )
    click.echo(f"\nTo go on, type: {show.clean(to_type)}", err=True)
    try:
        answer = click.prompt(">", prompt_suffix=" ", default="", show_default=False, err=True)
    except click.Abort:
        answer = ""
    if str(answer).strip() != to_type:
        raise Refused("not confirmed; nothing was changed", next="run it again", code=DECLINED)


def _maker(why: str) -> dict[str, str]:
    try:
        who = getpass.getuser()
    except (OSError, KeyError):
        who = f"user {os.getuid()}"
    made = {
        "who": show.clean(who) or "unknown",
        "host": this_host(),
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "tool": __version__,
    }
    return {**made, "why": show.clean(why)} if why else made


# -- files and words ---------------------------------------------------------------------------


def _print_refusal(judgement: Judgement, refused: Refused, as_object: bool) -> int:
    """Print why there is no plan, and return the exit code."""
    if as_object:
        click.echo(printed(evolve(result_of(judgement), next=refused.next)))
        return refused.code
    click.echo(show.judgement_text(judgement, is_brief=True))
    # If the verdict is the reason, it was printed above.
    why = "" if refused.message == judgement.sentence else f": {show.clean(refused.message)}"
    click.echo(f"\nno plan is made{why}\n\n{show.next_text(refused.next)}")
    return refused.code


def _print_done(
    done: Done,
    words: Sequence[str],
    after: str,
    as_object: bool,
    *,
    agreed: Plan | None = None,
    kind: Format | None = Format.JOINPROTO,
) -> None:
    if not as_object:
        for line in done.said:
            show.say(line)
        if done.backup:
            show.say(f"the metadata as it was: {done.backup}")
        click.echo(show.next_text(after))
        return
    found = look(words, kind=kind)
    result = evolve(
        result_of(judge(found.stores, words=words)),
        stores=tuple(map(store_result, found.stores)),
        evidence=tuple(done.said),
        next=after,
        done=schema.Done(done.outcome.value, done.backup or None),
    )
    if agreed is not None:
        planned = schema.Planned(None, agreed.hash)
        result = evolve(result, verdict=Verdict(agreed.verdict), plan=planned)
    click.echo(printed(result))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(PLAN_BYTES_MAX)
    except OSError as error:
        raise StoreUnreadable(
            f"{path}: cannot be read: {error.strerror or error}",
            next=SUDO if isinstance(error, PermissionError) else "check the path",
            code=2 if isinstance(error, PermissionError) else None,
        ) from error


def _write_new(path: Path, text: str) -> None:
    """Create a file with `text` durably; raises `UsageProblem` if it exists."""
    try:
        put_new(REAL, path, text.encode())
    except FileExistsError:
        raise UsageProblem(
            f"{path}: exists already, and a plan is never overwritten",
            next="give another name",
        ) from None
    except OSError as error:
        raise StoreWriteFailed(
            f"{path}: the plan was not written: {error.strerror or error}\n  no store was changed",
            next="look at the disk, then run it again",
            code=WRITE_ERROR,
        ) from error
