"""A policy's answer for real stores, to compare with the verdict of `recover pick`."""

from __future__ import annotations

from pathlib import PurePosixPath

from attrs import evolve

from joinproto.recovery.judgement import Judgement, store_result
from joinproto.recovery.policy.program import Program, command_of
from joinproto.recovery.policy.question import FIXED, Question
from joinproto.recovery.schema import OtherPolicy


def ask_policy(policy: str, judgement: Judgement) -> OtherPolicy:
    """Ask the program `policy` about the stores of a judgement; raises `PolicyFailed`.

    If several stores are on one machine, each is named by its directory instead of its host.
    """
    stores = tuple(map(store_result, judgement.stores))
    if len({store.host for store in stores}) < len(stores):
        stores = tuple(evolve(store, host=PurePosixPath(store.path).name) for store in stores)
    missing = tuple(one.member for one in judgement.missing)
    question = Question(
        ask="choose-founder",
        nodes=(*dict.fromkeys(store.host for store in stores), *missing),
        stores=stores,
        unknown=dict.fromkeys(missing, "not-asked"),
    )
    with Program(command_of(policy)) as program:
        answer = program.answer(question)
    latest = [store for store in stores if store.name in judgement.pick.latest]
    names = [store.host for store in latest]
    is_node = answer is not None and answer not in FIXED["choose-founder"]
    agrees = answer in names if is_node else not names
    theirs = "has no answer" if answer is None else f"says {answer}"
    ours = ", ".join(names) or "no store"
    return OtherPolicy(
        answer=answer,
        agrees=agrees,
        line=f"{policy} {theirs}; the verdict is {judgement.verdict.value}, of {ours}:"
        f" {'they agree' if agrees else 'they differ'}",
    )
