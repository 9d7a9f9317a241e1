"""A model's own pictures of a run: the result of its `World(picture=...)` for each state."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from joinproto.check.asking import guard
from joinproto.check.problems import ModelProblem, place_of
from joinproto.check.reference import Reference, State
from joinproto.check.replay import fitting_runs
from joinproto.check.report import Step, Trace
from joinproto.check.steps import Move, to_step
from joinproto.check.world import World


def with_pictures(world: World, trace: Trace | None) -> Trace | None:
    """Return the run with a picture of its beginning and one of the state after each step.

    The members' code repeats the run, as `Replay` does.
    """
    if world.picture is None or trace is None:
        return trace
    reference = Reference(world)
    begins = (one for one in reference.initials() if reference.states_text(one) == trace.initial)

    def options(state: State, step: Step) -> Iterator[tuple[Move, State]]:
        for move, after in reference.successors(state):
            if to_step(move, reference.states_text(after)) == step:
                yield move, after

    runs, fits = fitting_runs(begins, trace.steps, options)
    # A run that cannot be repeated is shown without pictures.
    states = runs[0][0] if runs and fits == len(trace.steps) else []
    return evolve(trace, pictures=tuple(_picture(world, reference, state) for state in states))


def _picture(world: World, reference: Reference, state: State) -> str:
    draw = world.picture
    assert draw is not None
    found = guard("picture(view)", lambda: draw(reference.view(state)))
    if not isinstance(found, str):
        raise ModelProblem(
            f"picture(view) returned a value of type {type(found).__name__}",
            next="return a text, or SVG as a text that begins with <svg",
            place=place_of(draw),
        )
    return found


def is_svg(picture: str) -> bool:
    """Return whether a picture is SVG, which only pages show; any other picture is a text."""
    return picture.lstrip().startswith("<svg")
