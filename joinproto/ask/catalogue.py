"""All questions in their order; a system is imported only when its questions are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from joinproto.ask.question import Question
from joinproto.errors import UsageProblem, did_you_mean

SYSTEMS = {
    "clusterer": "joinproto.clusterer.questions",
    "discovery": "joinproto.discovery.questions",
    "reconcile": "joinproto.reconcile.questions",
    "standby": "joinproto.standby.questions",
}
"""The first part of a question's name, and the module whose `QUESTIONS` has the question."""


def questions(system: str | None = None) -> list[Question[Any, Any]]:
    """Return the questions of a system, or of all systems."""
    modules = [SYSTEMS[system]] if system else list(SYSTEMS.values())
    return [one for module in modules for one in import_module(module).QUESTIONS]


def question(name: str) -> Question[Any, Any]:
    """Return the question of this name; raises `UsageProblem` if there is no such question."""
    system = name.partition(".")[0]
    for one in questions(system) if system in SYSTEMS else ():
        if one.name == name:
            return one
    known = [one.name for one in questions(system if system in SYSTEMS else None)]
    raise UsageProblem(
        f"there is no question {name!r}",
        next=f"{did_you_mean(name, known)}joinproto ask   lists the questions",
    )
