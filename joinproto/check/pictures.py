"""A model's own pictures of a run: the result of its `World(picture=...)` for each state."""

from __future__ import annotations

from attrs import evolve

from joinproto.check.asking import guard
from joinproto.check.problems import ModelProblem, place_of
from joinproto.check.reference import Reference, State
from joinproto.check.report import Trace
from joinproto.check.steps import to_step
from joinproto.check.world import World


def with_pictures(world: World, trace: Trace | None) -> Trace | None:
    """Return the run with a picture of its beginning and one of the state after each step.

    The run is taken again by the members' code, as `Replay` does.
    """
    if world.picture is None or trace is None:
        return trace
    reference = Reference(world)
    runs = [
        [state] for state in reference.initials() if reference.states_text(state) == trace.initial
    ]
    for step in trace.steps:
        longer: dict[State, list[State]] = {}
        for run in runs:
            for move, after in reference.successors(run[-1]):
                if to_step(move, reference.states_text(after)) == step:
                    longer.setdefault(after, [*run, after])
        runs = list(longer.values())
    # One that cannot be taken again is told without pictures.
    states = runs[0] if runs else []
    return evolve(trace, pictures=tuple(_picture(world, reference, state) for state in states))


def _picture(world: World, reference: Reference, state: State) -> str:
    draw = world.picture
    assert draw is not None
    found = guard("picture(view)", lambda: draw(reference.view(state)))
    if not isinstance(found, str):
        raise ModelProblem(
            f"picture(view) gives a value of type {type(found).__name__}",
            next="return a text, or SVG as a text that begins with <svg",
            place=place_of(draw),
        )
    return found


def is_svg(picture: str) -> bool:
    """Return whether a picture is SVG, for pages alone; any other one is a text."""
    return picture.lstrip().startswith("<svg")
